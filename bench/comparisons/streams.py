# SPDX-License-Identifier: Apache-2.0
"""Items of streams: Weft's against the limit, `weft raw`, and against gRPC's."""
import dataclasses
import os

from . import loads, plot, table
from .cell_result import CellResult
from .cells import KIB, MIB, Cell, named, size_name
from .congestion_comparison import CongestionComparison
from .failure import Failure
from .programs import find_tool
from .rounds import interleaved

SIZES = (128, 4 * KIB, 64 * KIB, MIB)
NEIGHBOUR = "neighbour_grpc"
# gRPC as it is, and with its buffer hint.
NEIGHBOURS = ("gRPC", "gRPC hinted")
HEADINGS = ["cell", "unit", "limit", "Weft", "gRPC", "gRPC hinted", "by limit", "spread", "goal", "", "by gRPC", "spread", "goal",
            "", "by gRPC hinted", "spread", "others", "steal"]
CPU_HEADINGS = ["cell", "limit us", "Weft us", "gRPC us", "gRPC hinted us", "gRPC by Weft", "gRPC hinted by Weft"]


@dataclasses.dataclass(frozen=True)
class Items(Cell):
    way: str  # of the flag --streams
    size: int

    connections = 1
    depth = 1

    @property
    def name(self):
        return f"{self.way}-{size_name(self.size)}"

    @property
    def is_ping_pong(self):
        return self.way == "pingpong"

    @property
    def sides(self):
        """The limit of one way is `weft raw`; of a ping-pong it is a call. A way up has no limit, and an item that
        waits for company would never come back."""
        limit = () if self.way == "up" else ("limit",)
        return (*limit, "Weft", *(NEIGHBOURS[:1] if self.is_ping_pong else NEIGHBOURS))

    @property
    def pairs(self):
        return tuple(("Weft", side) for side in self.sides if side != "Weft")

    @property
    def metric(self):
        return "p50_us" if self.is_ping_pong else "qps"

    @property
    def unit(self):
        return "us p50" if self.is_ping_pong else "items/s"

    @property
    def smaller_is_better(self):
        return self.is_ping_pong

    @property
    def goal(self):
        return self.goal_of(*self.pairs[0])

    def goal_of(self, side, by):
        if self.is_ping_pong:
            return 1.15 if by == "limit" and self.size == 128 else None
        return {("down", 128, "limit"): 0.7, ("down", 128, "gRPC"): 20.0}.get((self.way, self.size, by))


CELLS = [Items(way, size) for way in ("down", "up", "pingpong") for size in SIZES]


class Streams(CongestionComparison):
    name = "streams"
    about = """Holds Weft's streams against the limit and against gRPC's (callback interface), in one interleaved run.

down: the server sends items without end, in one stream; up: the client does; pingpong: each item is sent back before the
next, in one stream both ways. The limit of down is `weft raw`, which sends messages one way without any stream; that of
pingpong is a call of Weft with as many bytes; up has none. "gRPC hinted" is gRPC with its buffer hint, by which it may keep
items back until many can be sent at once. For each cell and round all are measured one after the other, each with a
fresh server on processor 0 and a fresh client on processor 1. What counts is the ratio of the medians: above 1 Weft is
faster, but with pingpong, whose times are compared, below 1.
"""
    examples = """examples:
  bench/compare streams build/release
  bench/compare streams build/release --cells 'down-*' --rounds 9 --seconds 2
  ./dev bench streams                                         # installs and builds gRPC before
"""
    seconds = 0.6
    cells = CELLS
    title = "Streams of Weft by the limit: weft raw, or a call"

    def results(self, arguments):
        cells = named(arguments.cells, CELLS)
        weft, grpc = find_programs(arguments.build_dir)

        def measure(cell, side):
            said = loads.measure(program_of(cell, side, weft, grpc, arguments.congestion), cell, arguments)
            return said | {"cpu_us": cpu_us(said, arguments)}

        for cell, found in interleaved(cells, lambda cell: cell.sides, arguments.rounds, measure):
            yield CellResult(cell, found)

    def render(self, facts, results):
        errors = [(result.cell.name, result.total("errors")) for result in results]
        return "\n".join([
            *table.heading(facts, self.conditions(facts)), "", *table.aligned([HEADINGS, *map(_row, results)]), "",
            "Medians; ratio: of the medians, of Weft by the other; spread: lowest and highest ratio of a round; the limit of down",
            "is weft raw, that of pingpong a call; gRPC hinted: with its buffer hint; others and steal: the largest share of the",
            "processors' time in a measurement that other processes or the hypervisor took.", "",
            *table.aligned([CPU_HEADINGS, *map(_cpu_row, results)]), "",
            "Microseconds of processor time that one item costs both sides together, the server's start included, and what the",
            "others take by Weft. On a busy machine the ratios above favour who has more threads, and these do not.",
            *(f"{name}: {count} items failed" for name, count in errors if count)])

    def picture(self, facts, results):
        # Beside ratios by gRPC those by the limit could not be seen.
        return plot.bars(self.title, facts, [result for result in results if "limit" in result.sides])


def find_programs(build_dir):
    """weft, and gRPC under its loads."""
    grpc = build_dir / "bench" / NEIGHBOUR
    weft = find_tool(build_dir)
    if not os.access(grpc, os.X_OK):
        raise Failure(f"there is no {grpc}; run ./dev setup grpc and ./dev build")
    return weft, grpc


def program_of(cell, side, weft, grpc, congestion):
    flags = ("--congestion", congestion)
    streams = ("--streams", cell.way)
    if side in NEIGHBOURS:
        return loads.Program((str(grpc),), flags, streams if side == "gRPC" else (*streams, "--may-wait"), pins_itself=False)
    if side == "Weft":
        return loads.Program((weft, "perf"), flags, streams)
    return loads.Program((weft, "perf"), flags) if cell.is_ping_pong else loads.Program((weft, "raw"), flags, streams)


def cpu_us(said, arguments):
    """Of both sides, for one item; the server's time is also of the warm-up."""
    share = arguments.seconds / (arguments.seconds + arguments.warmup)
    return said["cpu_us_per_call"] + said["server_seconds"] * share * 1e6 / said["calls"]


def _row(result):
    cell = result.cell
    return [cell.name, cell.unit, *_medians(result, cell.metric),
            *_ratio(result, "limit"), *_ratio(result, "gRPC"), *_ratio(result, "gRPC hinted")[:2],
            table.share(result.worst("others")), table.share(result.worst("steal"))]


def _ratio(result, side):
    if side not in result.sides:
        return ["-", "-", "", ""]
    return [*table.ratio(result, "Weft", side), *table.goal(result, "Weft", side)]


def _medians(result, key):
    return [table.number(result.median(side, key)) if side in result.sides else "-" for side in ("limit", "Weft", *NEIGHBOURS)]


def _cpu_row(result):
    ours = result.median("Weft", "cpu_us")
    return [result.cell.name, *_medians(result, "cpu_us"),
            *(f"{result.median(side, 'cpu_us') / ours:.1f}" if side in result.sides else "-" for side in NEIGHBOURS)]
