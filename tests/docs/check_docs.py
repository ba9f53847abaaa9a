# SPDX-License-Identifier: Apache-2.0
"""What the documents show and link is there.

check_docs.py examples   each code block after `<!-- example: path -->` or `<!-- example: path#region -->` is that file
                         (without its licence line), or that region of it, word for word. A region lies between the
                         lines `// begin: region` and `// end: region`; the indentation they share is left out.
check_docs.py links      each relative link of a .md file leads to a file, and its #anchor to a heading.
check_docs.py symbols    a link with a name of code as its text, [`Class::function`](../src/file.cpp), leads to a file in
                         which each part of that name stands; and each `Class::member` of the pages about the code
                         is a name that some source has.
check_docs.py numbers    what pages state of the guard's baseline and of the version of the messages is what these say.
"""

import pathlib
import re
import sys
import textwrap
from collections.abc import Iterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "checks"))
import stated_numbers  # noqa: E402
from code_names import absent_names  # noqa: E402
from project_files import ROOT, project_files, read  # noqa: E402

MARKER = re.compile(r"<!-- example: (\S+?)(?:#(\S+))? -->")
# A fence that closes has nothing behind it; "```cpp" does not close, and the page would show the rest as code.
BLOCK = re.compile(r"\s*```[^\n]*\n(.*?)\n?^```[ \t]*$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
SYMBOL_LINK = re.compile(r"\[`([\w:~]+)`\]\(([^)\s#]+\.(?:hpp|cpp))\)")
FENCE = re.compile(r"```.*?```", re.DOTALL)
# Pages about the code as it is, by how their paths begin; decisions are about the code as it was.
ABOUT_THE_CODE = ("ARCHITECTURE.md", "docs/tour.md", "docs/internals/")


def documents() -> list[pathlib.Path]:
    return [path for path in project_files() if path.suffix == ".md"]


def shown_part(path: str, region: str | None) -> str:
    """The text a document must show; raises ValueError when the file has no such region."""
    text = (ROOT / path).read_text()
    if region is None:
        return re.sub(r"\A(?://|#) SPDX[^\n]*\n", "", text).strip("\n")
    found = re.search(rf"^[^\n]*begin: {re.escape(region)}\n(.*?)^[^\n]*end: {re.escape(region)}$", text, re.DOTALL | re.MULTILINE)
    if not found:
        raise ValueError(f"{path} has no region {region}")
    return textwrap.dedent(found.group(1)).strip("\n")


def example_problems() -> Iterator[str]:
    for document in documents():
        text = read(document)
        for marker in MARKER.finditer(text):
            place = f"{document}:{text.count(chr(10), 0, marker.start()) + 1}"
            path, region = marker.groups()
            block = BLOCK.match(text, marker.end())
            if not block:
                yield f"{place}: no code block follows the marker"
                continue
            try:
                expected = shown_part(path, region)
            except (OSError, ValueError) as problem:
                yield f"{place}: {problem}"
                continue
            if block.group(1).strip("\n") != expected:
                yield f"{place}: differs from {path}{'#' + region if region else ''}; it should read\n{expected}"


def anchors_of(document: pathlib.Path) -> set[str]:
    headings = re.findall(r"^#+\s+(.+?)\s*$", FENCE.sub("", document.read_text()), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def link_problems() -> Iterator[str]:
    for document in documents():
        for match in LINK.finditer(FENCE.sub("", read(document))):
            target = match.group(1) or match.group(2)
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            path = (ROOT / document).parent / name if name else ROOT / document
            if not path.exists():
                yield f"{document}: links to {target}, which does not exist"
            elif anchor and path.suffix == ".md" and anchor not in anchors_of(path):
                yield f"{document}: links to {target}, and there is no such heading"


def symbol_problems() -> Iterator[str]:
    for document in documents():
        for name, target in SYMBOL_LINK.findall(FENCE.sub("", read(document))):
            path = (ROOT / document).parent / target
            # A comment that has the word is no function of that name.
            text = re.sub(r"//.*", "", path.read_text()) if path.exists() else ""
            absent = [part for part in name.split("::") if not re.search(rf"\b{re.escape(part)}\b", text)]
            if absent:
                yield f"{document}: says that {target} has {name}, and there is no {' and no '.join(absent)}"
        if document.as_posix().startswith(ABOUT_THE_CODE):
            for name in absent_names(document):
                yield f"{document}: names {name}, which no source has"


CHECKS = {"examples": example_problems, "links": link_problems, "symbols": symbol_problems, "numbers": stated_numbers.problems}


def main(what: str) -> int:
    found = list(CHECKS[what]())
    print("\n".join(found))
    return 1 if found else 0


sys.exit(main(sys.argv[1]))
