# SPDX-License-Identifier: Apache-2.0
"""What a reader must know of the machine to judge a figure."""
import dataclasses
import datetime
import os
import pathlib
import platform
import subprocess

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
SERVER_CPU = 0
CLIENT_CPU = 1


def facts(arguments):
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "commit": _commit(),
        "rounds": arguments.rounds,
        "seconds": arguments.seconds,
    }


def _cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _commit():
    def git(*words):
        here = pathlib.Path(__file__).parent
        return subprocess.run(["git", "-C", here, *words], capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = " with changes" if git("status", "--porcelain", "--untracked-files=no") else ""
        return git("rev-parse", "--short", "HEAD") + changed
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


@dataclasses.dataclass
class CpuUse:
    """Seconds of processor time that were spent, over all processors."""
    at: float
    processes: float
    steal: float

    @classmethod
    def now(cls):
        # cpu user nice system idle iowait irq softirq steal ...
        fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
        uptime = float(pathlib.Path("/proc/uptime").read_text().split()[0])
        return cls(uptime, sum(fields[0:3]) / TICKS_PER_SECOND, fields[7] / TICKS_PER_SECOND)

    def shares_since(self, before, ours):
        """(others, steal): what other processes and the hypervisor took, as shares of all processors' time,
        when our own processes used `ours` seconds."""
        capacity = max(self.at - before.at, 0.01) * os.cpu_count()
        others = max(self.processes - before.processes - ours, 0)
        return others / capacity, max(self.steal - before.steal, 0) / capacity
