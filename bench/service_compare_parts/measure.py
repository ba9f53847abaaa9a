# SPDX-License-Identifier: Apache-2.0
"""Runs the servers and clients, interleaved, and keeps what they said."""
import dataclasses
import json
import os
import statistics

from compare_parts.failure import Failure
from compare_parts.machine import CLIENT_CPU, SERVER_CPU, CpuUse
from compare_parts.programs import Server, output_of
from compare_parts.rounds import interleaved

RUN_SECONDS = 120


@dataclasses.dataclass
class Side:
    name: str
    program: str
    kind: str
    address: str


@dataclasses.dataclass
class Cell:
    depth: int
    connections: int


@dataclasses.dataclass
class CellResult:
    cell: Cell
    sides: dict  # by name, of a list with what each round said
    others: float  # the largest share of the processors that other programs had

    def median(self, side, what="calls_per_s"):
        return statistics.median(each[what] for each in self.sides[side])

    def ratio(self, other):
        return self.median("service") / self.median(other)

    def round_ratios(self, other):
        pairs = zip(self.sides["service"], self.sides[other])
        return [ours["calls_per_s"] / theirs["calls_per_s"] for ours, theirs in pairs]

    def to_json(self):
        return dataclasses.asdict(self)


def find_sides(build_dir):
    weft = str(build_dir / "bench" / "weft_echo")
    grpc = str(build_dir / "bench" / "grpc_echo")
    if not os.access(weft, os.X_OK):
        raise Failure(f"there is no {weft}; build it first: ./dev build (it needs libprotobuf-dev)")
    if not os.access(grpc, os.X_OK):
        raise Failure(f"there is no {grpc}; build it with libgrpc++-dev and protobuf-compiler-grpc installed")
    return [
        Side("service", weft, "service", "tcp://127.0.0.1:0"),
        Side("function", weft, "function", "tcp://127.0.0.1:0"),
        Side("coroutine", weft, "coroutine", "tcp://127.0.0.1:0"),
        Side("gRPC", grpc, "-", "127.0.0.1:0"),
    ]


def cells_of(depths):
    """Each depth on one connection, and on one connection for each call in flight."""
    return [Cell(depth, 1) for depth in depths] + [Cell(depth, depth) for depth in depths if depth > 1]


def run_cells(sides, cells, arguments):
    by_name = {side.name: side for side in sides}

    def measure(cell, name):
        return _measure(by_name[name], cell, arguments)

    def label(cell):
        return f"{cell.depth} in flight on {cell.connections},"

    return [CellResult(cell, {name: [said for said, _ in rounds] for name, rounds in found.items()},
                       max(share for rounds in found.values() for _, share in rounds))
            for cell, found in interleaved(cells, lambda _: list(by_name), arguments.rounds, measure, label)]


def _on(cpu, command):
    return ["taskset", "-c", str(cpu), *command]


def _measure(side, cell, arguments):
    before, ours_before = CpuUse.now(), _children_seconds()
    server = Server(_on(SERVER_CPU, [side.program, "server", side.address, side.kind]))
    try:
        words = [side.program, "client", server.url, side.kind, str(cell.depth), str(cell.connections),
                 str(arguments.seconds)]
        said = json.loads(output_of(_on(CLIENT_CPU, words), side.name, RUN_SECONDS))
    finally:
        server.stop()
    if said["failed"]:
        raise Failure(f"{said['failed']} calls failed: {' '.join(words)}")
    return said, CpuUse.now().shares_since(before, _children_seconds() - ours_before)[0]


def _children_seconds():
    times = os.times()
    return times.children_user + times.children_system
