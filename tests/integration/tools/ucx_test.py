# SPDX-License-Identifier: Apache-2.0
"""`weft info` and `weft perf` over ucx://, and what they say when UCX has something to say: ucx_test.py <weft>"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SECONDS = 60
SHORT = ("--seconds", "0.05", "--warmup", "0", "--json")


class OverUcx(unittest.TestCase):
    weft = ""

    def run_weft(self, *words: str, cwd: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        command, env = [self.weft, *words], {**os.environ, **environment}
        return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=env, cwd=cwd)

    def serve(self, *words: str) -> str:
        server = subprocess.Popen([self.weft, "perf", "server", *words], stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait, SECONDS)
        self.addCleanup(server.terminate)
        return server.stdout.readline().split()[-1]

    def test_what_ucx_logs_is_not_among_what_a_program_reads(self):
        done = self.run_weft("info", "--ucx-tls", "tcp,nonsense", "--json")
        self.assertEqual(json.loads(done.stdout)["ucx"]["not_here"], ["nonsense"])
        self.assertIn("nonsense", done.stderr)
        self.assertEqual(done.returncode, 1)

    def test_the_environment_has_a_say_and_nothing_warns(self):
        done = self.run_weft("info", "--json", UCX_TLS="tcp", UCX_MM_FIFO_ELEM_SIZE="1024")
        self.assertEqual({resource["transport"] for resource in json.loads(done.stdout)["ucx"]["resources"]}, {"tcp"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        settings = json.loads(self.run_weft("info", "--json", UCX_MM_FIFO_ELEM_SIZE="1024").stdout)["ucx"]["settings"]
        self.assertNotIn("512", [setting["value"] for setting in settings.values()])

    def test_so_has_ucx_s_file_of_settings(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "ucx.conf").write_text("UCX_TLS=tcp\nUCX_MM_FIFO_ELEM_SIZE=1024\n")
            done = self.run_weft("info", "--json", cwd=folder, UCX_CONFIG_DIR=folder)
        self.assertEqual({resource["transport"] for resource in json.loads(done.stdout)["ucx"]["resources"]}, {"tcp"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_variable_that_ucx_refuses_is_named(self):
        for variable, value in (("UCX_MM_FIFO_ELEM_SIZE", "3"), ("UCX_RNDV_THRESH", "soon")):
            done = self.run_weft("perf", "server", "--listen", "ucx://127.0.0.1:0", **{variable: value})
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{variable}={value}", done.stderr[done.stderr.index("weft perf: ") :])

    def test_perf_goes_the_way_that_is_asked_for(self):
        url = self.serve("--listen", "ucx://127.0.0.1:0", "--ucx-tls", "posix,tcp", "--ucx-devices", "lo")
        by_tcp = url.replace("ucx://", "tcp://")
        for carrier, words in {
            "ucx": ("--connect", url),
            "tcp": ("--connect", by_tcp),
        }.items():
            report = self.run_weft("perf", "client", *words, *SHORT)
            self.assertEqual(json.loads(report.stdout)["carrier"], carrier, report.stderr)
        report = self.run_weft("perf", "client", "--connect", by_tcp, "--prefer-ucx", "--ucx-tls", "tcp", *SHORT)
        self.assertEqual(json.loads(report.stdout)["carrier"], "ucx", report.stderr)

    def test_a_preference_that_cannot_be_had_is_explained(self):
        by_tcp = self.serve("--listen", "ucx://127.0.0.1:0").replace("ucx://", "tcp://")
        flags = ("--prefer-ucx", "--ucx-error-mode-none")
        report = self.run_weft("perf", "client", "--connect", by_tcp, *flags, *SHORT)
        self.assertEqual(json.loads(report.stdout)["carrier"], "tcp", report.stderr)
        self.assertIn("this side uses UCX's error mode none and the other side mode peer", report.stderr)


if __name__ == "__main__":
    OverUcx.weft = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
