# SPDX-License-Identifier: Apache-2.0
"""`weft info` and `weft perf` over verbs://, all of it in one emulated machine: rdma_test.py <weft>"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
RUNNER = [sys.executable, "-B", str(HERE.parents[1] / "rdma_vm")]


class OnRdma(unittest.TestCase):
    weft = ""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.share = pathlib.Path(folder.name)
        command = [*RUNNER, "--host-if-device", "--share", folder.name, "--", str(HERE / "on_rdma.sh"), cls.weft, folder.name]
        subprocess.run(command, check=True)

    def written(self, name: str) -> str:
        return (self.share / name).read_text()

    def json(self, name: str) -> dict:
        return json.loads(self.written(name))

    def test_info_lists_the_device_and_what_would_be_used(self):
        ports = [port for device in self.json("info")["rdma"]["devices"] for port in device["ports"]]
        (chosen, *_) = [port for port in ports if port["chosen"]]
        self.assertEqual(chosen["state"], "active")
        self.assertEqual(len([gid for gid in chosen["gids"] if gid["chosen"]]), 1)

    def test_info_refuses_an_address_that_is_not_there(self):
        self.assertIn("there is no GID 77", self.written("bad_gid"))
        self.assertEqual(self.written("bad_gid.code"), "1\n")

    def test_info_says_what_carries_a_connection(self):
        self.assertRegex(self.written("connect"), r"carried by +RDMA; the stream stays beside it")
        connection = self.json("connect.json")["connection"]
        self.assertEqual((connection["carrier"], connection["this_side"]), ("verbs", "require"))
        self.assertRegex(connection["description"], r"port 1, from \S+, reliable connection, MTU \d+")

    def test_clients_without_rdma_are_served_on_the_same_port(self):
        connection = self.json("tcp.json")["connection"]
        self.assertEqual((connection["carrier"], connection["server"]), ("tcp", "forbid"))

    def test_a_client_may_prefer_rdma(self):
        connection = self.json("prefer.json")["connection"]
        self.assertEqual((connection["carrier"], connection["server"]), ("verbs", "prefer"))

    def test_perf_may_prefer_rdma_too(self):
        self.assertEqual(self.json("prefer_perf.json")["carrier"], "verbs")

    def test_queue_pairs_may_be_connected_by_rdma_cm(self):
        self.assertRegex(self.written("by_cm.info"), r"connect_by +rdma_cm\n")
        self.assertRegex(self.written("by_cm.info"), r"carried by +RDMA")
        self.assertEqual(self.written("by_cm.errors"), "")
        report = self.json("by_cm.json")
        self.assertEqual((report["carrier"], report["errors"]), ("verbs", 0))
        self.assertGreater(report["calls"], 0)
        self.assertEqual(self.written("by_cm.code"), "0\n")

    def test_perf_measures_small_calls(self):
        self.assertEqual(self.written("perf.errors"), "")
        report = self.json("perf.json")
        self.assertGreater(report["calls"], 0)
        self.assertEqual(report["errors"], 0)

    def test_perf_measures_attachments(self):
        self.assertEqual(self.written("large.errors"), "")
        report = self.json("large.json")
        self.assertGreater(report["calls"], 0)
        self.assertEqual(report["errors"], 0)

    def test_the_server_ends_in_order(self):
        self.assertEqual(self.written("server.code"), "0\n", self.written("server"))


if __name__ == "__main__":
    OnRdma.weft = sys.argv.pop(1)
    unittest.main()
