# SPDX-License-Identifier: Apache-2.0
"""Counts phrases without a noun, which make sentences hard to understand, in comments of the library and the examples, and in the pages.

plain_english.py            lists the phrases, and their number per 1,000 words
plain_english.py --accept   writes the current numbers into the two lists, where these are lower

Comments and pages should read like the documentation of gRPC, Tokio or LevelDB: concrete nouns, active verbs, standard terms.
plain_english.txt holds the number of phrases that each source file still has, plain_english_pages.txt that of each page. A number
may only shrink.
"""

import pathlib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from project_files import ROOT, cpp_files, project_files, read

PHRASES = """
    so many|so much|as many as may|what (?:is|was|were|comes|came|has|had|it|they|he|she)|whoever|whatever|
    who (?:is|has|waits|had|makes|wants|looks)|those that|all that|that is there|that are there|of which|of whom|nobody|somebody|
    is to be|are to be|is to come|are to come|is told|are told|for ever|at most of|none of|no more than its|its due|gets on|get on|
    such a one|one of those
"""
PHRASE = re.compile(r"\b(?:" + "".join(PHRASES.split("\n")).replace("    ", "") + r")\b", re.IGNORECASE)
COMMENT = re.compile(r"//+<?(.*)")
CODE = re.compile(r"^[ \t]*```.*?^[ \t]*```[^\n]*$|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def comment_text(text: str) -> str:
    """The words of all line comments, so that a phrase is also found where a line ends within it."""
    return " ".join(" ".join(COMMENT.findall(text)).split())


def page_text(text: str) -> str:
    """The words of a page, without code."""
    return " ".join(CODE.sub("", text).split())


def phrases_in(words: str) -> list[str]:
    return PHRASE.findall(words)


def library_files() -> list[pathlib.Path]:
    return [path for path in cpp_files() if path.parts[0] in ("include", "src", "examples")]


def pages() -> list[pathlib.Path]:
    return [path for path in project_files() if path.suffix == ".md"]


@dataclass(frozen=True)
class Ratchet:
    """Files of one kind, and the list of the phrases that each may have."""

    kind: str
    limits_file: str
    files: Callable[[], list[pathlib.Path]]
    words_of: Callable[[str], str]

    def path(self) -> pathlib.Path:
        return pathlib.Path(__file__).with_name(self.limits_file)

    def found_in(self, path: pathlib.Path) -> list[str]:
        return phrases_in(self.words_of(read(path)))

    def counts(self) -> dict[str, int]:
        found = {path.as_posix(): len(self.found_in(path)) for path in self.files()}
        return {path: count for path, count in found.items() if count > 0}

    def allowed(self) -> dict[str, int]:
        lines = (line.split() for line in self.path().read_text(encoding="utf-8").splitlines() if line and line[0] != "#")
        return {path: int(count) for path, count in lines}

    def problems(self) -> Iterator[str]:
        command = f"run {pathlib.Path(__file__).relative_to(ROOT)} --accept"
        limits = self.allowed()
        for path, count in self.counts().items():
            limit = limits.pop(path, 0)
            if count > limit:
                found = ", ".join(sorted({phrase.lower() for phrase in self.found_in(pathlib.Path(path))}))
                yield f"{path}: {count} phrases without a noun, {limit} are allowed; say it with concrete nouns: {found}"
            elif count < limit:
                yield f"{path}: has {count} now; {command}"
        for path in limits:
            yield f"{path}: has no phrase of the list now; {command}"

    def accept(self) -> None:
        limits = self.allowed() if self.path().exists() else {}
        lines = [f"{path} {min(count, limits.get(path, count))}" for path, count in sorted(self.counts().items())]
        head = f"# Phrases without a noun in the {self.kind}; see plain_english.py. A number may only shrink."
        self.path().write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")

    def report(self) -> None:
        for path in self.files():
            for phrase in self.found_in(path):
                print(f"{path}: {phrase}")
        total = sum(self.counts().values())
        words = sum(len(self.words_of(read(path)).split()) for path in self.files())
        print(f"{total} phrases in {words} words of the {self.kind}: {1000 * total / words:.1f} per 1,000")


RATCHETS = (
    Ratchet("comments of each file", "plain_english.txt", library_files, comment_text),
    Ratchet("pages", "plain_english_pages.txt", pages, page_text),
)


def problems() -> Iterator[str]:
    for ratchet in RATCHETS:
        yield from ratchet.problems()


def main() -> int:
    for ratchet in RATCHETS:
        if sys.argv[1:] == ["--accept"]:
            ratchet.accept()
        else:
            ratchet.report()
    return 0


if __name__ == "__main__":
    sys.exit(main())
