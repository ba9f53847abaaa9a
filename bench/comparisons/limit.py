# SPDX-License-Identifier: Apache-2.0
"""`weft perf` against the limit, `weft raw`."""
import dataclasses
import subprocess

from . import loads, table
from .cell_result import CellResult
from .cells import KIB, MIB, Cell, named, size_name
from .congestion_comparison import CongestionComparison
from .failure import Failure
from .programs import find_tool
from .rounds import interleaved

# The sides, and the commands of `weft` that measure them.
COMMANDS = {"limit": "raw", "ours": "perf"}
HEADINGS = ["cell", "mode", "limit", "ours", "unit", "ratio", "spread", "goal", "", "p50 us", "p99 us", "p99/p50",
            "others", "steal"]


@dataclasses.dataclass(frozen=True)
class Load(Cell):
    name: str
    size: int
    connections: int
    depth: int
    metric: str  # the key of `weft`'s JSON that is compared
    goal: float  # of the ratio ours / limit
    mode: str = "wait"
    attachment: bool = False

    pairs = (("ours", "limit"),)

    @property
    def smaller_is_better(self):
        return self.metric.endswith("_us")

    @property
    def unit(self):
        return {"qps": "calls/s", "gbps": "Gb/s", "p50_us": "us p50"}[self.metric]

    @property
    def stall_factor(self):
        """p99 may be this many times p50; None where no such target was set."""
        return 3.0 if self.attachment else None


CELLS = [
    Load("sleep-1x1", 128, 1, 1, "p50_us", 1.08),
    Load("spin-1x1", 128, 1, 1, "p50_us", 1.08, mode="busy"),
    Load("1x64", 128, 1, 64, "qps", 0.85),
    Load("1x256", 128, 1, 256, "qps", 0.5),
    Load("1x1024", 128, 1, 1024, "qps", 0.6),
    Load("256x1", 128, 256, 1, "qps", 0.9),
    *(Load(f"att-{size_name(size)}x{depth}", size, 1, depth, "gbps", 0.95, attachment=True)
      for size in (256 * KIB, MIB, 8 * MIB) for depth in (1, 4)),
    Load("att-32Kx64", 32 * KIB, 1, 64, "gbps", 0.85, attachment=True),
    *(Load(f"body-4Kx{depth}", 4 * KIB, 1, depth, "gbps", 0.8) for depth in (64, 256)),
    Load("body-32Kx64", 32 * KIB, 1, 64, "gbps", 0.85),
    *(Load(f"body-{size_name(size)}x{depth}", size, 1, depth, "gbps", 0.9)
      for size in (256 * KIB, MIB) for depth in (1, 16)),
    *(Load(f"16-bodies-{size_name(size)}", size, 16, 1, "gbps", 0.9) for size in (256 * KIB, MIB)),
    Load("body-8Mx1", 8 * MIB, 1, 1, "gbps", 0.9),
]


class Limit(CongestionComparison):
    name = "limit"
    about = """Holds `weft perf` against the limit, `weft raw`, cell by cell in one interleaved run.

For each cell and round both are measured one after the other, each with a fresh server on processor 0 and a
fresh client on processor 1, so that a change of the machine's mood meets both. What counts is the ratio of
the medians; the spread of the rounds' own ratios says how far to trust it.

This comparison is the default. The others: bench/compare grid | fairness | memory | ucx | verbs | services | streams --help
"""
    examples = """examples:
  bench/compare build/release
  bench/compare build/release --cells 1x256,1x1024 --rounds 9 --seconds 1
  bench/compare build/release --json ratios.json --plot ratios.svg
"""
    seconds = 0.6
    cells = CELLS
    title = "weft perf by the limit, weft raw"

    def add_flags(self, parser):
        super().add_flags(parser)
        parser.add_argument("--mode", choices=["busy", "adaptive", "wait"],
                            help="idle mode of both sides in every cell, instead of the cell's own")
        parser.add_argument("--limit-only", action="store_true", help="measure only the limit")

    def results(self, arguments):
        cells = named(arguments.cells, CELLS)
        if arguments.mode:
            cells = [dataclasses.replace(cell, mode=arguments.mode) for cell in cells]
        weft = find_tool(arguments.build_dir)
        sides = ["limit"] if arguments.limit_only else list(COMMANDS)
        _require_commands(weft, sides)

        def measure(cell, side):
            flags = ("--mode", cell.mode, "--congestion", arguments.congestion)
            program = loads.Program((weft, COMMANDS[side]), flags, ("--attachment",) if cell.attachment else ())
            return loads.measure(program, cell, arguments)

        for cell, found in interleaved(cells, lambda _: sides, arguments.rounds, measure):
            yield CellResult(cell, found)

    def render(self, facts, results):
        errors = [(result.cell.name, result.total("errors")) for result in results]
        return "\n".join([
            *table.heading(facts, self.conditions(facts)), "", *table.aligned([HEADINGS, *map(_row, results)]), "",
            "limit and ours: medians; ratio: of the medians; spread: lowest and highest ratio of a round; p50 and p99: ours,",
            "or the limit's where ours was not measured; others and steal: the largest share of the processors' time in a",
            "measurement that other processes or the hypervisor took.",
            *(f"{name}: {count} calls failed" for name, count in errors if count)])


def _require_commands(weft, sides):
    text = subprocess.run([weft, "--help"], capture_output=True, text=True).stdout
    commands = [line.split()[0] for line in text.splitlines() if line.startswith("  ") and line.split()]
    for side in sides:
        if COMMANDS[side] not in commands:
            raise Failure(f"{weft} has no `{COMMANDS[side]}` command; build a newer one, or use --limit-only "
                          "to measure the limit alone")


def _row(result):
    cell = result.cell
    ours = "ours" in result.sides
    shown = "ours" if ours else "limit"
    p50, p99 = result.median(shown, "p50_us"), result.median(shown, "p99_us")
    comparison = [*table.ratio(result, "ours", "limit"), *table.goal(result, "ours", "limit")] if ours else ["-", "-", "-", ""]
    return [cell.name, cell.mode, table.number(result.median("limit")), table.number(result.median("ours")) if ours else "-",
            cell.unit, *comparison, table.number(p50), table.number(p99), _stall(cell, p99 / p50 if p50 else 0),
            table.share(result.worst("others")), table.share(result.worst("steal"))]


def _stall(cell, factor):
    text = f"{factor:.1f}"
    if cell.stall_factor is None:
        return text
    return f"{text} {'<=' if factor <= cell.stall_factor else '>'} {cell.stall_factor:.0f}"
