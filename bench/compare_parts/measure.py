# SPDX-License-Identifier: Apache-2.0
"""Runs the servers and clients, interleaved, and keeps what they said."""
import dataclasses
import json
import os
import pathlib
import select
import signal
import statistics
import subprocess

from .cells import Cell
from .failure import Failure
from .machine import CpuUse
from .progress import Progress

SERVER_CPU = 0
CLIENT_CPU = 1
START_SECONDS = 10


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
    if (os.cpu_count() or 1) < 2:
        raise Failure("this needs two processors, one for the server and one for the client")
    steps = len(cells) * len(sides) * arguments.rounds
    results = []
    with Progress(steps) as progress:
        for cell in cells:
            found = {side: [] for side in ("raw", "perf")}
            for number in range(arguments.rounds):
                # Who goes first changes from round to round: neither always follows the other.
                for side in sides if number % 2 == 0 else reversed(sides):
                    progress.step(f"{cell.name} {side}, round {number + 1} of {arguments.rounds}")
                    found[side].append(_measure(weft, side, cell, arguments))
            results.append(CellResult(cell, found["raw"], found["perf"]))
    return results


def _measure(weft, side, cell, arguments):
    before = CpuUse.now()
    server = _Server(weft, side, cell, arguments)
    try:
        report, client_cpu = _run_client(weft, side, cell, arguments, server.url)
    finally:
        server_cpu = server.stop()
    others, steal = CpuUse.now().shares_since(before, client_cpu + server_cpu)
    return Measurement(report, others, steal)


class _Server:
    """A fresh server: one that spins must be gone before anything else is measured."""

    def __init__(self, weft, side, cell, arguments):
        command = [weft, side, "server", "--listen", "tcp://127.0.0.1:0", "--cpus", str(SERVER_CPU),
                   "--mode", cell.mode, "--congestion", arguments.congestion]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            self.url = self._read_url()
        except BaseException:
            self.stop()
            raise

    def _read_url(self):
        ready, _, _ = select.select([self.process.stdout], [], [], START_SECONDS)
        line = self.process.stdout.readline().strip() if ready else ""
        prefix = "listening on "
        if not line.startswith(prefix):
            self.process.kill()
            raise Failure("the server did not start: " + (self.process.stderr.read().strip() or line or "no word"))
        return line[len(prefix):]

    def stop(self):
        """Ends the server and returns the processor time it used, in seconds."""
        self.process.send_signal(signal.SIGTERM)
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.process.stdout.close()
        self.process.stderr.close()
        return usage.ru_utime + usage.ru_stime


def _run_client(weft, side, cell, arguments, url):
    command = [weft, side, "client", "--connect", url, "--cpus", str(CLIENT_CPU), "--mode", cell.mode,
               "--congestion", arguments.congestion, "--size", str(cell.size), "--depth", str(cell.depth),
               "--connections", str(cell.connections), "--seconds", str(arguments.seconds),
               "--warmup", str(arguments.warmup), "--json"]
    if cell.attachment:
        command.append("--attachment")
    client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        output = client.stdout.read()
        complaint = client.stderr.read().strip()
    except BaseException:
        client.kill()
        raise
    finally:
        _, status, usage = os.wait4(client.pid, 0)
        client.returncode = os.waitstatus_to_exitcode(status)
        client.stdout.close()
        client.stderr.close()
    if client.returncode != 0:
        raise Failure(f"cell {cell.name}: `weft {side} client` failed: {complaint or client.returncode}")
    report = json.loads(output)
    if not report[cell.metric]:
        raise Failure(f"cell {cell.name}: `weft {side} client` finished no call; use a longer --seconds")
    return report, usage.ru_utime + usage.ru_stime
