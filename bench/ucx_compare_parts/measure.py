# SPDX-License-Identifier: Apache-2.0
"""Runs the servers and clients, interleaved, and keeps what they said."""
import dataclasses
import json
import os
import shutil
import statistics

from compare_parts.failure import Failure
from compare_parts.machine import CLIENT_CPU, SERVER_CPU, CpuUse
from compare_parts.programs import OneClientServer, free_port, listening_url, output_of
from compare_parts.rounds import interleaved

from .cells import Cell

RUN_SECONDS = 60
SIDES = ("theirs", "ours", "c")


@dataclasses.dataclass
class Measurement:
    value: float
    steal: float


@dataclasses.dataclass
class CellResult:
    cell: Cell
    sides: dict  # of a list of Measurements, one per round

    def median(self, side):
        return statistics.median(m.value for m in self.sides[side])

    def ratio(self, side):
        return self._faster(self.median(side), self.median("theirs"))

    def round_ratios(self, side):
        pairs = zip(self.sides[side], self.sides["theirs"])
        return [self._faster(ours.value, theirs.value) for ours, theirs in pairs]

    def worst_steal(self):
        return max(m.steal for side in self.sides.values() for m in side)

    def to_json(self):
        ratios = {side: self.ratio(side) for side in SIDES[1:]}
        return dataclasses.asdict(self) | {"name": self.cell.name, "ratios": ratios}

    def _faster(self, ours, theirs):
        return theirs / ours if self.cell.latency else ours / theirs


def find_program(build_dir):
    if not shutil.which("ucx_perftest"):
        raise Failure("ucx_perftest is not installed; on Debian it is in ucx-utils")
    program = build_dir / "bench" / "ucx_pingpong"
    if not os.access(program, os.X_OK):
        raise Failure(f"there is no {program}; build it first: ./dev build (it needs libucx-dev)")
    return program


def run_cells(program, cells, arguments):
    def measure(cell, side):
        return _measure(program, side, cell, arguments)

    def label(cell):
        return f"{cell.transports} {cell.name}"

    return [CellResult(cell, found)
            for cell, found in interleaved(cells, lambda _: SIDES, arguments.rounds, measure, label)]


def _measure(program, side, cell, arguments):
    run = Run(cell, arguments)
    before = CpuUse.now()
    try:
        value = run.perftest() if side == "theirs" else run.pingpong(program, "weft" if side == "ours" else "c")
    finally:
        run.stop()
    _, steal = CpuUse.now().shares_since(before, 0)
    return Measurement(value, steal)


class Run:
    """One server and one client."""

    def __init__(self, cell, arguments):
        self.cell = cell
        self.before = ["chrt", "--fifo", "10"] if arguments.real_time else []
        self.iterations = cell.iterations(arguments.seconds)
        self.warmup = max(1000, self.iterations // 10)
        self.environment = os.environ | {"UCX_TLS": cell.transports, "UCX_WARN_UNUSED_ENV_VARS": "n"}
        if "tcp" in cell.transports.split(","):
            self.environment["UCX_NET_DEVICES"] = "lo"
        self.server = None

    def pingpong(self, program, style):
        self._start_server([program, "server"])
        url = listening_url(self.server.process)
        report = json.loads(self._client([
            program, "client", "--connect", url, "--test", self.cell.test, "--style", style, "--size",
            str(self.cell.size), "--window", str(self.cell.window), "--iterations", str(self.iterations), "--warmup",
            str(self.warmup), "--json"]))
        return report["p50_us" if self.cell.latency else "per_second"]

    def perftest(self):
        port = free_port()
        common = ["-p", str(port), "-t", self.cell.theirs, "-n", str(self.iterations), "-w", str(self.warmup),
                  "-O", str(self.cell.window), "-s", str(self.cell.size)]
        self._start_server(["ucx_perftest", *common])
        self.server.wait_until_listening(port)
        # The columns: iterations, p50, average and overall latency, and two of bandwidth and message rate each.
        columns = self._client(["ucx_perftest", "127.0.0.1", *common, "-v", "-f"]).splitlines()[-1].split(",")
        return float(columns[1] if self.cell.latency else columns[7])

    def stop(self):
        if self.server:
            self.server.stop()

    def _on(self, cpu, command):
        return [*self.before, "taskset", "-c", str(cpu), *command]

    def _start_server(self, command):
        self.server = OneClientServer(self._on(SERVER_CPU, command), self.environment)

    def _client(self, command):
        return output_of(self._on(CLIENT_CPU, command), f"cell {self.cell.name}", RUN_SECONDS, self.environment)
