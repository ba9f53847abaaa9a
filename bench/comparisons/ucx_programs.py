# SPDX-License-Identifier: Apache-2.0
"""Runs ucx_perftest and our ucx_pingpong."""
import json
import os
import shutil

from .failure import Failure
from .machine import CLIENT_CPU, SERVER_CPU, CpuUse
from .programs import OneClientServer, free_port, listening_url, output_of

RUN_SECONDS = 60


def find_program(build_dir):
    if not shutil.which("ucx_perftest"):
        raise Failure("ucx_perftest is not installed; on Debian it is in ucx-utils")
    program = build_dir / "bench" / "ucx_pingpong"
    if not os.access(program, os.X_OK):
        raise Failure(f"there is no {program}; build it first: ./dev build (it needs libucx-dev)")
    return program


def measure(program, side, cell, arguments):
    """`theirs`: by ucx_perftest; `ours`: by the binding; `c`: by UCX's calls alone."""
    run = Run(cell, arguments)
    before = CpuUse.now()
    try:
        value = run.perftest() if side == "theirs" else run.pingpong(program, "weft" if side == "ours" else "c")
    finally:
        run.stop()
    _, steal = CpuUse.now().shares_since(before, 0)
    return {"value": value, "steal": steal}


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
