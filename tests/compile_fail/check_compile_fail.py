# SPDX-License-Identifier: Apache-2.0
"""Checks files that must not compile, each for the reason that the file names.

check_compile_fail.py <file>... -- <compiler> [compiler options]

- `// EXPECT: <regular expression>` matches what the compiler prints. The first error matches it too, or has words of ours.
- `// LATER: <reason>` in a file allows another first error, where the language itself speaks first.
- The compiler prints at most LINES_MAX lines for the file.
- With WEFT_COMPILE_FAIL_CONTROL defined the file compiles, so it does not fail for a missing header.

Each file is compiled alone, as by a user: in a joined source the compiler reports an error of a template once. The headers
of all files are compiled ahead, because reading them takes most of the time. Headers compiled ahead may change the lines
that name included files. A file near the limit is therefore compiled once more without them. The control is one joined
source, with a namespace for each file.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

EXPECTED = re.compile(r"^// EXPECT: (.+)$", re.MULTILINE)
LATER = re.compile(r"^// LATER: .+$", re.MULTILINE)
INCLUDE = re.compile(r"^#include [<\"].*$", re.MULTILINE)
ERROR = re.compile(r"^.*\b(?:error|fatal error): .*$", re.MULTILINE)
# An error with words of ours, beside which the compiler prints the types in notes.
OURS = re.compile(r"static assertion failed.*weft cannot")
LINES_MAX = 30
# Most lines by which headers compiled ahead change a count.
NEAR = 5
CONTROL = "-DWEFT_COMPILE_FAIL_CONTROL"


def joined(sources: list[pathlib.Path]) -> str:
    """One source that has all of them, in namespaces that are numbered."""
    spaces = [f'namespace file_{number} {{\n#include "{source}"\n}}' for number, source in enumerate(sources)]
    return "\n".join([*spaces, ""])


def compiled(command: list[str], source: pathlib.Path) -> tuple[bool, str]:
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout + done.stderr


def compile_ahead(command: list[str], sources: list[pathlib.Path], folder: str) -> list[str]:
    """Compiles the headers of all sources; returns the options that use them."""
    headers = pathlib.Path(folder, "headers.hpp")
    headers.write_text("\n".join(sorted({line for source in sources for line in INCLUDE.findall(source.read_text())})) + "\n")
    result = headers.with_suffix(".hpp.gch")  # g++ and clang find it beside the header
    making = [option for option in command if option != "-fsyntax-only"]
    subprocess.run([*making, "-x", "c++-header", str(headers), "-o", str(result)], check=True)
    return ["-include", str(headers)]


def why_not_as_expected(command: list[str], ahead: list[str], source: pathlib.Path) -> str:
    """Compiles `source` alone; empty when it fails as it says."""
    text = source.read_text()
    expected = EXPECTED.search(text)
    if not expected:
        return f"{source}: the line `// EXPECT: <regular expression>` is missing"
    done, said = compiled([*command, *ahead], source)
    if done:
        return f"{source} compiles, and must not"
    if not re.search(expected[1], said):
        return f"{source} fails, but says nothing like /{expected[1]}/:\n{said}"
    first = ERROR.search(said)
    if not LATER.search(text) and not (first and (re.search(expected[1], first[0]) or OURS.search(first[0]))):
        return f"{source}: the first error is not /{expected[1]}/:\n{said}"
    if len(said.splitlines()) > LINES_MAX - NEAR:
        said = compiled(command, source)[1]
    lines = len(said.splitlines())
    return f"{source}: the compiler says {lines} lines, and at most {LINES_MAX} are wanted" if lines > LINES_MAX else ""


def failures(sources: list[pathlib.Path], command: list[str]) -> list[str]:
    """What is wrong with `sources`."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        ahead = compile_ahead(command, sources, folder)
        whole = pathlib.Path(folder, "joined.cpp")
        whole.write_text(joined(sources))
        done, text = compiled([*command, *ahead, CONTROL], whole)
        if not done:
            found.append(f"with {CONTROL} these files must compile, and do not:\n{text}")
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
            found += threads.map(lambda source: why_not_as_expected(command, ahead, source), sources)
    found = [failure for failure in found if failure]
    print(f"{len(sources)} files, {len(found)} failures")
    return found


def main(*arguments: str) -> int:
    split = arguments.index("--")
    sources = [pathlib.Path(name).resolve() for name in arguments[:split]]
    compiler, *options = arguments[split + 1 :]
    found = failures(sources, [compiler, "-std=c++20", "-fsyntax-only", *options])
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
