# SPDX-License-Identifier: Apache-2.0
"""Weft's services of protobuf against gRPC's."""
import dataclasses
import json
import os

from . import table
from .cell_result import CellResult
from .cells import Cell
from .comparison import Comparison
from .failure import Failure
from .machine import CLIENT_CPU, SERVER_CPU, CpuUse
from .programs import Server, on, output_of
from .rounds import interleaved

RUN_SECONDS = 120
HEADINGS = ["in flight", "connections", "gRPC/s", "service/s", "ratio", "spread", "function/s", "ratio", "coroutine/s",
            "ratio", "p50 gRPC", "p50 service", "p99 gRPC", "p99 service", "others"]


@dataclasses.dataclass(frozen=True)
class Side:
    name: str
    program: str
    kind: str
    address: str


@dataclasses.dataclass(frozen=True)
class Echo(Cell):
    depth: int
    connections: int

    metric = "calls_per_s"
    unit = "calls/s"
    pairs = (("service", "gRPC"), ("service", "function"), ("service", "coroutine"))

    @property
    def name(self):
        return f"{self.depth} in flight on {self.connections}"


class Services(Comparison):
    name = "services"
    about = """Holds Weft's services of protobuf against gRPC's (callback interface), and against plain functions and coroutines.

Messages of 128 bytes, echoed. For each cell and round all are measured one after the other, each with a fresh
server on processor 0 and a fresh client on processor 1. What counts is the ratio of the medians, so that above 1 Weft's
services are faster than the other side.
"""
    examples = """examples:
  bench/compare services build/release
  bench/compare services build/release --depths 1,256 --rounds 9 --seconds 2
"""
    title = "Services of Weft by those of gRPC"

    def add_flags(self, parser):
        parser.add_argument("--depths", default="1,16,64,256", help="calls in flight (default 1,16,64,256)")

    def complaint(self, arguments):
        if all(depth.isdecimal() and int(depth) > 0 for depth in arguments.depths.split(",")):
            return None
        return "--depths takes numbers from 1 on, with commas between them"

    def results(self, arguments):
        sides = find_sides(arguments.build_dir)
        cells = cells_of([int(depth) for depth in arguments.depths.split(",")])

        def measure_one(cell, name):
            return measure(sides[name], cell, arguments)

        for cell, found in interleaved(cells, lambda _: list(sides), arguments.rounds, measure_one):
            yield CellResult(cell, found)

    def render(self, facts, results):
        return "\n".join([
            *table.heading(facts, f"{facts['seconds']:g} s each, "), "", *table.aligned([HEADINGS, *map(_row, results)]), "",
            "function, coroutine: plain ones of as many bytes, called inside the receiving or with a record as services are.",
            "Medians of the rounds; ratio: service by the other; spread: lowest and highest ratio of a round to gRPC; times in",
            "microseconds, by the clock of the loop's turn where several calls are in flight; others: the largest share of the",
            "processors' time that other programs had."])


def find_sides(build_dir):
    """By their names."""
    weft = str(build_dir / "bench" / "weft_echo")
    grpc = str(build_dir / "bench" / "grpc_echo")
    if not os.access(weft, os.X_OK):
        raise Failure(f"there is no {weft}; build it first: ./dev build (it needs libprotobuf-dev)")
    if not os.access(grpc, os.X_OK):
        raise Failure(f"there is no {grpc}; build it with libgrpc++-dev and protobuf-compiler-grpc installed")
    sides = [
        Side("service", weft, "service", "tcp://127.0.0.1:0"),
        Side("function", weft, "function", "tcp://127.0.0.1:0"),
        Side("coroutine", weft, "coroutine", "tcp://127.0.0.1:0"),
        Side("gRPC", grpc, "-", "127.0.0.1:0"),
    ]
    return {side.name: side for side in sides}


def cells_of(depths):
    """Each depth on one connection, and on one connection for each call in flight."""
    return [Echo(depth, 1) for depth in depths] + [Echo(depth, depth) for depth in depths if depth > 1]


def measure(side, cell, arguments):
    before, ours_before = CpuUse.now(), _children_seconds()
    server = Server(on(SERVER_CPU, [side.program, "server", side.address, side.kind]))
    try:
        words = [side.program, "client", server.url, side.kind, str(cell.depth), str(cell.connections),
                 str(arguments.seconds)]
        said = json.loads(output_of(on(CLIENT_CPU, words), side.name, RUN_SECONDS))
    finally:
        server.stop()
    if said["failed"]:
        raise Failure(f"{said['failed']} calls failed: {' '.join(words)}")
    if not said["calls_per_s"]:
        raise Failure(f"no call was finished, use a longer --seconds: {' '.join(words)}")
    others, _ = CpuUse.now().shares_since(before, _children_seconds() - ours_before)
    return said | {"others": others}


def _children_seconds():
    times = os.times()
    return times.children_user + times.children_system


def _row(result):
    return [str(result.cell.depth), str(result.cell.connections), table.number(result.median("gRPC")),
            table.number(result.median("service")), *table.ratio(result, "service", "gRPC", digits=1),
            *(text for side in ("function", "coroutine")
              for text in (table.number(result.median(side)), table.ratio(result, "service", side)[0])),
            *(table.number(result.median(side, what)) for what in ("p50_us", "p99_us") for side in ("gRPC", "service")),
            table.share(result.worst("others"))]
