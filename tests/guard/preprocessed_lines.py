# SPDX-License-Identifier: Apache-2.0
"""Counts the lines that a compiler reads for a file with one handler, headers included, and holds them below a limit.

preprocessed_lines.py <compiler> <source> <include folder>...

Compile time grows with these lines, and lines repeat exactly where times do not. The limit belongs to the standard
library of one compiler; with another one the check is skipped. A change that needs more lines raises the limit and
says in its commit why.
"""

import subprocess
import sys

SKIPPED = 77
COMPILER = "g++ 12"
LINES_MAX = 86_500


def version_of(compiler: str) -> str:
    macros = subprocess.run([compiler, "-dM", "-E", "-x", "c++", "/dev/null"], check=True, text=True, stdout=subprocess.PIPE).stdout
    values = dict(line.split(" ", 2)[1:] for line in macros.splitlines() if line.count(" ") >= 2)
    return "clang" if "__clang__" in values else f"g++ {values['__GNUC__']}"


def main(compiler: str, source: str, *folders: str) -> int:
    version = version_of(compiler)
    if version != COMPILER:
        print(f"the limit is one of {COMPILER}, and this is {version}")
        return SKIPPED
    command = [compiler, "-std=c++20", "-O2", "-E", "-P", *(f"-I{folder}" for folder in folders), source]
    text = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
    lines = sum(1 for line in text.splitlines() if line.strip())
    print(f"{source}: {lines} lines, and at most {LINES_MAX} are allowed")
    return 0 if lines <= LINES_MAX else 1


sys.exit(main(*sys.argv[1:]))
