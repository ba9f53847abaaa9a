# SPDX-License-Identifier: Apache-2.0
"""Every class of the headers that can be awaited is [[nodiscard]]: the compiler then reports a forgotten co_await."""

import re
from collections.abc import Iterator

from project_files import cpp_files, read
from public_names import NOISE

AWAITED = re.compile(r"\bawait_ready\s*\(\s*\)|\boperator co_await\s*\(")
HEAD = re.compile(r"\b(?:class|struct)\s+(?:\[\[(?P<attribute>\w+)[^\]]*\]\]\s*)?(?P<name>[\w:<>]+)[^;{}]*$")
# No function returns it: the language awaits it where a coroutine ends.
AWAITED_BY_THE_LANGUAGE = {"FinalAwaiter"}


def class_around(text: str, at: int) -> re.Match[str] | None:
    """The head of the innermost class with a body that is open at `at`."""
    depth = 0
    for opened in range(at - 1, -1, -1):
        depth += (text[opened] == "}") - (text[opened] == "{")
        if depth < 0:
            return HEAD.search(text[max(0, opened - 1000) : opened])
    return None


def droppable(text: str) -> set[str]:
    """Classes in `text` that can be awaited, and dropped without a word of the compiler."""
    text = NOISE.sub(" ", text)
    heads = [class_around(text, match.start()) for match in AWAITED.finditer(text)]
    return {head["name"] for head in heads if head and head["attribute"] != "nodiscard"}


def problems() -> Iterator[str]:
    for path in cpp_files():
        if path.parts[0] == "include":
            for name in sorted(droppable(read(path)) - AWAITED_BY_THE_LANGUAGE):
                yield f"{path}: {name} can be awaited; make it [[nodiscard]], so that a forgotten co_await is reported"
