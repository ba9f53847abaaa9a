# SPDX-License-Identifier: Apache-2.0
"""What the comparisons of bench/compare share, and how each shows its results. Nothing is measured here."""

import contextlib
import dataclasses
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench"))
from comparisons import (cells, fairness, grid, http, limit, loads, memory, plot, programs, progress, rounds, services, table, ucx_calls,
                         ucx_cells, verbs_cells, verbs_counts)
from comparisons.cell_result import CellResult
from comparisons.command import COMPARISONS, chosen, main
from comparisons.comparison import Comparison
from comparisons.failure import Failure

FACTS = {"cpu": "a processor", "cpus": 2, "kernel": "6.1", "commit": "abc", "date": "today", "rounds": 3, "seconds": 0.5}


@dataclasses.dataclass(frozen=True)
class Speed(cells.Cell):
    name: str
    goal: float | None = None
    smaller_is_better: bool = False

    unit = "1/s"
    pairs = (("ours", "theirs"),)


def result_of(cell, **sides):
    return CellResult(cell, {side: [{"value": value} for value in values] for side, values in sides.items()})


class Results(unittest.TestCase):
    result = result_of(Speed("a"), ours=[2, 6, 4], theirs=[1, 2, 4])

    def test_the_ratio_is_of_the_medians(self):
        self.assertEqual(self.result.ratio("ours", "theirs"), 2)

    def test_each_round_has_a_ratio_of_its_own(self):
        self.assertEqual(self.result.round_ratios("ours", "theirs"), [2, 3, 1])

    def test_the_worst_is_looked_for_on_all_sides(self):
        self.assertEqual(self.result.worst("value"), 6)

    def test_a_total_is_of_all_sides_or_of_those_that_are_named(self):
        self.assertEqual((self.result.total("value"), self.result.total("value", "theirs")), (19, 7))

    def test_a_pair_of_which_one_was_not_measured_is_left_out(self):
        self.assertEqual(result_of(Speed("a"), theirs=[1]).pairs(), [])

    def test_json_has_the_cell_the_measurements_and_the_ratios(self):
        record = json.loads(json.dumps(self.result.to_json()))
        self.assertEqual((record["cell"]["name"], record["cell"]["unit"]), ("a", "1/s"))
        self.assertEqual(record["sides"]["theirs"], [{"value": 1}, {"value": 2}, {"value": 4}])
        self.assertEqual(record["ratios"], [{"side": "ours", "by": "theirs", "ratio": 2, "round_ratios": [2, 3, 1]}])


class Cells(unittest.TestCase):
    def test_a_goal_is_reached_from_above_or_from_below(self):
        more, less = Speed("a", 0.9), Speed("b", 1.1, smaller_is_better=True)
        self.assertEqual([more.met(0.9), more.met(0.8), less.met(1.1), less.met(1.2)], [True, False, True, False])

    def test_sizes_have_short_names(self):
        self.assertEqual([cells.size_name(size) for size in (8, 4096, 8 << 20)], ["8", "4K", "8M"])

    def test_cells_are_chosen_by_name_in_the_order_asked_for(self):
        known = [Speed("a"), Speed("b"), Speed("c")]
        self.assertEqual(cells.named("c,a", known), [known[2], known[0]])
        self.assertEqual(cells.named(None, known), known)
        with self.assertRaisesRegex(Failure, "no cell is called d; there are a, b, c"):
            cells.named("a,d", known)

    def test_a_pattern_names_all_that_match_and_none_twice(self):
        known = [Speed("4K-1x1"), Speed("4K-1x16"), Speed("8M-1x1")]
        self.assertEqual(cells.named("8M-*,*-1x1", known), [known[2], known[0]])
        with self.assertRaisesRegex(Failure, r"no cell is called 5K-\*"):
            cells.named("4K-*,5K-*", known)

    def test_no_two_cells_of_a_comparison_have_one_name(self):
        for comparison in COMPARISONS.values():
            names = [cell.name for cell in comparison.cells]
            self.assertEqual(len(set(names)), len(names), comparison.name)

    def test_the_pairs_of_a_cell_are_of_sides_that_it_has(self):
        for cell in verbs_cells.CELLS:
            for pair in cell.pairs:
                self.assertLessEqual(set(pair), set(cell.sides), cell.name)


class Tables(unittest.TestCase):
    def test_texts_begin_at_the_left_and_numbers_end_at_the_right(self):
        rows = [["cell", "ours", ""], ["a", "1", "met"], ["long", "1,000", "MISSED"]]
        self.assertEqual(list(table.aligned(rows)), ["cell   ours", "a         1  met", "long  1,000  MISSED"])

    def test_numbers_have_about_four_digits(self):
        self.assertEqual([table.number(value) for value in (0, 1.23456, 12.345, 999.94, 12345.6)],
                         ["0.000", "1.235", "12.3", "999.9", "12,346"])

    def test_a_ratio_comes_with_its_spread(self):
        result = result_of(Speed("a"), ours=[2, 6, 4], theirs=[1, 2, 4])
        self.assertEqual(table.ratio(result, "ours", "theirs"), ["2.00", "1.00..3.00"])
        self.assertEqual(table.ratio(result, "ours", "theirs", digits=1), ["2.0", "1.0..3.0"])

    def test_a_goal_says_what_is_wanted_and_whether_it_was_met(self):
        def goal(*about):
            return table.goal(result_of(Speed("a", *about), ours=[2], theirs=[1]), "ours", "theirs")

        self.assertEqual([goal(), goal(1.5), goal(1.5, True)], [["", ""], [">= 1.50", "met"], ["<= 1.50", "MISSED"]])

    def test_the_heading_says_where_and_how_often(self):
        first, second = table.heading(FACTS, "quietly, ")
        self.assertEqual(first, "a processor, 2 processors, kernel 6.1, commit abc")
        self.assertEqual(second, "today; server on processor 0, client on 1; quietly, 3 interleaved rounds")


class Plots(unittest.TestCase):
    def texts(self, *results):
        picture = xml.etree.ElementTree.fromstring(plot.bars("speeds < others", FACTS, results))
        return [element.text for element in picture if element.tag.endswith("text")]

    def test_there_is_a_bar_with_its_goal_for_each_result(self):
        texts = self.texts(result_of(Speed("a", 1.5), ours=[2], theirs=[1]), result_of(Speed("b"), ours=[1], theirs=[1]))
        self.assertEqual(texts[0], "speeds < others")
        self.assertEqual(texts[-4:], ["a", "2.00 (≥ 1.50)", "b", "1.00"])

    def test_without_anything_to_compare_there_is_no_bar(self):
        self.assertNotIn("a", self.texts(result_of(Speed("a"), theirs=[1])))

    def test_a_large_ratio_does_not_make_many_lines(self):
        self.assertLess(len(self.texts(result_of(Speed("a"), ours=[100], theirs=[1]))), 16)


class HeatMaps(unittest.TestCase):
    def elements(self, *maps):
        picture = xml.etree.ElementTree.fromstring(plot.heat_maps("sizes < others", FACTS, ["4K", "8M"], ["1x1", "1x16"], maps))
        height = float(picture.get("height"))
        for element in picture:
            self.assertLess(float(element.get("y", 0)), height)
        return picture

    def test_each_map_has_its_names_and_a_square_for_each_ratio_that_there_is(self):
        texts = [each.text for each in self.elements(plot.Map("body", [[0.5, 2.0], [1.0, None]]), plot.Map("other", [[None] * 2] * 2))
                 if each.tag.endswith("text")]
        self.assertEqual(texts[2:], ["body", "1x1", "1x16", "4K", "0.50", "2.00", "8M", "1.00", "other", "1x1", "1x16", "4K", "8M"])

    def test_colours_say_who_is_ahead_and_how_far(self):
        squares = [each for each in self.elements(plot.Map("body", [[0.5, 0.99], [1.01, 8.0]])) if each.get("fill-opacity")]
        self.assertEqual([each.get("fill") for each in squares], [plot.MISSED, plot.MISSED, plot.MET, plot.MET])
        self.assertEqual([each.get("fill-opacity") for each in squares], ["0.80", "0.06", "0.06", "0.80"])


class TimeLeft(unittest.TestCase):
    def shown(self, times, use):
        with contextlib.redirect_stderr(io.StringIO()) as text, progress.Progress(4, True, iter(times).__next__) as bar:
            use(bar)
        return text.getvalue()

    def test_the_rest_is_as_fast_as_what_was_done(self):
        text = self.shown([0, 10, 200], lambda bar: [bar.step(each) for each in "abc"])
        self.assertRegex(text, r"a\r.*b, about 30 s left\r.*c, about 3 min left")

    def test_what_is_skipped_takes_no_time(self):
        self.assertIn("b, about 10 s left", self.shown([0, 10], lambda bar: [bar.step("a"), bar.skip(2), bar.step("b")]))


class Rounds(unittest.TestCase):
    def test_rounds_are_left_out_when_the_time_of_their_cell_is_over(self):
        now = 0

        def measure(cell, side):
            nonlocal now
            now += cell.goal
            return now

        # The first may take 4 of 12 and does, the second 4 of the 8 that are left and takes 7, the last 1.
        speeds = [Speed("a", 2), Speed("b", 7), Speed("c", 1)]
        with mock.patch.object(os, "cpu_count", return_value=2):
            found = list(rounds.interleaved(speeds, lambda _: ("x",), 3, measure, shown=False, seconds_max=12, clock=lambda: now))
        self.assertEqual([len(sides["x"]) for _, sides in found], [2, 1, 1])

    def test_who_goes_first_changes_from_round_to_round(self):
        order = []
        with mock.patch.object(os, "cpu_count", return_value=2):
            ((_, found),) = rounds.interleaved([Speed("a")], lambda _: ("x", "y"), 2,
                                               lambda _, side: order.append(side) or len(order), shown=False)
        self.assertEqual((order, found), (["x", "y", "y", "x"], {"x": [1, 4], "y": [2, 3]}))

    def test_one_processor_is_not_enough(self):
        with mock.patch.object(os, "cpu_count", return_value=1), self.assertRaisesRegex(Failure, "two processors"):
            list(rounds.interleaved([Speed("a")], lambda _: ("x",), 1, lambda *_: 1))


class Stopped(Comparison):
    """Ends with its first cell, as a user may."""
    name = "stopped"

    def results(self, arguments):
        yield result_of(Speed("a"), ours=[2], theirs=[1])
        raise KeyboardInterrupt

    def render(self, facts, results):
        return f"a table of {len(results)}"


class Commands(unittest.TestCase):
    def test_the_limit_is_the_default(self):
        for words, name, rest in ((["build"], "limit", ["build"]), (["limit", "build"], "limit", ["build"]),
                                  (["ucx", "build", "--calls"], "ucx", ["build", "--calls"]), ([], "limit", [])):
            comparison, left = chosen(words)
            self.assertEqual((comparison.name, left), (name, rest))

    def test_every_comparison_takes_the_flags_they_share(self):
        for comparison in COMPARISONS.values():
            arguments = comparison.parse(["build", "--rounds", "2", "--seconds", "0.1", "--json", "a", "--plot", "b"])
            self.assertEqual((arguments.rounds, arguments.seconds), (2, 0.1))
            self.assertEqual((arguments.build_dir, arguments.json, arguments.plot), tuple(map(pathlib.Path, ("build", "a", "b"))))

    def refusal(self, *words):
        with contextlib.redirect_stderr(io.StringIO()) as text, self.assertRaises(SystemExit) as end:
            main(list(words))
        self.assertNotEqual(end.exception.code, 0)
        return text.getvalue() + str(end.exception.code)

    def test_flags_that_make_no_sense_are_refused(self):
        for words, complaint in ((["build", "--rounds", "0"], "--rounds must be at least 1"),
                                 (["services", "build", "--seconds", "0"], "--seconds more than 0"),
                                 (["limit", "build", "--warmup", "-1"], "--warmup must be at least 0"),
                                 (["ucx", "build", "--real-time"], "--real-time is for shared memory"),
                                 (["services", "build", "--depths", "1,x"], "--depths takes numbers"),
                                 (["http", "build", "--connections", "0"], "--connections takes numbers")):
            with self.subTest(words):
                self.assertIn(complaint, self.refusal(*words))

    def test_more_flags_that_make_no_sense_are_refused(self):
        for words, complaint in ((["grid", "build", "--minutes", "0"], "--minutes must be more than 0"),
                                 (["grid", "build", "--warmup", "-1"], "--warmup must be at least 0"),
                                 (["memory", "build", "--warmup", "-1"], "--warmup must be at least 0"),
                                 (["fairness", "build", "--transfers", "0"], "--transfers and --transfer-mib")):
            with self.subTest(words):
                self.assertIn(complaint, self.refusal(*words))

    def test_what_is_missing_is_said_with_the_name_of_the_comparison(self):
        self.assertIn("bench/compare limit: there is no weft in", self.refusal("no/such/folder"))
        self.assertIn("bench/compare verbs: no cell is called x", self.refusal("verbs", "no/such/folder", "--cells", "x"))

    def test_what_was_measured_before_the_end_is_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            record = pathlib.Path(folder) / "record.json"
            comparison = Stopped()
            with contextlib.redirect_stdout(io.StringIO()) as text, self.assertRaises(KeyboardInterrupt):
                comparison.run(comparison.parse(["build", "--json", str(record)]))
            self.assertEqual(text.getvalue(), "a table of 1\n")
            self.assertEqual([cell["cell"]["name"] for cell in json.loads(record.read_text())["cells"]], ["a"])


class Loads(unittest.TestCase):
    arguments = COMPARISONS["grid"].parse(["build", "--seconds", "0.5", "--warmup", "0.1"])
    cell = grid.Payloads(4096, 16, 2)

    def commands(self, program, calls, **more):
        """What would be run when clients make so many calls, and what becomes of its report."""
        started = []

        class FakeServer:
            url = "tcp://h:1"

            def __init__(self, command):
                started.append(command)

            def stop(self):
                return programs.Used(0.1, 7)

        def report_of(command, what):
            started.append(command)
            return {"calls": calls.pop(0)}, programs.Used(0.1, 5)

        with mock.patch.object(loads, "Server", FakeServer), mock.patch.object(loads, "report_of", report_of):
            return started, loads.measure(program, self.cell, self.arguments, **more)

    def test_both_commands_are_pinned_and_the_client_has_the_cells_load(self):
        (server, client), said = self.commands(loads.Program(("weft", "perf"), ("--mode", "busy"), ("--attachment",)), [3], factor=2)
        self.assertEqual(server, "weft perf server --listen tcp://127.0.0.1:0 --cpus 0 --mode busy".split())
        self.assertEqual(client, ("weft perf client --connect tcp://h:1 --size 4096 --depth 2 --connections 16 --seconds 1.0 "
                                  "--warmup 0.2 --json --attachment --cpus 1 --mode busy").split())
        self.assertEqual((said["calls"], said["server_bytes"], said["client_bytes"]), (3, 7, 5))

    def test_what_cannot_pin_itself_is_pinned(self):
        (server, client), _ = self.commands(loads.Program(("other",), pins_itself=False), [3])
        self.assertEqual((server[:5], client[:5]), (["taskset", "-c", "0", "other", "server"], ["taskset", "-c", "1", "other", "client"]))

    def test_a_client_without_a_call_gets_more_time_once(self):
        started, said = self.commands(loads.Program(("weft", "perf")), [0, 3])
        self.assertEqual([words[words.index("--seconds") + 1] for words in started if words[2] == "client"], ["0.5", "2.5"])
        self.assertEqual(said["calls"], 3)
        with self.assertRaisesRegex(Failure, "cell 4K-16x2, perf: the client finished no call; use a longer --seconds"):
            self.commands(loads.Program(("weft", "perf")), [0, 0])


class ServicesWithoutCalls(unittest.TestCase):
    def test_say_what_to_do(self):
        side = services.Side("gRPC", "grpc_echo", "-", "127.0.0.1:0")
        said = json.dumps({"calls_per_s": 0, "failed": 0})
        with mock.patch.object(services, "Server") as server, mock.patch.object(services, "output_of", return_value=said):
            server.return_value.url = "127.0.0.1:1"
            with self.assertRaisesRegex(Failure, "use a longer --seconds: grpc_echo client"):
                services.measure(side, services.Echo(16, 1), COMPARISONS["services"].parse(["build"]))


class HttpLoad(unittest.TestCase):
    SAID = """
  Latency Distribution
     50%   41.00us
     75%   52.00us
     99%    1.20ms
  7500 requests in 1.00s, 1.40MB read
Requests/sec:   7498.75
"""

    def test_numbers_are_read(self):
        self.assertEqual(http.parse(self.SAID, "url"), {"calls_per_s": 7498.75, "p50_us": 41.0, "p99_us": 1200.0})

    def test_failed_requests_are_failures(self):
        for wrong in ("  Non-2xx or 3xx responses: 3", "  Socket errors: connect 0, read 1, write 0, timeout 0"):
            with self.assertRaisesRegex(Failure, wrong.strip()):
                http.parse(self.SAID + wrong + "\n", "url")
        with self.assertRaisesRegex(Failure, "something else"):
            http.parse("no numbers", "url")


class TheGrid(unittest.TestCase):
    def test_it_has_every_size_at_every_depth_but_what_is_absurd(self):
        names = {cell.name for cell in grid.cells_of()}
        self.assertLessEqual({"128-1x1", "128-1x1024", "4K-256x1", "256K-1x4", "256K-1x1024", "1M-1x256", "8M-1x64", "8M-16x1"}, names)
        self.assertFalse({"1M-1x1024", "8M-1x256", "8M-256x1", "8M-1x1024"} & names)
        self.assertTrue(all(cell.on_its_way <= grid.ON_ITS_WAY_MAX for cell in grid.cells_of()))

    def test_what_takes_seconds_for_each_wave_is_measured_for_longer_and_not_of_neighbours(self):
        small, large = grid.Payloads(8 << 20, 1, 1), grid.Payloads(8 << 20, 16, 1)
        sides = ["limit", "body", "gRPC"]
        self.assertEqual((small.factor, grid.sides_of(small, sides)), (1, sides))
        self.assertEqual((large.factor, grid.sides_of(large, sides)), (2, ["limit", "body"]))

    def test_attachments_have_goals_from_256_kib_on_and_nobody_may_be_ahead(self):
        middle, large = grid.Payloads(32 << 10, 1, 64), grid.Payloads(256 << 10, 1, 16)
        self.assertEqual([cell.goal_of(side, "limit") for cell in (middle, large) for side in ("body", "attachment")],
                         [0.85, None, 0.9, 0.9])
        self.assertEqual(middle.goal_of("body", "gRPC"), 1)
        self.assertIsNone(grid.Payloads(256 << 10, 1, 64).goal)

    def test_quick_is_short_for_flags_that_can_be_overridden(self):
        arguments = COMPARISONS["grid"].parse(["build", "--quick", "--rounds", "1"])
        self.assertEqual((arguments.rounds, arguments.seconds, arguments.warmup, arguments.minutes), (1, 0.2, 0.1, 5))

    def test_neighbours_that_are_not_built_are_missed_only_when_they_are_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder)
            (build / "weft").touch(mode=0o755)
            parse = COMPARISONS["grid"].parse
            self.assertEqual(list(grid.programs_of(parse([folder]))), ["limit", "body", "attachment"])
            with self.assertRaisesRegex(Failure, "./dev setup neighbours"):
                grid.programs_of(parse([folder, "--neighbours"]))
            (build / "bench").mkdir()
            for program in grid.NEIGHBOURS.values():
                (build / "bench" / program).touch(mode=0o755)
            self.assertEqual(list(grid.programs_of(parse([folder, "--neighbours"])))[3:], ["gRPC", "Cap'n Proto"])


class Renderings(unittest.TestCase):
    """Each comparison's table, of measurements in which ours is twice theirs."""

    def test_limit(self):
        said = {"qps": 5000.0, "p50_us": 10.0, "p99_us": 20.0, "errors": 1, "others": 0.01, "steal": 0.0}
        facts = FACTS | {"congestion": "cubic", "warmup": 0.2}
        cell = cells.named("1x64", limit.CELLS)[0]
        both = CellResult(cell, {"limit": [said], "ours": [said | {"qps": 10000.0}]})
        text = COMPARISONS["limit"].render(facts, [both])
        self.assertRegex(text, r"1x64 +wait +5,000 +10,000 +calls/s +2\.00 +2\.00\.\.2\.00 +>= 0\.85 +met +10\.0 +20\.0 +2\.0 +1% +0%")
        self.assertIn("1x64: 2 calls failed", text)
        alone = COMPARISONS["limit"].render(facts, [CellResult(cell, {"limit": [said]})])
        self.assertRegex(alone, r"1x64 +wait +5,000 +- +calls/s +- +- +- +10\.0")

    def test_grid(self):
        def said(qps):
            return [{"qps": qps, "errors": 0, "others": 0.02, "steal": 0.0}]

        facts = FACTS | {"warmup": 0.1}
        results = [CellResult(grid.Payloads(4096, 1, 64), {"limit": said(2000.0), "body": said(1000.0), "attachment": said(500.0),
                                                           "gRPC": said(100.0), "Cap'n Proto": said(2000.0)}),
                   CellResult(grid.Payloads(8 << 20, 16, 1), {"limit": said(100.0), "body": said(95.0), "attachment": said(50.0)})]
        comparison = COMPARISONS["grid"]
        text = comparison.render(facts, results)
        self.assertRegex(text, r"4K-1x64 +2,000 +1,000 +0\.50\* +0\.50\.\.0\.50 +500\.0 +0\.25 +0\.25\.\.0\.25 +0\.50\* +0\.50\.\.0\.50 +100\.0 +10\.00 .*"
                               r" 2,000 +0\.50\* .* 1 +2% +0%")
        self.assertRegex(text, r"8M-16x1 +100\.0 +95\.0 +0\.95 .* 0\.50\* +0\.50\.\.0\.50 +0\.53\* +0\.53\.\.0\.53 +- +- +- +- +- +- +1 ")
        self.assertRegex(text, r"body by limit:\ncell +1x64 +16x1\n4K +0\.50\* +-\n8M +- +0\.95\n\nattachment by limit:\n")
        self.assertIn("up to 3 interleaved rounds", text)
        texts = [each.text for each in xml.etree.ElementTree.fromstring(comparison.picture(facts, results)) if each.tag.endswith("text")]
        self.assertEqual(texts[2:9], ["body by limit", "1x64", "16x1", "4K", "0.50", "8M", "0.95"])
        self.assertEqual(texts[-5:], ["1x64", "16x1", "4K", "0.50", "8M"])

    def test_fairness(self):
        idle = {"p50_us": 20.0, "p99_us": 40.0, "qps": 5000.0, "others": 0.0, "steal": 0.0, "timer_p99_us": 60.0, "timer_max_us": 90.0}
        beside = idle | {"p50_us": 50.0, "p99_us": 400.0, "qps": 2000.0, "transfers_gbps": 12.5, "timer_max_us": 6000.0,
                         "server_timer_p99_us": 70.0, "server_timer_max_us": 80.0}
        facts = FACTS | {"warmup": 0.3, "transfers": 2, "transfer_mib": 64}
        same, apart = fairness.Company("pull", False), fairness.Company("pull", True)
        text = COMPARISONS["fairness"].render(facts, [CellResult(cell, {"idle": [idle], "beside": [beside]}) for cell in (same, apart)])
        self.assertRegex(text, r"pull-same +20\.0 +50\.0 +2\.50 +2\.50\.\.2\.50 +<= 3\.00 +met +40\.0 +400\.0 +10\.00 +2,000 +12\.5 "
                               r"+60\.0 +6,000 +70\.0 +80\.0 +0% +0%")
        self.assertRegex(text, r"pull-apart .* <= 1\.50 +MISSED")
        self.assertIn("A timer was later than 5 ms in: pull-same, pull-apart", text)

    def test_fairness_says_what_runs_beside(self):
        arguments = COMPARISONS["fairness"].parse(["build"])
        cell = fairness.Company("push", True)
        self.assertEqual(cell.flags("idle", arguments), ("--beside", "none"))
        self.assertEqual(cell.flags("beside", arguments),
                         ("--beside", "push", "--transfers", "2", "--transfer-size", str(64 << 20), "--apart"))

    def test_memory(self):
        cell = memory.Peak("server", True, 4)
        result = CellResult(cell, {"limit": [{"server_bytes": 64 << 20}], "ours": [{"server_bytes": 1024 << 20}],
                                   "on its way": [{"server_bytes": cell.on_its_way}]})
        text = COMPARISONS["memory"].render(FACTS | {"warmup": 0.2}, [result])
        self.assertRegex(text, r"attachment-16x4-server +512 +64 +1,024 +2\.00 +2\.00\.\.2\.00 +<= 2\.50 +met")

    def test_ucx_has_ratios_above_one_where_ours_is_faster(self):
        def row(name, **values):
            cell = dataclasses.replace(cells.named(name, ucx_cells.CELLS)[0], transports="posix,cma")
            result = CellResult(cell, {side: [{"value": value, "steal": 0}] for side, value in values.items()})
            return COMPARISONS["ucx"].render(FACTS | {"calls": False}, [result])

        self.assertRegex(row("tag_bw-8x1", theirs=1000.0, ours=2000.0, c=4000.0),
                         r"posix,cma +tag_bw-8x1 +1,000 +2,000 +operations/s +2\.00 +2\.00\.\.2\.00 +>= 0\.99 +met +4,000 +4\.00 +0%")
        self.assertRegex(row("tag_lat-8", theirs=2.0, ours=1.0, c=0.5), r"tag_lat-8 +2\.000 +1\.000 .* 2\.00 .*met +0\.500 +4\.00 +0%")

    def test_calls_over_ucx(self):
        said = {"p50_us": 2.0, "p99_us": 4.0, "qps": 500.0, "steal": 0}
        sides = {"ucx": [said], "tcp": [said | {"p50_us": 8.0}]}
        results = [CellResult(ucx_calls.Echo("posix", 128, 1), sides | {"perftest": [{"p50_us": 1.0, "steal": 0.5}]}),
                   CellResult(ucx_calls.Echo("posix", 4096, 64), sides)]
        text = COMPARISONS["ucx"].render(FACTS | {"calls": True}, results)
        self.assertRegex(text, r"128 B +1 +2\.000 +4\.000 +8\.000 +4\.000 +500\.0 +500\.0 +4\.0 +4\.0\.\.4\.0 +2\.00 +50%")
        self.assertRegex(text, r"4 KiB +64 .* 4\.0\.\.4\.0 +0%")

    def test_verbs(self):
        def result(name):
            cell = cells.named(name, verbs_cells.CELLS)[0]
            return CellResult(cell, {side: [{"value": 1.0 if side.startswith("ib_") else 2.0, "not_ready_naks": 3}]
                                     for side in cell.sides})

        text = COMPARISONS["verbs"].render(FACTS | {"device": "rxe0"}, [result("lat-64-poll"), result("bw-1M-events")])
        self.assertIn("today; device rxe0; 0.5 s each, 3 interleaved rounds", text)
        self.assertRegex(text, r"lat-64-poll +1\.000 +2\.000 +2\.00 +2\.00\.\.2\.00 +<= 2\.00 +met +3\n")
        self.assertRegex(text, r"bw-1M-events +1\.000 +2\.000 +2\.00 .* >= 0\.90 +met +1\.000 +2\.00 +2\.000 +1\.00 +1\.00\.\.1\.00 +6\n")

    def test_what_verbs_counts(self):
        self.assertRegex(verbs_counts.render({"64 bytes": {"doorbells": 2}}), r"64 bytes +2 +- +-")

    def test_services(self):
        said = {"calls_per_s": 1000.0, "p50_us": 1.0, "p99_us": 2.0, "others": 0.1}
        sides = {side: [said] for side in ("gRPC", "function", "coroutine")} | {"service": [said | {"calls_per_s": 2000.0}]}
        text = COMPARISONS["services"].render(FACTS, [CellResult(services.Echo(16, 1), sides)])
        self.assertRegex(text, r"16 +1 +1,000 +2,000 +2\.0 +2\.0\.\.2\.0 +1,000 +2\.00 +1,000 +2\.00 .* 10%")

    def test_http(self):
        said = {"calls_per_s": 1000.0, "p50_us": 1.0, "p99_us": 2.0, "others": 0.1}
        sides = {"limit": [said], "Weft": [said | {"calls_per_s": 800.0}], "uvicorn": [said]}
        text = COMPARISONS["http"].render(FACTS, [CellResult(http.HttpCell(64), sides)])
        self.assertRegex(text, r"64 +1,000 +800\.0 +0\.80 +0\.80\.\.0\.80 +- +1,000 .* 10%")


if __name__ == "__main__":
    unittest.main()
