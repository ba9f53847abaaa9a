# SPDX-License-Identifier: Apache-2.0
"""Small calls beside large transfers."""
import dataclasses

from . import loads, table
from .cell_result import CellResult
from .cells import MIB, Cell, named
from .comparison import Comparison
from .programs import find_tool
from .rounds import interleaved

HEADINGS = ["cell", "p50 idle", "p50 beside", "ratio", "spread", "goal", "", "p99 idle", "p99 beside", "ratio", "calls/s",
            "Gb/s beside", "timer p99", "max", "server's p99", "max", "others", "steal"]
TIMER_MAX_US = 5000  # no timer may be later beside transfers


@dataclasses.dataclass(frozen=True)
class Company(Cell):
    transfers: str  # pull or push
    apart: bool  # on a connection of their own

    size = 128
    connections = 1
    depth = 1
    metric = "p50_us"
    unit = "us p50"
    pairs = (("beside", "idle"),)
    smaller_is_better = True

    @property
    def name(self):
        return f"{self.transfers}-{'apart' if self.apart else 'same'}"

    @property
    def goal(self):
        return 1.5 if self.apart else 3.0

    def flags(self, side, arguments):
        if side == "idle":
            return ("--beside", "none")
        return ("--beside", self.transfers, "--transfers", str(arguments.transfers), "--transfer-size",
                str(arguments.transfer_mib * MIB), *(["--apart"] if self.apart else []))


class Fairness(Comparison):
    name = "fairness"
    about = f"""Measures calls of 128 bytes, one at a time, idle and beside large transfers.

The transfers are two attachments of 64 MiB at a time, again and again: pull has them in answers, received into memory
that the client named, push in requests. In the cells -same they are on the connection of the calls, in the cells -apart
on another one of the same loop on both sides. Idle and beside are measured one after the other in each round, each
with a fresh server on processor 0 and a fresh client on processor 1. What counts is the ratio of p50: beside by idle.

Meanwhile a timer of 1 ms is set again and again on both loops. How late it is at p99 and at most says how long
a turn of the loop takes beside the transfers; at most {TIMER_MAX_US / 1000:g} ms are wanted.
"""
    examples = """examples:
  bench/compare fairness build/release
  bench/compare fairness build/release --cells 'pull-*' --transfers 1 --transfer-mib 8
  bench/compare fairness build/release --rounds 3 --seconds 0.5 --json fairness.json --plot fairness.svg
  weft perf client --connect tcp://127.0.0.1:9000 --beside pull --apart      # one side of a cell by hand
"""
    seconds = 2.0
    cells = [Company(transfers, apart) for transfers in ("pull", "push") for apart in (False, True)]
    title = "p50 of small calls beside transfers, by idle"

    def add_flags(self, parser):
        loads.add_warmup_flag(parser, 0.3)
        parser.add_argument("--transfers", type=int, default=2, help="as many at a time (default 2)")
        parser.add_argument("--transfer-mib", type=int, default=64, help="MiB of each (default 64)")

    def complaint(self, arguments):
        if arguments.transfers < 1 or arguments.transfer_mib < 1:
            return "--transfers and --transfer-mib must be at least 1"
        return loads.complaint(arguments)

    def facts(self, arguments):
        return {"warmup": arguments.warmup, "transfers": arguments.transfers, "transfer_mib": arguments.transfer_mib}

    def results(self, arguments):
        weft = find_tool(arguments.build_dir)

        def measure(cell, side):
            program = loads.Program((weft, "perf"), client_flags=cell.flags(side, arguments))
            return loads.measure(program, cell, arguments)

        for cell, found in interleaved(named(arguments.cells, self.cells), lambda _: ("idle", "beside"), arguments.rounds,
                                       measure):
            yield CellResult(cell, found)

    def render(self, facts, results):
        conditions = (f"{facts['transfers']} transfers of {facts['transfer_mib']} MiB, {facts['seconds']:g} s each after "
                      f"{facts['warmup']:g} s, ")
        late = [result.cell.name for result in results if _latest(result) > TIMER_MAX_US]
        return "\n".join([
            *table.heading(facts, conditions), "", *table.aligned([HEADINGS, *map(_row, results)]), "",
            "Microseconds; medians of the rounds; ratio: beside by idle, so that below 1 would be faster; spread: lowest and",
            "highest ratio of a round; timer: how late one of 1 ms is, beside, on the client's loop and on the server's, its",
            "max the largest of all rounds; others and steal: the largest share of the processors' time in a measurement that",
            "other processes or the hypervisor took.",
            *([f"A timer was later than {TIMER_MAX_US / 1000:g} ms in: {', '.join(late)}"] if late else [])])


def _latest(result):
    return max(max(result.values("beside", key)) for key in ("timer_max_us", "server_timer_max_us"))


def _row(result):
    p99 = [result.median(side, "p99_us") for side in ("idle", "beside")]
    return [result.cell.name, *(table.number(result.median(side)) for side in ("idle", "beside")),
            *table.ratio(result, "beside", "idle"), *table.goal(result, "beside", "idle"), *map(table.number, p99),
            f"{p99[1] / p99[0]:.2f}", table.number(result.median("beside", "qps")),
            table.number(result.median("beside", "transfers_gbps")),
            table.number(result.median("beside", "timer_p99_us")), table.number(max(result.values("beside", "timer_max_us"))),
            table.number(result.median("beside", "server_timer_p99_us")),
            table.number(max(result.values("beside", "server_timer_max_us"))),
            table.share(result.worst("others")), table.share(result.worst("steal"))]
