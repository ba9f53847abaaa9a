# SPDX-License-Identifier: Apache-2.0
"""CR-10: `weft certs`, the tools over tls://, and the commands of the guide: tls_test.py <weft> <example_tls>"""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest

SECONDS = 60
SHORT = ("--seconds", "0.5", "--warmup", "0", "--json")
GUIDE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "guide"


def commands_of(page: str) -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```$", (GUIDE / page).read_text(), re.MULTILINE | re.DOTALL)


class OverTls(unittest.TestCase):
    weft = ""
    example = ""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        subprocess.run([cls.weft, "certs", folder.name, "--client", "client", "--client", "lost"], check=True, capture_output=True)

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def run_weft(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.weft, *words], capture_output=True, text=True, timeout=SECONDS)

    def serve(self, what: str, *words: str) -> str:
        own = () if "--cert" in words else ("--cert", self.path("server.pem"), "--key", self.path("server.key"))
        command = [self.weft, what, "server", "--listen", "tls://127.0.0.1:0", *own, *words]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait, SECONDS)
        self.addCleanup(server.terminate)
        return server.stdout.readline().split()[-1]

    def test_perf_and_the_limit_speak_tls(self):
        for what in ("perf", "raw"):
            url = self.serve(what)
            self.assertTrue(url.startswith("tls://"), url)
            for size in ("128", "1MiB"):
                client = self.run_weft(what, "client", "--connect", url, "--ca", self.path("ca.pem"), "--depth", "8", "--size", size, *SHORT)
                self.assertEqual(client.returncode, 0, client.stderr)
                answer = json.loads(client.stdout)
                self.assertEqual(answer["errors"], 0)
                self.assertGreater(answer["calls"], 0)

    def test_answers_of_another_size_come_too(self):
        url = self.serve("raw")
        client = self.run_weft("raw", "client", "--connect", url, "--ca", self.path("ca.pem"), "--reply", "100KiB", "--depth", "9", *SHORT)
        self.assertEqual((client.returncode, json.loads(client.stdout)["errors"]), (0, 0), client.stderr)

    def test_whoever_does_not_know_the_ca_is_refused(self):
        for what in ("perf", "raw"):
            client = self.run_weft(what, "client", "--connect", self.serve(what), *SHORT)
            self.assertEqual(client.returncode, 1)
            self.assertRegex(client.stderr, "of an unknown CA|certificate verify failed|not believed here")

    def test_without_a_ca_those_of_the_system_are_believed(self):
        words = ("perf", "client", "--connect", self.serve("perf"), *SHORT)
        system = {**os.environ, "SSL_CERT_FILE": self.path("ca.pem"), "SSL_CERT_DIR": "/nonexistent"}
        client = subprocess.run([self.weft, *words], capture_output=True, text=True, timeout=SECONDS, env=system)
        self.assertEqual(client.returncode, 0, client.stderr)

    def test_insecure_says_so(self):
        for words in (("perf", "client", *SHORT), ("raw", "client", *SHORT), ("info",)):
            url = self.serve("raw" if words[0] == "raw" else "perf")
            client = self.run_weft(*words, "--connect", url, "--insecure")
            self.assertEqual(client.returncode, 0, client.stderr)
            self.assertIn("WARNING: --insecure: the server's certificate is not checked", client.stderr)

    def test_a_server_with_a_ca_wants_certificates(self):
        url = self.serve("perf", "--ca", self.path("ca.pem"))
        words = ("perf", "client", "--connect", url, "--ca", self.path("ca.pem"))
        self.assertIn("the server wants a certificate of this side", self.run_weft(*words, *SHORT).stderr)
        own = ("--cert", self.path("client.pem"), "--key", self.path("client.key"))
        client = self.run_weft(*words, *own, *SHORT)
        self.assertEqual(client.returncode, 0, client.stderr)

    def test_info_says_why_no_other_carrier_carries_it(self):
        info = self.run_weft("info", "--connect", self.serve("perf"), "--ca", self.path("ca.pem"))
        self.assertEqual(info.returncode, 0, info.stderr)
        self.assertRegex(info.stdout, r"carried by +the stream \(tls\)")
        self.assertRegex(info.stdout, r"because +connections of tls:// stay encrypted, and UCX and RDMA do not encrypt")

    def test_a_carrier_beside_it_is_named_by_a_flag_on_both_sides(self):
        if "failure" in json.loads(self.run_weft("info", "--json").stdout)["ucx"]:
            self.skipTest("there is no UCX in this build")
        beside = ("--beside-tls", "ucx", "--ucx-tls", "tcp,self")
        url = self.serve("perf", *beside)
        ours = ("--connect", url, "--ca", self.path("ca.pem"))
        info = self.run_weft("info", *ours, *beside)
        self.assertEqual(info.returncode, 0, info.stderr)
        self.assertRegex(info.stdout, r"this side +uses UCX if it can be had \(--beside-tls ucx\)")
        self.assertRegex(info.stdout, r"carried by +UCX; the stream stays beside it")
        client = self.run_weft("perf", "client", *ours, *beside, *SHORT)
        self.assertEqual((client.returncode, json.loads(client.stdout)["carrier"]), (0, "ucx"), client.stderr)
        alone = self.run_weft("info", *ours)
        self.assertRegex(alone.stdout, r"this side +does not ask for UCX \(--beside-tls ucx does\)")
        self.assertRegex(alone.stdout, r"carried by +the stream \(tls\)")

    def test_flags_of_tls_are_for_urls_of_tls(self):
        client = self.run_weft("perf", "client", "--connect", "tcp://127.0.0.1:1", "--insecure", *SHORT)
        self.assertEqual(client.returncode, 2)
        self.assertIn("is about tls:// URLs only", json.loads(client.stdout)["message"])

    def test_list_and_call_take_the_flags(self):
        for command in (["list"], ["call", "demo.Echo/Say"]):
            url = ["tls://127.0.0.1:1", *command[1:]]
            asked = self.run_weft(command[0], *url, "--ca", self.path("ca.pem"), "--timeout", "2")
            self.assertEqual(asked.returncode, 1)
            self.assertNotIn("--ca", asked.stderr)

    def test_certs_renews_and_revokes(self):
        def serial(name: str) -> str:
            return subprocess.run(["openssl", "x509", "-in", self.path(name), "-noout", "-serial"], capture_output=True, text=True, check=True).stdout

        ca, server = serial("ca.pem"), serial("server.pem")
        self.run_weft("certs", str(self.folder), "--revoke", "lost")
        self.assertEqual(serial("ca.pem"), ca)
        self.assertNotEqual(serial("server.pem"), server)
        listed = subprocess.run(["openssl", "crl", "-in", self.path("ca.crl"), "-noout", "-text"], capture_output=True, text=True, check=True)
        self.assertIn(serial("lost.pem").strip().split("=")[1], listed.stdout)
        self.assertEqual(os.stat(self.path("ca.key")).st_mode & 0o777, 0o600)

    def test_certs_keeps_the_names_of_a_server_that_it_renews(self):
        def names(folder: str) -> str:
            return subprocess.run(["openssl", "x509", "-in", folder + "/server.pem", "-noout", "-ext", "subjectAltName"], capture_output=True, text=True, check=True).stdout

        with tempfile.TemporaryDirectory() as folder:
            self.run_weft("certs", folder, "--host", "my.example", "--host", "10.1.2.3", "--host", "fd00::7", "--client", "ann", "--client", "bob")
            before = names(folder)
            for name in ("my.example", "10.1.2.3", "FD00:0:0:0:0:0:0:7"):
                self.assertIn(name, before)
            self.assertEqual(self.run_weft("certs", folder, "--revoke", "bob").returncode, 0)
            self.assertEqual(names(folder), before)
            self.assertFalse(os.path.exists(folder + "/client.pem"), "a client that nobody named")
            self.run_weft("certs", folder, "--host", "other.example")
            self.assertNotIn("my.example", names(folder))

    def test_certs_refuses_names_that_are_none(self):
        for name in ("../x", "a,b", "", "ca", "server"):
            made = self.run_weft("certs", str(self.folder), "--client", name)
            self.assertEqual(made.returncode, 1, name)
            self.assertIn("name", made.stderr)

    def test_the_example_reads_its_certificates_again(self):
        ran = subprocess.run([self.example, str(self.folder)], capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual((ran.stdout, ran.returncode), ("before, after; handshakes 1, reloads 1\n", 0), ran.stderr)

    def test_the_commands_of_the_guide_work(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        blocks = commands_of("tls.md")
        self.assertGreater(len(blocks), 3)
        ready = f"for i in $(seq 200); do (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && break; read -rt 0.05 <> <(:) || :; done\n"
        script = "set -e\ntrap 'kill $(jobs -p) 2>/dev/null' EXIT\n" + "".join(blocks).replace("9000", port).replace("&\n", "&\n" + ready)
        script = script.replace("--seconds 1", "--seconds 0.1")
        with tempfile.TemporaryDirectory() as folder:
            self.run_commands(script, folder)

    def run_commands(self, script: str, folder: str) -> None:
        environment = {**os.environ, "PATH": f"{pathlib.Path(self.weft).resolve().parent}:{os.environ['PATH']}"}
        ran = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual(ran.returncode, 0, script + ran.stdout + ran.stderr)

    def test_the_commands_of_the_page_about_access_work(self):
        blocks = commands_of("access.md")
        self.assertGreater(len(blocks), 1)
        with tempfile.TemporaryDirectory() as name:
            # The CA is that of the other page's first command.
            self.run_commands("set -e\n" + "".join(commands_of("tls.md")[:1] + blocks), name)
            folder = pathlib.Path(name)
            shown = subprocess.run(["openssl", "x509", "-in", folder / "batch.pem", "-noout", "-ext", "subjectAltName"], capture_output=True, text=True)
            self.assertIn("URI:spiffe://prod/ops/batch", shown.stdout)
            own = ("--cert", str(folder / "demo/server.pem"), "--key", str(folder / "demo/server.key"))
            url = self.serve("perf", *own, "--ca", str(folder / "demo/ca.pem"))
            batch = ("--cert", str(folder / "batch.pem"), "--key", str(folder / "batch.key"))
            client = self.run_weft("perf", "client", "--connect", url, "--ca", str(folder / "demo/ca.pem"), *batch, *SHORT)
            self.assertEqual(client.returncode, 0, client.stderr)
            self.assertRegex((folder / "tokens.txt").read_text(), r"^ann \S{32}\n$")
            self.assertEqual((folder / "tokens.txt").stat().st_mode & 0o777, 0o600)
            asked = self.run_weft("list", "tls://127.0.0.1:1", "--ca", str(folder / "demo/ca.pem"), "--token", str(folder / "ann.token"))
            self.assertRegex(asked.stderr, "connect to .*127.0.0.1:1")


if __name__ == "__main__":
    OverTls.weft, OverTls.example = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
