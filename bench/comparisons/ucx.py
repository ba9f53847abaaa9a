# SPDX-License-Identifier: Apache-2.0
"""The UCX binding against ucx_perftest, or calls over UCX against calls over TCP."""
import dataclasses

from . import table, ucx_calls, ucx_programs
from .cell_result import CellResult
from .cells import named
from .comparison import Comparison
from .programs import find_tool
from .rounds import interleaved
from .ucx_cells import CELLS

SIDES = ("theirs", "ours", "c")
HEADINGS = ["UCX_TLS", "cell", "ucx_perftest", "ours", "unit", "ratio", "spread", "goal", "", "C calls", "ratio",
            "steal"]


class Ucx(Comparison):
    name = "ucx"
    about = """Holds the UCX binding against `ucx_perftest`, cell by cell in one interleaved run.

For each cell and round both are measured one after the other, each with a fresh server on processor 0 and a
fresh client on processor 1, and the same UCX_TLS. What counts is the ratio of the medians, ours by theirs for
rates and theirs by ours for latencies, so that above 1 is faster than ucx_perftest. A third side, `c`, is our
program without coroutines and loop: what it lacks against ucx_perftest is not the binding's.

With --calls it holds calls of functions over UCX against the same calls over TCP instead, and the round trip of one
against ucx_perftest's active messages.
"""
    examples = """examples:
  bench/compare ucx build/release
  bench/compare ucx build/release --transports tcp --cells tag_lat-8,am_lat-8 --rounds 9
  bench/compare ucx build/release --transports posix,cma --real-time   # as root: other programs wait meanwhile
  bench/compare ucx build/release --calls --seconds 1 --rounds 5
"""
    rounds = 7
    seconds = 0.3
    cells = CELLS
    title = "Weft's UCX binding by ucx_perftest, or over TCP by over UCX"

    def add_flags(self, parser):
        parser.add_argument("--transports", metavar="TLS;...", default="posix,cma;tcp",
                            help="values of UCX_TLS, one after the other (default \"posix,cma;tcp\")")
        parser.add_argument("--real-time", action="store_true",
                            help="run both sides before all other programs (SCHED_FIFO; needs root)")
        parser.add_argument("--calls", action="store_true",
                            help="calls over UCX, over the first of --transports, beside calls over TCP")

    def complaint(self, arguments):
        if arguments.real_time and "tcp" in arguments.transports:
            return "--real-time is for shared memory: over TCP runs came to a halt with it"
        return None

    def facts(self, arguments):
        return {"transports": arguments.transports.split(";"), "calls": arguments.calls}

    def results(self, arguments):
        if arguments.calls:
            return ucx_calls.results(find_tool(arguments.build_dir), arguments.transports.split(";")[0], arguments)
        return _results(arguments)

    def render(self, facts, results):
        return ucx_calls.render(facts, results) if facts["calls"] else _render(facts, results)


def _results(arguments):
    chosen = named(arguments.cells, CELLS)
    cells = [dataclasses.replace(cell, transports=name) for name in arguments.transports.split(";") for cell in chosen]
    program = ucx_programs.find_program(arguments.build_dir)

    def measure(cell, side):
        return ucx_programs.measure(program, side, cell, arguments)

    def label(cell):
        return f"{cell.transports} {cell.name}"

    for cell, found in interleaved(cells, lambda _: SIDES, arguments.rounds, measure, label):
        yield CellResult(cell, found)


def _render(facts, results):
    return "\n".join([
        *table.heading(facts), "", *table.aligned([HEADINGS, *map(_row, results)]), "",
        "Medians of the rounds; ratios above 1: faster than ucx_perftest; spread: lowest and highest ratio of a round;",
        "C calls: our program with UCX's calls alone; steal: the largest share of the processors' time that the",
        "hypervisor took in a measurement."])


def _row(result):
    ours, c_calls = result.cell.pairs
    return [result.cell.transports, result.cell.name, table.number(result.median("theirs")),
            table.number(result.median("ours")), result.cell.unit, *table.ratio(result, *ours), *table.goal(result, *ours),
            table.number(result.median("c")), table.ratio(result, *c_calls)[0], table.share(result.worst("steal"))]
