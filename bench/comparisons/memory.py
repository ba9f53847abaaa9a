# SPDX-License-Identifier: Apache-2.0
"""The most memory that a server and a client have, by what is on its way between them."""
import dataclasses

from . import loads, table
from .cell_result import CellResult
from .cells import MIB, Cell, named
from .comparison import Comparison
from .programs import find_tool
from .rounds import interleaved

HEADINGS = ["cell", "on its way", "limit MiB", "Weft MiB", "ratio", "spread", "goal", ""]
ON_ITS_WAY = "on its way"


@dataclasses.dataclass(frozen=True)
class Peak(Cell):
    """Of one of the two processes, while 16 connections echo 8 MiB."""
    process: str
    attachment: bool
    depth: int

    size = 8 * MIB
    connections = 16
    unit = "bytes"
    pairs = (("ours", ON_ITS_WAY), ("limit", ON_ITS_WAY))
    goal = 2.5
    smaller_is_better = True

    @property
    def name(self):
        return f"{'attachment' if self.attachment else 'body'}-{self.connections}x{self.depth}-{self.process}"

    @property
    def metric(self):
        return f"{self.process}_bytes"

    @property
    def on_its_way(self):
        return self.size * self.connections * self.depth


class Memory(Comparison):
    name = "memory"
    about = """Measures the most memory that a server and a client have while 16 connections echo 8 MiB.

Each cell is one of the two processes, with the payload as a body or as an attachment, and 1 or 4 calls in flight on
each connection. Its ratio is the largest resident set of the process by the bytes that are on their way altogether,
which are in one direction or the other all the time. At most 2.5 is wanted. Beside it stands the limit, `weft raw`.
Cells with 4 in flight are measured four times longer. What the payload is made of and, for attachments, the memory that the client names for answers are in its figure.
"""
    examples = """examples:
  bench/compare memory build/release
  bench/compare memory build/release --cells '*-server' --rounds 1
"""
    rounds = 3
    seconds = 0.6
    cells = [Peak(process, attachment, depth) for depth in (1, 4) for attachment in (False, True)
             for process in ("server", "client")]
    title = "Most memory by what is on its way"

    def add_flags(self, parser):
        loads.add_warmup_flag(parser)

    def complaint(self, arguments):
        return loads.complaint(arguments)

    def facts(self, arguments):
        return {"warmup": arguments.warmup}

    def results(self, arguments):
        weft = find_tool(arguments.build_dir)

        def measure(cell, side):
            if side == ON_ITS_WAY:
                return {cell.metric: cell.on_its_way}
            flags = ("--attachment",) if cell.attachment else ()
            program = loads.Program((weft, "perf" if side == "ours" else "raw"), client_flags=flags)
            return loads.measure(program, cell, arguments, factor=cell.depth)

        for cell, found in interleaved(named(arguments.cells, self.cells), lambda _: ("limit", "ours", ON_ITS_WAY),
                                       arguments.rounds, measure):
            yield CellResult(cell, found)

    def render(self, facts, results):
        conditions = f"{facts['seconds']:g} s each after {facts['warmup']:g} s, "
        return "\n".join([
            *table.heading(facts, conditions), "", *table.aligned([HEADINGS, *map(_row, results)]), "",
            "Medians of the rounds of the largest resident set, MiB; ratio: Weft's by what is on its way; spread: lowest and",
            "highest ratio of a round."])


def _row(result):
    mib = [f"{result.median(side) / MIB:,.0f}" for side in (ON_ITS_WAY, "limit", "ours")]
    return [result.cell.name, *mib, *table.ratio(result, "ours", ON_ITS_WAY), *table.goal(result, "ours", ON_ITS_WAY)]
