# SPDX-License-Identifier: Apache-2.0
"""Files that must not compile, each for the reason that it names in a line of its own.

check_compile_fail.py <file>... -- <compiler> [compiler options]

`// EXPECT: <regular expression>` is searched for in what the compiler says of the file. With
WEFT_COMPILE_FAIL_CONTROL defined the same file must compile, so that it fails for its own reason and not for a
missing header. What the compiler says of one file has at most LINES_MAX lines, or as many as the file allows by `// LINES: <number>`, which
is for the compiler's own words about a type that cannot be copied or awaited.

All files are compiled at once, each in a namespace of its own behind the headers of all, because reading the headers
takes most of the time. A file of which that says nothing expected is compiled once more, alone: the compiler
reports an error of a template once, although several files make it, and an error may hide another.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

EXPECTED = re.compile(r"^// EXPECT: (.+)$", re.MULTILINE)
INCLUDE = re.compile(r"^#include [<\"].*$", re.MULTILINE)
ALLOWED = re.compile(r"^// LINES: (\d+)$", re.MULTILINE)
LINES_MAX = 30
CONTROL = "-DWEFT_COMPILE_FAIL_CONTROL"
# The first line of what the compiler says of one mistake, or of where it was when it saw it.
CONTEXT = re.compile(r"^(In file included from |\S+: In |\S+: At )")
MISTAKE = re.compile(r"^\S+: (error|warning|fatal error): ")


def joined(sources: list[pathlib.Path]) -> str:
    """One source that has all of them, in namespaces that are numbered."""
    headers = sorted({line for source in sources for line in INCLUDE.findall(source.read_text())})
    spaces = [f'namespace file_{number} {{\n#include "{source}"\n}}' for number, source in enumerate(sources)]
    return "\n".join([*headers, *spaces, ""])


def compiled(command: list[str], source: pathlib.Path) -> tuple[bool, str]:
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout + done.stderr


def mistakes(text: str) -> list[str]:
    """What the compiler said, cut into one text for each mistake; what says where it was comes before it."""
    texts: list[list[str]] = [[]]
    has_mistake = False
    for line in text.splitlines():
        is_mistake = MISTAKE.match(line) is not None
        if has_mistake and (is_mistake or CONTEXT.match(line)):
            texts.append([])
            has_mistake = False
        texts[-1].append(line)
        has_mistake = has_mistake or is_mistake
    return ["\n".join(lines) for lines in texts]


def too_long(source: pathlib.Path, texts: list[str]) -> str:
    """Complaint about an answer of the compiler that nobody reads to its end; empty when there is none."""
    allowed = ALLOWED.search(source.read_text())
    most = int(allowed[1]) if allowed else LINES_MAX
    lines = sum(len(text.splitlines()) for text in texts)
    return f"{source}: the compiler says {lines} lines, and at most {most} are wanted" if lines > most else ""


def why_not_as_expected(command: list[str], source: pathlib.Path, expected: str) -> str:
    """Compiles `source` alone; empty when it fails as it says."""
    done, text = compiled(command, source)
    if done:
        return f"{source} compiles, and must not"
    if not re.search(expected, text):
        return f"{source} fails, but says nothing like /{expected}/:\n{text}"
    return too_long(source, [text])


def failures(sources: list[pathlib.Path], command: list[str]) -> list[str]:
    """What is wrong with `sources`; prints how many had to be compiled alone."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        whole = pathlib.Path(folder, "joined.cpp")
        whole.write_text(joined(sources))
        done, text = compiled([*command, CONTROL], whole)
        if not done:
            found.append(f"with {CONTROL} these files must compile, and do not:\n{text}")
        said = mistakes(compiled(command, whole)[1])
    alone = 0
    for source in sources:
        expected = EXPECTED.search(source.read_text())
        if not expected:
            found.append(f"{source}: the line `// EXPECT: <regular expression>` is missing")
        elif not any(str(source) in text and re.search(expected[1], text) for text in said):
            alone += 1
            found.append(why_not_as_expected(command, source, expected[1]))
        else:
            found.append(too_long(source, [text for text in said if str(source) in text]))
    found = [failure for failure in found if failure]
    print(f"{len(sources)} files, {alone} of them compiled alone, {len(found)} failures")
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
