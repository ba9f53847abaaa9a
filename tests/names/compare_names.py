# SPDX-License-Identifier: Apache-2.0
"""Methods have the same names, ids and schemas whichever compiler made either side.

compare_names.py <include folder> <compiler> <compiler>

Compiles names.cpp with both and compares what the programs print. Ends with 77, which skips the test, where one is missing.
"""

import difflib
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).with_name("names.cpp")
SKIPPED = 77
# A program that lost its list compares nothing.
NAMES_MIN = 60


def printed(compiler: str, include: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "names")
        # Its functions are declared only.
        subprocess.run([compiler, "-std=c++20", "-O1", "-w", f"-I{include}", str(SOURCE), "-o", str(program)], check=True)
        return subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.splitlines()


def main(include: str, *compilers: str) -> int:
    for compiler in compilers:
        if shutil.which(compiler) is None:
            print(f"skipped: {compiler} is not here, so there is nothing to compare")
            return SKIPPED
    first, second = (printed(compiler, include) for compiler in compilers)
    differences = list(difflib.unified_diff(first, second, *compilers, lineterm="", n=0))
    print("\n".join(differences) or f"{len(first)} methods have the same names from {' and '.join(compilers)}")
    return 1 if differences or len(first) < NAMES_MIN else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
