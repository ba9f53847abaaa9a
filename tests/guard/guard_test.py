# SPDX-License-Identifier: Apache-2.0
"""Tests of the guard's own logic: what it reads from valgrind, what fails, what passes, what is tried again."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest
from collections.abc import Iterable, Mapping

import counting
import guard
import verdict

WAS = {"instructions of the client": 1000.0, "system calls": 0.5, "allocations": 0.0}
LOG = """==7== Callgrind, a call-graph generating cache profiler
SYSCALL[7,1](45) sys_recvfrom ( 13, 0x4, 16, 0, 0x0, 0x0 ) --> [async] ...
SYSCALL[7,1](45) ... [async] --> Success(0xa80)
SYSCALL[7,1](228) sys_clock_gettime( 1, 0x1fff000170 )[sync] --> Success(0x0)
SYSCALL[7,1](  9) sys_mmap ( 0x0, 4096, 3, 34, 4294967295, 0 ) --> [pre-success] Success(0x4a)
==7== Collected : 123456
"""


def with_change(**changes: float) -> dict[str, float]:
    return WAS | {name.replace("_", " "): value for name, value in changes.items()}


def check(counts: Iterable[Mapping[str, float]]) -> tuple[int, str]:
    """Checks one cell, whose counts these are, one for each try; the other cells are as good as they were."""
    tries = iter(counts)
    changed = counting.CELLS[0]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = guard.check(
            dict.fromkeys(counting.CELLS, WAS), lambda cell: next(tries) if cell == changed else WAS, "guard_small_calls"
        )
    return code, said.getvalue()


class WhatIsWorse(unittest.TestCase):
    def test_the_same_numbers_are_neither_worse_nor_better(self) -> None:
        self.assertEqual(verdict.judge("tcp 1", WAS, WAS), verdict.Verdict([], []))

    def test_three_percent_more_instructions_pass_and_a_little_more_does_not(self) -> None:
        self.assertEqual(verdict.judge("tcp 1", WAS, with_change(instructions_of_the_client=1030)).worse, [])
        worse = verdict.judge("tcp 1", WAS, with_change(instructions_of_the_client=1031)).worse
        self.assertEqual(worse, ["tcp 1 in flight: instructions of the client per call 1000 -> 1031 (+3.1 %)"])

    def test_any_more_system_calls_or_allocations_are_worse(self) -> None:
        self.assertEqual(len(verdict.judge("tcp 1", WAS, with_change(system_calls=0.5002)).worse), 1)
        self.assertEqual(len(verdict.judge("tcp 1", WAS, with_change(allocations=0.0002)).worse), 1)

    def test_items_of_streams_are_called_so(self) -> None:
        worse = verdict.judge("tcp-down 1", WAS, with_change(instructions_of_the_client=1031)).worse
        self.assertEqual(worse, ["tcp-down 1 stream: instructions of the client per item 1000 -> 1031 (+3.1 %)"])

    def test_more_than_three_percent_fewer_instructions_are_better(self) -> None:
        self.assertEqual(verdict.judge("tcp 1", WAS, with_change(instructions_of_the_client=971)).better, [])
        self.assertEqual(len(verdict.judge("tcp 1", WAS, with_change(instructions_of_the_client=969)).better), 1)

    def test_a_number_that_nothing_is_compared_with_is_worse(self) -> None:
        self.assertEqual(len(verdict.judge("tcp 1", {}, WAS).worse), 3)
        self.assertEqual(len(verdict.judge("tcp 1", WAS, {}).worse), 3)


class Check(unittest.TestCase):
    def test_the_same_counts_pass(self) -> None:
        self.assertEqual(check([WAS])[0], 0)

    def test_a_count_that_stays_worse_fails_and_says_which_and_what_to_do(self) -> None:
        code, said = check([with_change(instructions_of_the_client=1100)] * guard.TRIES)
        self.assertEqual(code, 1)
        self.assertIn("WORSE: tcp 1 in flight: instructions of the client per call 1000 -> 1100 (+10.0 %)", said)
        self.assertIn("--toggle-collect=guard_turn_of_client", said)
        self.assertIn("./dev guard --accept", said)

    def test_a_count_that_was_disturbed_once_is_tried_again_and_passes(self) -> None:
        self.assertEqual(check([with_change(system_calls=0.6), WAS])[0], 0)

    def test_a_better_count_passes_and_asks_to_be_accepted(self) -> None:
        code, said = check([with_change(instructions_of_the_client=900)])
        self.assertEqual(code, 0)
        self.assertIn("better: tcp 1 in flight", said)
        self.assertIn("./dev guard --accept", said)


class Accept(unittest.TestCase):
    def test_what_was_accepted_passes_afterwards(self) -> None:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            path = pathlib.Path(folder, "baseline.json")
            guard.accept(lambda cell: WAS, "a compiler", path)
            written = json.loads(path.read_text())
            self.assertEqual(guard.check(written["cells"], lambda cell: WAS, "guard_small_calls"), 0)
        self.assertEqual(written["compiler"], "a compiler")

    def test_the_committed_baseline_has_every_cell_and_number(self) -> None:
        cells = json.loads(guard.BASELINE.read_text())["cells"]
        self.assertEqual(list(cells), counting.CELLS)
        for cell, numbers in cells.items():
            self.assertEqual(set(numbers), {*counting.sides(cell), "system calls", "allocations"})


class Counting(unittest.TestCase):
    def test_valgrinds_log_is_read_without_reads_of_the_clock_and_second_halves(self) -> None:
        self.assertEqual(counting.read_run(LOG, '{"allocations": 3}'), counting.Run(123456, 2, 3))

    def test_a_log_without_a_count_is_an_error(self) -> None:
        with self.assertRaises(ValueError):
            counting.read_run("==7== killed\n", '{"allocations": 3}')

    def test_what_is_done_once_is_in_no_number(self) -> None:
        once, twice = counting.Run(1000 + 40 * 8, 70 + 8, 5), counting.Run(1000 + 80 * 8, 70 + 16, 5)
        self.assertEqual(counting.per_call(once, twice, 8), counting.Run(40, 1, 0))


if __name__ == "__main__":
    unittest.main()
