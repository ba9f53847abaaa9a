# SPDX-License-Identifier: Apache-2.0
"""docs/capabilities.md lists each capability with the tests that name it.

capabilities.py [--write]   says where page and tests differ, or writes the page's lists of tests anew.

A test names a capability by its code, such as CR-15, in the comment at its head. A row of the page begins with the code.
"""

import pathlib
import re
import sys
from collections.abc import Iterator

from project_files import ROOT, project_files, read

PAGE = pathlib.Path("docs/capabilities.md")
CODE = re.compile(r"\b(?:CR|LG|BU|UX|X)-[0-9]+\b")
ROW = re.compile(r"^\| ([A-Z]+-[0-9]+) \| (.+?) \| (.*?) ?\|$", re.MULTILINE)


def tests_by_code() -> dict[str, list[str]]:
    tests: dict[str, list[str]] = {}
    for path in project_files():
        if path.parts[0] == "tests" and path.parts[1] != "checks" and path.suffix in (".cpp", ".py"):
            for code in set(CODE.findall(read(path))):
                tests.setdefault(code, []).append(path.as_posix())
    return tests


def cell(paths: list[str]) -> str:
    shown = ((path.removeprefix("tests/").rsplit(".", 1)[0].removesuffix("_test"), path) for path in sorted(paths))
    return ", ".join(f"[{name}](../{path})" for name, path in shown)


def problems() -> Iterator[str]:
    tests = tests_by_code()
    rows = {code: listed for code, _, listed in ROW.findall(read(PAGE))}
    for code in sorted(tests.keys() - rows.keys()):
        yield f"{tests[code][0]}: names {code}, which {PAGE} does not explain"
    for code, listed in rows.items():
        if code not in tests:
            yield f"{PAGE}: no test names {code}"
        elif listed != cell(tests[code]):
            yield f"{PAGE}: the tests of {code} are others (tests/checks/capabilities.py --write lists them anew)"


def write() -> None:
    tests = tests_by_code()
    text = ROW.sub(lambda row: f"| {row[1]} | {row[2]} | {cell(tests.get(row[1], []))} |", read(PAGE))
    (ROOT / PAGE).write_text(text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    for problem in problems():
        print(problem)
