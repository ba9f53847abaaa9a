# SPDX-License-Identifier: Apache-2.0
"""Runs the servers and clients, interleaved, and keeps what they said."""
import dataclasses
import json
import os
import select
import shutil
import socket
import statistics
import subprocess
import time

from compare_parts.failure import Failure
from compare_parts.machine import CpuUse
from compare_parts.progress import Progress

from .cells import Cell

SERVER_CPU = 0
CLIENT_CPU = 1
START_SECONDS = 10
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
    if (os.cpu_count() or 1) < 2:
        raise Failure("this needs two processors, one for the server and one for the client")
    results = []
    with Progress(len(cells) * len(SIDES) * arguments.rounds) as progress:
        for cell in cells:
            found = {side: [] for side in SIDES}
            for number in range(arguments.rounds):
                # Who goes first changes from round to round: neither always follows the other.
                for side in SIDES if number % 2 == 0 else reversed(SIDES):
                    progress.step(f"{cell.transports} {cell.name} {side}, round {number + 1} of {arguments.rounds}")
                    found[side].append(_measure(program, side, cell, arguments))
            results.append(CellResult(cell, found))
    return results


def _measure(program, side, cell, arguments):
    run = _Run(cell, arguments)
    before = CpuUse.now()
    try:
        value = run.perftest() if side == "theirs" else run.pingpong(program, "weft" if side == "ours" else "c")
    finally:
        run.stop()
    _, steal = CpuUse.now().shares_since(before, 0)
    return Measurement(value, steal)


class _Run:
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
        ready, _, _ = select.select([self.server.stdout], [], [], START_SECONDS)
        line = self.server.stdout.readline().strip() if ready else ""
        if not line.startswith("listening on "):
            raise Failure(f"the server did not start: {line}")
        report = json.loads(self._client([
            program, "client", "--connect", line.removeprefix("listening on "), "--test", self.cell.test, "--style",
            style, "--size", str(self.cell.size), "--window", str(self.cell.window), "--iterations",
            str(self.iterations), "--warmup", str(self.warmup), "--json"]))
        return report["p50_us" if self.cell.latency else "per_second"]

    def perftest(self):
        port = _free_port()
        common = ["-p", str(port), "-t", self.cell.theirs, "-n", str(self.iterations), "-w", str(self.warmup),
                  "-O", str(self.cell.window), "-s", str(self.cell.size)]
        self._start_server(["ucx_perftest", *common])
        _wait_until_listening(port)
        # The columns: iterations, p50, average and overall latency, and two of bandwidth and message rate each.
        columns = self._client(["ucx_perftest", "127.0.0.1", *common, "-v", "-f"]).splitlines()[-1].split(",")
        return float(columns[1] if self.cell.latency else columns[7])

    def stop(self):
        if self.server is None:
            return
        try:
            self.server.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
        self.server.stdout.close()

    def _on(self, cpu, command):
        return [*self.before, "taskset", "-c", str(cpu), *command]

    def _start_server(self, command):
        self.server = subprocess.Popen(self._on(SERVER_CPU, command), env=self.environment, text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def _client(self, command):
        try:
            done = subprocess.run(self._on(CLIENT_CPU, command), env=self.environment, text=True, capture_output=True,
                                  timeout=RUN_SECONDS)
        except subprocess.TimeoutExpired as late:
            raise Failure(f"cell {self.cell.name}: {command[0]} took more than {RUN_SECONDS} s") from late
        if done.returncode != 0 or not done.stdout.strip():
            raise Failure(f"cell {self.cell.name}: {command[0]} failed: {done.stderr.strip() or done.returncode}")
        return done.stdout.strip()


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_until_listening(port):
    """Without connecting, which would use up the one client that ucx_perftest serves."""
    wanted = f":{port:04X} "
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        with open("/proc/net/tcp", encoding="ascii") as sockets:
            if any(wanted in line and line.split()[3] == "0A" for line in sockets):
                return
        time.sleep(0.01)
    raise Failure("ucx_perftest did not listen")
