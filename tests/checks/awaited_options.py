# SPDX-License-Identifier: Apache-2.0
"""Options that a coroutine gives in braces, in the expression that it awaits, are trivially copyable.

g++ 12 destroys such a temporary twice (docs/pitfalls/coroutine_compiler_bugs.md). LIST asserts it for each type; this finds the
types, which are those that a function takes whose return type may be awaited.
"""

import pathlib
import re
from collections.abc import Iterator

from project_files import cpp_files, read
from public_names import NOISE

LIST = pathlib.Path("tests/unit/fleet/awaited_options_test.cpp")
OPTIONS = re.compile(r"^\s*struct (\w*(?:Options|Policy|Retry|Limits|Terms))\b[^;]*$", re.MULTILINE)
AWAITED = re.compile(r"\bauto\b|Task<|Await|Awaiter|Call<|CallOnLoop|Begun|Operation|Posted")
LISTED = re.compile(r"static_assert\(kDiesOnce<(?:\w+::)*(\w+)>\)")


def head_of(text: str, at: int) -> str:
    """What stands before the parenthesis that is open at `at`, back to the end of the declaration before it."""
    depth = 0
    for opened in range(at, -1, -1):
        depth += (text[opened] == ")") - (text[opened] == "(")
        if text[opened] in ";{}":
            return ""
        if depth < 0:
            return text[max(text.rfind(letter, 0, opened) for letter in ";{}") + 1 : opened]
    return ""


def awaited(text: str, names: set[str]) -> set[str]:
    """The options of `names` that the functions in `text` take which may be awaited."""
    parameter = re.compile(r"\b(" + "|".join(sorted(names)) + r")\b\s*(?:const\b\s*)?&{0,2}\s*\w*\s*(?:=[^,();]*)?[,)]")
    text = re.sub(r"\btemplate\s*<[^<>]*>", " ", NOISE.sub(" ", text))
    return {match[1] for match in parameter.finditer(text) if AWAITED.search(head_of(text, match.start()))}


def problems() -> Iterator[str]:
    headers = [path for path in cpp_files() if path.parts[0] == "include"]
    names = {name for path in headers for name in OPTIONS.findall(read(path))}
    listed = set(LISTED.findall(read(LIST)))
    for path in headers:
        for name in sorted(awaited(read(path), names) - listed):
            yield f"{path}: what takes {name} may be awaited; assert in {LIST} that it is trivially copyable"
    for name in sorted(listed - names):
        yield f"{LIST}: there are no options called {name}"
