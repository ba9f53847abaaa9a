# SPDX-License-Identifier: Apache-2.0
"""Payloads of every size at every depth: bodies, attachments and other libraries against the limit, `weft raw`."""
import dataclasses
import os

from . import loads, plot, table
from .cell_result import CellResult
from .cells import KIB, MIB, Cell, named, size_name
from .comparison import Comparison
from .failure import Failure
from .programs import find_tool
from .rounds import interleaved

SIZES = (128, 4 * KIB, 32 * KIB, 256 * KIB, MIB, 8 * MIB)
SHAPES = tuple((1, depth) for depth in (1, 16, 64, 256, 1024)) + ((16, 1), (64, 1), (256, 1))  # connections, in flight on each
# Of payloads of 256 KiB and more as much is wanted at each of these as the limit makes, nearly.
SHAPES_OF_LARGE = ("1x1", "1x4", "1x16", "16x1", "16x4", "16x16")
ON_ITS_WAY_MAX = 512 * MIB
# A cell with more on its way takes so much longer that several waves of its calls are within the measurement.
ON_ITS_WAY_OF_A_WAVE = 64 * MIB

NEIGHBOURS = {"gRPC": "neighbour_grpc", "Cap'n Proto": "neighbour_capnp"}
QUICK = ("--rounds", "3", "--seconds", "0.2", "--warmup", "0.1", "--minutes", "5")


@dataclasses.dataclass(frozen=True)
class Payloads(Cell):
    size: int
    connections: int
    depth: int

    metric = "qps"
    unit = "calls/s"
    pairs = (("body", "limit"), ("attachment", "limit"), ("attachment", "body"), *(("body", name) for name in NEIGHBOURS))

    @property
    def shape(self):
        return f"{self.connections}x{self.depth}"

    @property
    def name(self):
        return f"{size_name(self.size)}-{self.shape}"

    @property
    def on_its_way(self):
        return self.size * self.connections * self.depth

    @property
    def factor(self):
        return max(1, self.on_its_way / ON_ITS_WAY_OF_A_WAVE)

    @property
    def goal(self):
        """Of the ratios by the limit; of attachments from 256 KiB on."""
        if self.size == 8 * MIB or (self.size >= 256 * KIB and self.shape in SHAPES_OF_LARGE):
            return 0.9
        return {"128-1x1024": 0.6, "128-256x1": 0.9, "4K-1x64": 0.8, "4K-1x256": 0.8, "32K-1x64": 0.85}.get(self.name)

    def goal_of(self, side, by):
        """Nobody may be ahead of us, and an attachment may cost a little more than a body."""
        if by != "limit":
            return 0.85 if by == "body" else 1.0
        return self.goal if side == "body" or self.size >= 256 * KIB else None


def cells_of(sizes=SIZES, shapes=SHAPES):
    """Four in flight, and several on many connections, only where something is wanted of them; none that has absurdly much on its way."""
    cells = [Payloads(size, *shape) for size in sizes for shape in shapes]
    cells += [Payloads(size, 1, 4) for size in (256 * KIB, MIB, 8 * MIB)]
    cells += [Payloads(size, 16, depth) for size in (256 * KIB, MIB) for depth in (4, 16)]
    return sorted((cell for cell in cells if cell.on_its_way <= ON_ITS_WAY_MAX),
                  key=lambda cell: (cell.size, cell.connections, cell.depth))


class Grid(Comparison):
    name = "grid"
    about = f"""Holds payloads of every size at every depth against the limit, `weft raw`, in one interleaved run.

A cell is a size and a shape: 4K-1x64 is 4 KiB, one connection, 64 in flight; 8M-16x1 is 8 MiB, 16 connections with
one in flight each. Of each cell are measured the limit, `weft perf` with the payload as a body, and with it as an
attachment, which are held against each other too; with --neighbours also gRPC and Cap'n Proto, with the payload as a body. All have default options, a fresh
server on processor 0 and a fresh client on processor 1. What counts is the ratio of the medians in calls per second:
above 1 the first is faster. Cells with more than {ON_ITS_WAY_MAX // MIB} MiB on their way are left out, and neighbours where
more than {ON_ITS_WAY_OF_A_WAVE // MIB} MiB are, because they take seconds for each wave of such calls. A cell with more than
{ON_ITS_WAY_OF_A_WAVE // MIB} MiB on its way is measured for so many times longer.

The whole takes at most about --minutes: when a cell's share of that is used up, its later rounds are left out, and
the column rounds says how many it had. --plot draws a map with a square for each cell: green is a ratio above 1.
"""
    examples = """examples:
  bench/compare grid build/release --quick                    # about 5 minutes
  bench/compare grid build/release --cells '8M-*,256K-1x*' --rounds 9
  bench/compare grid build/release --neighbours --plot grid.svg --json grid.json
  ./dev bench grid --neighbours                               # installs and builds the neighbours before
"""
    seconds = 0.6
    cells = cells_of()
    title = "Payloads of every size by the limit, weft raw, and by others"

    def add_flags(self, parser):
        loads.add_warmup_flag(parser)
        parser.add_argument("--quick", action="store_true", help=f"short for {' '.join(QUICK)}")
        parser.add_argument("--minutes", type=float, default=20, help="leave later rounds out after that (default 20)")
        parser.add_argument("--neighbours", action="store_true", help="measure gRPC and Cap'n Proto too")

    def parse(self, words):
        # What is said besides overrides what it is short for.
        return super().parse([*(QUICK if "--quick" in words else ()), *words])

    def complaint(self, arguments):
        return "--minutes must be more than 0" if arguments.minutes <= 0 else loads.complaint(arguments)

    def facts(self, arguments):
        return {"warmup": arguments.warmup, "minutes": arguments.minutes}

    def results(self, arguments):
        programs = programs_of(arguments)

        def measure(cell, side):
            return loads.measure(programs[side], cell, arguments, cell.factor)

        for cell, found in interleaved(named(arguments.cells, self.cells), lambda cell: sides_of(cell, programs),
                                       arguments.rounds, measure, seconds_max=arguments.minutes * 60):
            yield CellResult(cell, found)

    def render(self, facts, results):
        conditions = f"{facts['seconds']:g} s each after {facts['warmup']:g} s, default options, up to "
        pairs = pairs_of(results)
        errors = [(result.cell.name, result.total("errors")) for result in results]
        return "\n".join([
            *table.heading(facts, conditions), "", *table.aligned([_headings(pairs), *(_row(each, pairs) for each in results)]),
            *(line for pair in pairs for line in ["", f"{pair[0]} by {pair[1]}:", *table.aligned(_matrix(results, pair))]), "",
            "Medians in calls/s; ratio: of the medians; spread: lowest and highest ratio of a round; *: less than is wanted;",
            "-: not measured; rounds: how many there was time for; others and steal: the largest share of the processors' time",
            "in a measurement that other processes or the hypervisor took.",
            *(f"{name}: {count} calls failed" for name, count in errors if count)])

    def picture(self, facts, results):
        maps = [plot.Map(f"{side} by {by}", [[each and each.ratio(side, by) for each in row] for row in _square(results, side, by)])
                for side, by in pairs_of(results)]
        return plot.heat_maps(self.title, facts, [size_name(size) for size in _sizes(results)], _shapes(results), maps)


def programs_of(arguments):
    """By the sides' names."""
    weft = find_tool(arguments.build_dir)
    programs = {"limit": loads.Program((weft, "raw")), "body": loads.Program((weft, "perf")),
                "attachment": loads.Program((weft, "perf"), client_flags=("--attachment",))}
    for name, program in NEIGHBOURS.items() if arguments.neighbours else ():
        path = arguments.build_dir / "bench" / program
        if not os.access(path, os.X_OK):
            raise Failure(f"there is no {path}; run ./dev setup neighbours and ./dev build, or leave --neighbours out")
        programs[name] = loads.Program((str(path),), pins_itself=False)
    return programs


def sides_of(cell, programs):
    return [side for side in programs if side not in NEIGHBOURS or cell.on_its_way <= ON_ITS_WAY_OF_A_WAVE]


def pairs_of(results):
    """Those that at least one result has."""
    return [pair for pair in Payloads.pairs if any(pair in result.pairs() for result in results)]


def _headings(pairs):
    columns = ["cell", "limit/s"]
    for side, by in pairs:
        columns += [f"{side} by {by}"] if by == "body" else [f"{by if by in NEIGHBOURS else side}/s", "ratio"]
        columns.append("spread")
    return [*columns, "rounds", "others", "steal"]


def _row(result, pairs):
    columns = [result.cell.name, table.number(result.median("limit"))]
    for side, by in pairs:
        if (side, by) in result.pairs():
            ratio, spread = table.ratio(result, side, by)
            # The calls of a body stand in the column of its own ratio.
            medians = [] if by == "body" else [table.number(result.median(by if by in NEIGHBOURS else side))]
            columns += [*medians, ratio + _mark(result, side, by), spread]
        else:
            columns += ["-", "-"] if by == "body" else ["-", "-", "-"]
    return [*columns, str(len(result.sides["limit"])), table.share(result.worst("others")), table.share(result.worst("steal"))]


def _mark(result, side, by):
    goal = result.cell.goal_of(side, by)
    return "*" if goal is not None and result.ratio(side, by) < goal else ""


def _sizes(results):
    return sorted({result.cell.size for result in results})


def _shapes(results):
    shapes = {(result.cell.connections, result.cell.depth): result.cell.shape for result in results}
    return [shapes[key] for key in sorted(shapes)]


def _square(results, side, by):
    """Rows of sizes, columns of shapes: the results that have the pair, else None."""
    there = {(result.cell.size, result.cell.shape): result for result in results if (side, by) in result.pairs()}
    return [[there.get((size, shape)) for shape in _shapes(results)] for size in _sizes(results)]


def _matrix(results, pair):
    rows = [["cell", *_shapes(results)]]
    for size, row in zip(_sizes(results), _square(results, *pair)):
        rows.append([size_name(size), *(f"{each.ratio(*pair):.2f}{_mark(each, *pair)}" if each else "-" for each in row)])
    return rows
