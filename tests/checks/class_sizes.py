# SPDX-License-Identifier: Apache-2.0
"""Counts the functions and the data members that each class of the library declares.

class_sizes.py [least count to list, 30 by default]

A class that grows has taken a second responsibility, however many files it is cut over. A class may have MEMBERS_MAX of
them together; class_sizes.txt lists the classes that have more, with a number that may only shrink. What a private struct
within a class declares is the class's own where that has a data member of it: members are not fewer for being grouped.
"""

import pathlib
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from project_files import ROOT, cpp_files, read

MEMBERS_MAX = 40
RATCHET = pathlib.Path(__file__).with_name("class_sizes.txt")

# Comments, strings, characters and preprocessor lines say nothing about a class and may hold braces.
NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|(?<![0-9a-fA-F])\'(?:[^\'\\\n]|\\.)+\'|^[ \t]*#(?:\\\n|[^\n])*', re.DOTALL | re.MULTILINE
)
CLASS = re.compile(r"\b(?:class|struct)\s+(?:alignas\([^)]*\)\s*)?(?:\[\[[^\]]*\]\]\s*)?(\w+(?:<[^;{}()]*>)?)[^;{}()=]*\{")
NOT_COUNTED = re.compile(r"^(?:using|typedef|friend|static_assert|enum|class|struct|union|template\s*<.*>\s*(?:class|struct))\b", re.DOTALL)
ACCESS = re.compile(r"^(?:(?:public|protected|private)\s*:\s*)+")


ACCESSES = re.compile(r"\b(public|protected|private)\s*:(?!:)")


class ClassSize(NamedTuple):
    path: str
    name: str
    functions: int
    data: int

    @property
    def total(self) -> int:
        return self.functions + self.data


def end_of_block(text: str, opening: int) -> int:
    """The place of the brace that closes the one at `opening`."""
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return at
    return len(text)


def declarations(body: str) -> Iterator[str]:
    """What a class declares itself, one text each, blocks in braces as `{}`."""
    begin = at = 0
    text = ""
    while at < len(body):
        if body[at] == "{":
            end = end_of_block(body, at)
            text += body[begin:at] + "{}"
            at = begin = end + 1
            # A function's body ends its declaration, unless an initialiser's braces or a `;` go on.
            following = body[at:].lstrip()[:1]
            if "(" in text and following not in (";", ",", "{", "="):
                yield text.strip()
                text = ""
        elif body[at] == ";":
            yield (text + body[begin:at]).strip()
            text = ""
            at += 1
            begin = at
        else:
            at += 1


def is_function(declaration: str) -> bool:
    # Of `std::function<void()> f` the parentheses are the type's, and of `int x = f()` the value's.
    plain = re.sub(r"operator\W+?(?=\()", "operator", declaration)
    plain = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", plain))
    return "(" in plain.split("{")[0] and not re.match(r"[^(]*[^=!<>]=[^=(]*\(", plain)


def without_blocks(body: str) -> str:
    """What `body` says outside of braces, each block as blanks, so that places stay."""
    at = body.find("{")
    while at >= 0:
        end = end_of_block(body, at)
        body = body[:at] + " " * (end + 1 - at) + body[end + 1 :]
        at = body.find("{", end)
    return body


def classes_in(text: str) -> Iterator[re.Match[str]]:
    """The classes that `text` defines, but for those within others."""
    end = 0
    for match in CLASS.finditer(text):
        if match.start() >= end and not text[: match.start()].rstrip().endswith("enum"):
            end = end_of_block(text, match.end() - 1)
            yield match


def is_private(inner: re.Match[str], outside: str, is_class: bool) -> bool:
    """Whether the class that `inner` defines is private where `outside` is all of the body around it but blocks."""
    said = ACCESSES.findall(outside[: inner.start()])
    return said[-1] == "private" if said else is_class


def sizes_of(path: str, match: re.Match[str]) -> Iterator[ClassSize]:
    """The size of the class that `match` defines, and then those of the classes within it."""
    body = match.string[match.end() : end_of_block(match.string, match.end() - 1)]
    functions = 0
    data = []
    for declaration in declarations(body):
        declaration = ACCESS.sub("", declaration)
        if not declaration or NOT_COUNTED.match(declaration):
            continue
        if is_function(declaration):
            functions += 1
        else:
            data.append(declaration)
    outside = without_blocks(body)
    within: list[ClassSize] = []
    own = ClassSize(path, match.group(1), functions, len(data))
    for inner in classes_in(body):
        sizes = list(sizes_of(path, inner))
        within += sizes
        has_one = any(re.search(rf"\b{re.escape(sizes[0].name)}\b", declaration) for declaration in data)
        if has_one and is_private(inner, outside, match.group(0).startswith("class")):
            own = own._replace(functions=own.functions + sizes[0].functions, data=own.data + sizes[0].data)
    yield own
    yield from within


def class_sizes(path: str, text: str) -> Iterator[ClassSize]:
    for match in classes_in(NOISE.sub(" ", text)):
        yield from sizes_of(path, match)


def all_sizes() -> list[ClassSize]:
    return [
        size
        for path in cpp_files()
        if path.parts[0] in ("include", "src")
        for size in class_sizes(path.as_posix(), read(path))
    ]


def allowed() -> dict[tuple[str, str], int]:
    lines = (line.split() for line in RATCHET.read_text(encoding="utf-8").splitlines() if line and line[0] != "#")
    return {(path, name): int(number) for path, name, number in lines}


def problems() -> Iterator[str]:
    limits = allowed()
    for size in all_sizes():
        limit = limits.pop((size.path, size.name), MEMBERS_MAX)
        listed = limit > MEMBERS_MAX
        if size.total > limit:
            yield (
                f"{size.path}: {size.name} declares {size.functions} functions and {size.data} members, "
                f"{limit} together are allowed; give a part of what it does to a class of its own"
            )
        elif listed and size.total < limit:
            yield f"{size.path}: {size.name} has {size.total} now; say so in {RATCHET.relative_to(ROOT)}"
    for path, name in limits:
        yield f"{RATCHET.relative_to(ROOT)}: there is no {name} in {path} any more; remove its line"


if __name__ == "__main__":
    least = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    for found in sorted(all_sizes(), key=lambda size: -size.total):
        if found.total >= least:
            print(f"{found.total:4} = {found.functions:3} functions + {found.data:3} members  {found.path} {found.name}")
