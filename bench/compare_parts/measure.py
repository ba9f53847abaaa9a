# SPDX-License-Identifier: Apache-2.0
"""Runs the servers and clients, interleaved, and keeps what they said."""
import dataclasses
import os
import statistics
import subprocess

from .cells import Cell
from .failure import Failure
from .machine import CLIENT_CPU, SERVER_CPU, CpuUse
from .programs import Server, report_of
from .rounds import interleaved


@dataclasses.dataclass
class Measurement:
    report: dict
    others: float
    steal: float


@dataclasses.dataclass
class CellResult:
    cell: Cell
    limit: list  # one Measurement per round
    ours: list

    @staticmethod
    def median(measurements, key):
        return statistics.median(m.report[key] for m in measurements)

    def ratio(self):
        return self.median(self.ours, self.cell.metric) / self.median(self.limit, self.cell.metric)

    def round_ratios(self):
        key = self.cell.metric
        return [ours.report[key] / limit.report[key] for limit, ours in zip(self.limit, self.ours)]

    def errors(self):
        return sum(m.report["errors"] for m in self.limit + self.ours)

    def worst_share(self, name):
        return max(getattr(m, name) for m in self.limit + self.ours)

    def to_json(self):
        record = dataclasses.asdict(self)
        if self.ours:
            record |= {"ratio": self.ratio(), "round_ratios": self.round_ratios()}
        return record


def find_tool(build_dir):
    for tool in (build_dir / "tools" / "weft", build_dir / "bin" / "weft", build_dir / "weft"):
        if tool.is_file() and os.access(tool, os.X_OK):
            return tool
    raise Failure(f"there is no weft in {build_dir}; build it first: ./dev build")


def require_commands(weft, sides):
    text = subprocess.run([weft, "--help"], capture_output=True, text=True).stdout
    commands = [line.split()[0] for line in text.splitlines() if line.startswith("  ") and line.split()]
    for side in sides:
        if side not in commands:
            raise Failure(f"{weft} has no `{side}` command; build a newer one, or use --limit-only "
                          "to measure the limit alone")


def run_cells(weft, cells, sides, arguments):
    def measure(cell, side):
        return _measure(weft, side, cell, arguments)

    return [CellResult(cell, found.get("raw", []), found.get("perf", []))
            for cell, found in interleaved(cells, lambda _: sides, arguments.rounds, measure)]


def _measure(weft, side, cell, arguments):
    before = CpuUse.now()
    server = Server([weft, side, "server", "--listen", "tcp://127.0.0.1:0", "--cpus", str(SERVER_CPU),
                     "--mode", cell.mode, "--congestion", arguments.congestion])
    try:
        command = _client_command(weft, side, cell, arguments, server.url)
        report, client_cpu = report_of(command, f"cell {cell.name}, {side}")
    finally:
        server_cpu = server.stop()
    if not report[cell.metric]:
        raise Failure(f"cell {cell.name}, {side}: the client finished no call; use a longer --seconds")
    others, steal = CpuUse.now().shares_since(before, client_cpu + server_cpu)
    return Measurement(report, others, steal)


def _client_command(weft, side, cell, arguments, url):
    command = [weft, side, "client", "--connect", url, "--cpus", str(CLIENT_CPU), "--mode", cell.mode,
               "--congestion", arguments.congestion, "--size", str(cell.size), "--depth", str(cell.depth),
               "--connections", str(cell.connections), "--seconds", str(arguments.seconds),
               "--warmup", str(arguments.warmup), "--json"]
    return [*command, "--attachment"] if cell.attachment else command
