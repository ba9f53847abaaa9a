# SPDX-License-Identifier: Apache-2.0
"""Tests which shared objects programs need when they start, and which they load later.

needed_libraries_test.py <example_hello_server> <example_hello_first_client> [<example_tls> <weft>]
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

OF_THE_LANGUAGE = {"libc", "libm", "libgcc_s", "libstdc++", "ld-linux-x86-64", "ld-linux-aarch64"}
OF_TRANSPORTS = ("libssl", "libcrypto", "libibverbs", "librdmacm", "libucp", "libucs", "liburing")

SERVER, CLIENT, *OTHERS = sys.argv[1:]


def needed_by(program: str) -> set[str]:
    """Names of the shared objects that the loader maps before main(), without their versions."""
    printed = subprocess.run(["readelf", "--dynamic", "--wide", program], capture_output=True, text=True, check=True).stdout
    return {line.split("[")[1].split(".so")[0] for line in printed.splitlines() if "(NEEDED)" in line}


def mapped_by(pid: int) -> set[str]:
    """Names of the files that are mapped into a process."""
    lines = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {pathlib.Path(line.split()[-1]).name for line in lines if "/" in line}


class OverTcp(unittest.TestCase):
    def test_server_and_client_need_only_the_libraries_of_the_language(self) -> None:
        for program in (SERVER, CLIENT):
            self.assertEqual(needed_by(program) - OF_THE_LANGUAGE, set(), program)

    def test_a_server_that_answered_a_call_has_loaded_nothing_else(self) -> None:
        with subprocess.Popen([SERVER, "tcp://127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as server:
            try:
                url = server.stdout.readline().split()[-1]
                answer = subprocess.run([CLIENT, url], capture_output=True, text=True, timeout=60, check=True).stdout
                mapped = mapped_by(server.pid)
            finally:
                server.terminate()
        self.assertEqual(answer, "hello\n")
        self.assertIn("libc.so.6", mapped)
        self.assertEqual({name for name in mapped if name.startswith(OF_TRANSPORTS)}, set())


    def test_without_libibverbs_the_status_names_the_package(self) -> None:
        # The loader finds a file of the name, which is no library, and looks no further.
        with tempfile.TemporaryDirectory() as empty:
            pathlib.Path(empty, "libibverbs.so.1").touch()
            done = subprocess.run([SERVER, "verbs://127.0.0.1:0"], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "LD_LIBRARY_PATH": empty})
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, r"UNIMPLEMENTED.*(RDMA needs libibverbs: .*install libibverbs1|this build has no RDMA)")


@unittest.skipUnless(OTHERS, "this build has no TLS or no tools")
class OverTls(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.program, tool = OTHERS
        subprocess.run([tool, "certs", self.folder.name], capture_output=True, timeout=60, check=True)

    def run_program(self, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.program, self.folder.name], capture_output=True, text=True, timeout=60,
                              env={**os.environ, **environment})

    def test_openssl_is_not_needed_but_loaded(self) -> None:
        self.assertEqual(needed_by(self.program) - OF_THE_LANGUAGE, set())
        done = self.run_program(LD_DEBUG="files")
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertRegex(done.stderr, r"calling init: \S*libssl\.so\.")

    def test_without_openssl_the_status_names_the_package(self) -> None:
        version = re.search(r"libssl\.so\.\d+", self.run_program(LD_DEBUG="files").stderr).group()
        with tempfile.TemporaryDirectory() as empty:
            pathlib.Path(empty, version).touch()
            done = self.run_program(LD_LIBRARY_PATH=empty)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, r"UNIMPLEMENTED.*TLS needs OpenSSL: .*libssl\.so\..*install libssl")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
