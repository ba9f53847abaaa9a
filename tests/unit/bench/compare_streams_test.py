# SPDX-License-Identifier: Apache-2.0
"""What bench/compare streams measures, and how it shows it. Nothing is measured here."""

import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench"))
from comparisons import cells, streams
from comparisons.cell_result import CellResult
from comparisons.failure import Failure


class TheStreams(unittest.TestCase):
    def words(self, name, side):
        program = streams.program_of(cells.named(name, streams.CELLS)[0], side, "weft", "grpc", "cubic")
        return " ".join((*program.words, *program.flags, *program.client_flags)), program.pins_itself

    def test_each_side_has_its_program_and_all_have_one_congestion_control(self):
        cubic = "--congestion cubic"
        self.assertEqual(self.words("down-128", "limit"), (f"weft raw {cubic} --streams down", True))
        self.assertEqual(self.words("up-128", "Weft"), (f"weft perf {cubic} --streams up", True))
        self.assertEqual(self.words("down-128", "gRPC"), (f"grpc {cubic} --streams down", False))
        self.assertEqual(self.words("down-128", "gRPC hinted"), (f"grpc {cubic} --streams down --may-wait", False))

    def test_the_limit_of_a_ping_pong_is_a_call(self):
        self.assertEqual(self.words("pingpong-4K", "limit"), ("weft perf --congestion cubic", True))

    def test_what_has_no_limit_has_no_such_side_and_what_would_never_come_back_is_not_measured(self):
        sides = {cell.name: cell.sides for cell in streams.CELLS}
        self.assertEqual(sides["up-64K"], ("Weft", "gRPC", "gRPC hinted"))
        self.assertEqual(sides["pingpong-64K"], ("limit", "Weft", "gRPC"))

    def test_goals_are_of_small_items(self):
        def goals(name):
            cell = cells.named(name, streams.CELLS)[0]
            return [cell.goal_of(*pair) for pair in cell.pairs]

        self.assertEqual([goals("down-128"), goals("pingpong-128")], [[0.7, 20.0, None], [1.15, None]])
        self.assertEqual(goals("down-4K"), [None] * 3)

    def test_processor_time_is_of_both_sides_and_of_the_measured_part(self):
        arguments = streams.Streams().parse(["build", "--seconds", "3", "--warmup", "1"])
        said = {"cpu_us_per_call": 2.0, "server_seconds": 4.0, "calls": 1_000_000}
        self.assertEqual(streams.cpu_us(said, arguments), 5.0)

    def test_grpc_that_is_not_built_is_missed(self):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder)
            (build / "weft").touch(mode=0o755)
            with self.assertRaisesRegex(Failure, "./dev setup grpc"):
                streams.find_programs(build)

    def test_the_table_has_each_ratio_and_the_picture_those_by_the_limit(self):
        def said(qps, p50_us, cpu_us=2.0):
            return [{"qps": qps, "p50_us": p50_us, "cpu_us": cpu_us, "errors": 0, "others": 0.1, "steal": 0.0}]

        down, up, pingpong = cells.named("down-128,up-128,pingpong-128", streams.CELLS)
        results = [
            CellResult(down, {"limit": said(8000.0, 1.0), "Weft": said(4000.0, 1.0), "gRPC": said(200.0, 1.0, 60.0),
                              "gRPC hinted": said(1000.0, 1.0)}),
            CellResult(up, {side: said(2000.0, 1.0) for side in up.sides}),
            CellResult(pingpong, {"limit": said(1.0, 20.0), "Weft": said(1.0, 22.0), "gRPC": said(1.0, 88.0)})]
        comparison = streams.Streams()
        facts = {"cpu": "a processor", "cpus": 2, "kernel": "6.1", "commit": "abc", "date": "today", "rounds": 1, "seconds": 0.5,
                 "congestion": "cubic", "warmup": 0.2}
        text = comparison.render(facts, results)
        self.assertRegex(text, r"down-128 +items/s +8,000 +4,000 +200\.0 +1,000 +0\.50 +0\.50\.\.0\.50 +>= 0\.70 +MISSED +"
                               r"20\.00 +20\.00\.\.20\.00 +>= 20\.00 +met +4\.00 +4\.00\.\.4\.00 +10%")
        self.assertRegex(text, r"up-128 +items/s +- +2,000 +2,000 +2,000 +- +- +1\.00 ")
        self.assertRegex(text, r"pingpong-128 +us p50 +20\.0 +22\.0 +88\.0 +- +1\.10 +1\.10\.\.1\.10 +<= 1\.15 +met +0\.25 ")
        self.assertRegex(text, r"\ndown-128 +2\.000 +2\.000 +60\.0 +2\.000 +30\.0 +1\.0\n")
        self.assertRegex(text, r"\npingpong-128 +2\.000 +2\.000 +2\.000 +- +1\.0 +-\n")
        picture = xml.etree.ElementTree.fromstring(comparison.picture(facts, results))
        texts = [each.text for each in picture if each.tag.endswith("text")]
        self.assertEqual(texts[-4:], ["down-128", "0.50 (≥ 0.70)", "pingpong-128", "1.10 (latency, ≤ 1.15)"])


if __name__ == "__main__":
    unittest.main()
