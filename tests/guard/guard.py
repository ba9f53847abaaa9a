# SPDX-License-Identifier: Apache-2.0
"""Counts what a small call and an item of a stream cost and holds it against baseline.json, without a clock.

Counted are the instructions of client and server, the system calls and the heap allocations of one call with 128
bytes, over tcp and memory, with 1, 16 and 256 in flight, and over a pool of one connection with 256; the same of a call
with an attachment of 128 bytes that comes back, over tcp with 1 and 256; and the same of one item of 128 bytes from the
server and from the client, on one stream. More than 3 % more instructions fail, and so does any system call or
allocation more. What is more than 3 % better passes, and is worth accepting.
"""

import argparse
import json
import pathlib
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping

import counting
from verdict import judge, lowest, title

BASELINE = pathlib.Path(__file__).with_name("baseline.json")
# A busy machine can wake a side twice for what is one turn otherwise; a count that is worse is tried again.
TRIES = 3
# ctest takes it for a test that was skipped.
SKIPPED = 77

Numbers = Mapping[str, float]
Count = Callable[[str], Numbers]


def count_until_good(cell: str, was: Numbers, count: Count) -> Numbers:
    """Counts a cell again while it is worse than the baseline; the lowest counts are the result."""
    now = count(cell)
    for _ in range(TRIES - 1):
        if not judge(cell, was, now).worse:
            break
        now = lowest(now, count(cell))
    return now


def table(cells: Mapping[str, Numbers]) -> str:
    lines = []
    for cell, numbers in cells.items():
        lines.append(f"{title(cell):>24}: " + ", ".join(f"{value:g} {name}" for name, value in numbers.items()))
    return "\n".join(lines)


def check(baseline: Mapping[str, Numbers], count: Count, program: str) -> int:
    """Counts every cell and says what changed. The result is the exit code."""
    cells = {cell: count_until_good(cell, baseline.get(cell, {}), count) for cell in counting.CELLS}
    print(table(cells))
    worse, better = [], []
    for cell, now in cells.items():
        verdict = judge(cell, baseline.get(cell, {}), now)
        worse += [(cell, text) for text in verdict.worse]
        better += verdict.better
    for text in better:
        print(f"better: {text}")
    if better:
        print("./dev guard --accept writes the better numbers down, so that they stay.")
    for _, text in worse:
        print(f"WORSE: {text}")
    if not worse:
        return 0
    cell = worse[0][0]
    function = next(iter(counting.sides(cell).values()))
    line = counting.command(pathlib.Path(program), cell, function, counting.counted(cell), "callgrind.out")
    line.remove("--trace-syscalls=yes")
    print(
        "This shows which functions it is; run it before your change as well, and compare:\n"
        f"  {shlex.join(line)} && callgrind_annotate callgrind.out\n"
        "Mend it. If the cost is wanted, ./dev guard --accept writes it down, and the commit says why."
    )
    return 1


def accept(count: Count, compiler: str, path: pathlib.Path) -> int:
    """Writes what is counted now as the new baseline."""
    cells = {cell: lowest(count(cell), count(cell)) for cell in counting.CELLS}
    path.write_text(json.dumps({"compiler": compiler, "cells": cells}, indent=2) + "\n")
    print(table(cells))
    print(f"{path.name} is written; tests/docs/check_docs.py numbers says which pages state what it said before.")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev guard", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path, nargs="?", help="guard_small_calls; ./dev guard names it")
    parser.add_argument("--accept", action="store_true", help="write what is counted now into baseline.json")
    options = parser.parse_args()
    if options.program is None:
        parser.error("the program of small calls is missing")
    if shutil.which("valgrind") is None:
        print("Skipped: valgrind is not installed; ./dev setup test installs it.")
        return SKIPPED
    compiler = counting.compiler(options.program)

    def count(cell: str) -> Numbers:
        return counting.count(options.program, cell)

    try:
        if options.accept:
            return accept(count, compiler, BASELINE)
        baseline = json.loads(BASELINE.read_text())
        if baseline["compiler"] != compiler:
            print(f"Skipped: the baseline was counted with '{baseline['compiler']}', this program was built with '{compiler}'.")
            return SKIPPED
        return check(baseline["cells"], count, str(options.program))
    except ValueError as error:
        print(f"nothing could be counted: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
