# SPDX-License-Identifier: Apache-2.0
"""A file that must not compile, for the reason it names in its first line after the licence.

check_compile_fail.py <file> <compiler> [compiler options]

`// EXPECT: <regular expression>` is searched for in what the compiler says. With WEFT_COMPILE_FAIL_CONTROL defined
the same file must compile, so that it fails for its own reason and not for a missing header.
"""

import pathlib
import re
import subprocess
import sys


def compiles(command: list[str]) -> tuple[bool, str]:
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


def main(source: str, compiler: str, *options: str) -> int:
    expected = re.search(r"^// EXPECT: (.+)$", pathlib.Path(source).read_text(), re.MULTILINE)
    if not expected:
        print(f"{source}: the line `// EXPECT: <regular expression>` is missing")
        return 1
    command = [compiler, "-std=c++20", "-fsyntax-only", *options, source]
    compiled, text = compiles([*command, "-DWEFT_COMPILE_FAIL_CONTROL"])
    if not compiled:
        print(f"{source} does not compile with WEFT_COMPILE_FAIL_CONTROL either:\n{text}")
        return 1
    compiled, text = compiles(command)
    if compiled:
        print(f"{source} compiles, and must not")
        return 1
    if not re.search(expected.group(1), text):
        print(f"{source} fails, but says nothing like /{expected.group(1)}/:\n{text}")
        return 1
    return 0


sys.exit(main(*sys.argv[1:]))
