# SPDX-License-Identifier: Apache-2.0
"""Each public header names an option that the compiler lacks, in a few lines, and first.

needs.py <include folder> <compiler>...
"""

import pathlib
import subprocess
import sys

LINES_MAX = 20
FIRST = '#include "weft/detail/base/requirements.hpp"'
# Options of the compiler, and what the first error says.
LACKS = {
    ("-std=c++17",): "Weft needs C++20",
    ("-std=c++20", "-fno-exceptions"): "Weft needs exceptions",
    ("-std=c++20", "-fno-rtti"): "Weft needs the types of objects at run time",
}
# A program that was compiled with it does not link with the library, and is told why.
DEBUG = "compiled_with_GLIBCXX_DEBUG_as_the_weft_library_was_not"


def compiled(command: list[str], header: str, *options: str) -> str:
    source = f'#include "weft/{header}"\n'
    done = subprocess.run([*command, *options, "-x", "c++", "-"], input=source, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def problems(include: str, compiler: str) -> list[str]:
    found = []
    command = [compiler, f"-I{include}"]
    for options, words in LACKS.items():
        text = compiled(command, "status.hpp", *options, "-fsyntax-only")
        errors = [line for line in text.splitlines() if "error:" in line]
        if not errors or words not in errors[0] or text.count("\n") > LINES_MAX:
            found.append(f"{compiler} {' '.join(options)} says\n{text[:2000]}")
    assembly = compiled(command, "status.hpp", "-std=c++20", "-D_GLIBCXX_DEBUG", "-S", "-o", "-")
    if DEBUG not in assembly:
        found.append(f"{compiler}: nothing of a program with _GLIBCXX_DEBUG asks the library for {DEBUG}")
    return found


def headers_without(include: str) -> list[str]:
    """Headers that include something else first."""
    headers = sorted(pathlib.Path(include, "weft").glob("*.hpp"))
    return [f"weft/{path.name} does not begin with {FIRST}" for path in headers if f"#pragma once\n\n{FIRST}\n" not in path.read_text()]


def main(include: str, *compilers: str) -> int:
    found = headers_without(include)
    found += [problem for compiler in dict.fromkeys(compilers) for problem in problems(include, compiler)]
    print("\n".join(found) or f"{len(compilers)} compilers were told what they lack")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
