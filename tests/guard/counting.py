# SPDX-License-Identifier: Apache-2.0
"""Runs the program of small calls under valgrind and counts what one call costs, or one item of a stream.

Each number is the difference between a run and one of twice as many calls, so what a program does once is in none.
"""

import json
import os
import pathlib
import re
import subprocess
import tempfile
from collections.abc import Mapping
from typing import NamedTuple

# 256 divides it, so both runs of a cell end in the same phase of their last turn.
CALLS = 4096
# Of streams, whose turns are longer: what the last one has begun is a small part then.
ITEMS = 131072
TRANSPORTS = ("tcp", "memory")
DEPTHS = (1, 16, 256)
CELLS = [f"{transport} {depth}" for transport in TRANSPORTS for depth in DEPTHS] + ["tcp-pool 256", "memory-pool 256"]
# With a short attachment there and back.
CELLS += ["tcp-attached 1", "tcp-attached 256"]
# Items from the server, and from the client, on one stream.
CELLS += ["tcp-down 1", "tcp-up 1"]
# With ServerOptions::call_times, which the other cells switch off.
CELLS += ["tcp-timed 1", "tcp-timed 256"]

# The C library chooses memcpy and its like by the processor; without these features each one gets the same choice.
PLAIN_PROCESSOR = "glibc.cpu.hwcaps=" + ",".join(
    f"-{feature}" for feature in ("AVX512VL", "AVX512F", "AVX2", "AVX", "ERMS", "FSRM", "BMI2", "SSSE3", "SSE4_1", "SSE4_2")
)
COLLECTED = re.compile(r"^==\d+== Collected : (\d+)", re.MULTILINE)
SYSTEM_CALL = re.compile(r"^SYSCALL\[\d+,\d+\]\( *\d+\) sys_(\w+)", re.MULTILINE)
# Outside valgrind the clock is read without entering the kernel.
NO_SYSTEM_CALLS = {"clock_gettime", "gettimeofday", "time"}
SECONDS_MAX = 60


class Run(NamedTuple):
    instructions: int
    system_calls: int
    allocations: int


def is_of_items(cell: str) -> bool:
    return cell.split()[0].endswith(("-down", "-up"))


def counted(cell: str) -> int:
    """How many calls or items the shorter run of a cell has."""
    return ITEMS if is_of_items(cell) else CALLS


def sides(cell: str) -> dict[str, str]:
    """The number's name and the function of small_calls.cpp below which its instructions are executed."""
    if cell.startswith("memory"):
        return {"instructions of both sides": "guard_turn_of_client"}
    return {"instructions of the client": "guard_turn_of_client", "instructions of the server": "guard_turn_of_server"}


def command(program: pathlib.Path, cell: str, function: str, calls: int, output: str) -> list[str]:
    return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}", f"--toggle-collect={function}",
            "--trace-syscalls=yes", str(program), *cell.split(), str(calls)]  # fmt: skip


def environment() -> Mapping[str, str]:
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "GLIBC_TUNABLES": PLAIN_PROCESSOR}


def read_run(log: str, output: str) -> Run:
    """Takes the numbers from what valgrind wrote into its log and the program into its output."""
    collected = COLLECTED.search(log)
    if collected is None:
        raise ValueError(f"valgrind's log has no line of what was collected:\n{log[-2000:]}")
    system_calls = sum(name not in NO_SYSTEM_CALLS for name in SYSTEM_CALL.findall(log))
    return Run(int(collected[1]), system_calls, json.loads(output)["allocations"])


def run(program: pathlib.Path, cell: str, function: str, calls: int) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log")
        line = command(program, cell, function, calls, str(pathlib.Path(folder, "out")))
        line.insert(1, f"--log-file={log}")
        done = subprocess.run(line, capture_output=True, text=True, env=environment(), timeout=SECONDS_MAX, check=False)
        if done.returncode != 0:
            raise ValueError(f"{cell}: the program ended with {done.returncode}: {done.stderr.strip()}")
        return read_run(log.read_text(errors="replace"), done.stdout)


def per_call(once: Run, twice: Run, calls: int) -> Run:
    """What one call costs, rounded to what the counts can tell."""
    return Run(*(round((b - a) / calls, 4) for a, b in zip(once, twice, strict=True)))


def count(program: pathlib.Path, cell: str) -> dict[str, float]:
    """All numbers of a cell: instructions of each side, system calls and allocations of both together."""
    numbers: dict[str, float] = {}
    calls = counted(cell)
    for name, function in sides(cell).items():
        cost = per_call(run(program, cell, function, calls), run(program, cell, function, 2 * calls), calls)
        numbers[name] = cost.instructions
        numbers["system calls"] = min(numbers.get("system calls", cost.system_calls), cost.system_calls)
        numbers["allocations"] = min(numbers.get("allocations", cost.allocations), cost.allocations)
    return numbers


def compiler(program: pathlib.Path) -> str:
    """The compiler, flags and processor that the program was built with."""
    done = subprocess.run([program, "memory", "1", "1"], capture_output=True, text=True, timeout=SECONDS_MAX, check=True)
    return json.loads(done.stdout)["compiler"]
