# SPDX-License-Identifier: Apache-2.0
"""Runs the servers and clients, interleaved, and keeps what they said."""
import dataclasses
import json
import os
import select
import statistics
import subprocess

from compare_parts.failure import Failure
from compare_parts.machine import CpuUse
from compare_parts.progress import Progress

SERVER_CPU = 0
CLIENT_CPU = 1
START_SECONDS = 10
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
    if (os.cpu_count() or 1) < 2:
        raise Failure("this needs two processors, one for the server and one for the client")
    results = []
    with Progress(len(cells) * len(sides) * arguments.rounds) as progress:
        for cell in cells:
            found = {side.name: [] for side in sides}
            others = 0.0
            for number in range(arguments.rounds):
                # Who goes first changes from round to round: nobody always follows the same.
                for side in sides if number % 2 == 0 else reversed(sides):
                    progress.step(f"{side.name}, {cell.depth} in flight on {cell.connections}, round {number + 1}")
                    said, share = _measure(side, cell, arguments)
                    found[side.name].append(said)
                    others = max(others, share)
            results.append(CellResult(cell, found, others))
    return results


def _pinned(cpu):
    return lambda: os.sched_setaffinity(0, {cpu})


def _measure(side, cell, arguments):
    before, ours_before = CpuUse.now(), _children_seconds()
    server = subprocess.Popen([side.program, "server", side.address, side.kind], stdout=subprocess.PIPE, text=True,
                              preexec_fn=_pinned(SERVER_CPU))
    try:
        url = _url_of(server, side)
        words = [side.program, "client", url, side.kind, str(cell.depth), str(cell.connections), str(arguments.seconds)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=RUN_SECONDS, preexec_fn=_pinned(CLIENT_CPU))
    finally:
        server.terminate()
        server.wait()
    if done.returncode:
        raise Failure(f"{' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}")
    said = json.loads(done.stdout)
    if said["failed"]:
        raise Failure(f"{said['failed']} calls failed: {' '.join(words)}")
    return said, CpuUse.now().shares_since(before, _children_seconds() - ours_before)[0]


def _children_seconds():
    times = os.times()
    return times.children_user + times.children_system


def _url_of(server, side):
    ready, _, _ = select.select([server.stdout], [], [], START_SECONDS)
    line = server.stdout.readline().strip() if ready else ""
    prefix = "listening on "
    if not line.startswith(prefix):
        raise Failure(f"the server of {side.name} did not say where it listens, but: {line!r}")
    return line[len(prefix):]
