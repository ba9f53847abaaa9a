# SPDX-License-Identifier: Apache-2.0
"""Counts phrases without a noun in the comments of the library, which make sentences hard to understand.

plain_english.py            lists the phrases, and their number per 1,000 words
plain_english.py --accept   writes the current numbers into plain_english.txt, where these are lower

Comments should read like the documentation of gRPC, Tokio or LevelDB: concrete nouns, active verbs, standard terms.
plain_english.txt holds the number of phrases that each file still has. A number may only shrink.
"""

import pathlib
import re
import sys
from collections.abc import Iterator

from project_files import ROOT, cpp_files, read

RATCHET = pathlib.Path(__file__).with_name("plain_english.txt")
PHRASES = """
    so many|so much|as many as may|what (?:is|was|were|comes|came|has|had|it|they|he|she)|whoever|whatever|
    who (?:is|has|waits|had|makes|wants|looks)|those that|all that|that is there|that are there|of which|of whom|nobody|somebody|
    is to be|are to be|is to come|are to come|is told|are told|for ever|at most of|none of|no more than its|its due|gets on|get on|
    such a one|one of those
"""
PHRASE = re.compile(r"\b(?:" + "".join(PHRASES.split("\n")).replace("    ", "") + r")\b", re.IGNORECASE)
COMMENT = re.compile(r"//+<?(.*)")


def comment_text(text: str) -> str:
    """The words of all line comments, so that a phrase is also found where a line ends within it."""
    return " ".join(" ".join(COMMENT.findall(text)).split())


def phrases_in(text: str) -> list[str]:
    return PHRASE.findall(comment_text(text))


def library_files() -> list[pathlib.Path]:
    return [path for path in cpp_files() if path.parts[0] in ("include", "src")]


def counts() -> dict[str, int]:
    found = {path.as_posix(): len(phrases_in(read(path))) for path in library_files()}
    return {path: count for path, count in found.items() if count > 0}


def allowed() -> dict[str, int]:
    lines = (line.split() for line in RATCHET.read_text(encoding="utf-8").splitlines() if line and line[0] != "#")
    return {path: int(count) for path, count in lines}


def problems() -> Iterator[str]:
    limits = allowed()
    for path, count in counts().items():
        limit = limits.pop(path, 0)
        if count > limit:
            found = ", ".join(sorted({phrase.lower() for phrase in phrases_in(read(pathlib.Path(path)))}))
            yield f"{path}: {count} phrases without a noun, {limit} are allowed; say it with concrete nouns: {found}"
        elif count < limit:
            yield f"{path}: has {count} now; run {pathlib.Path(__file__).relative_to(ROOT)} --accept"
    for path in limits:
        yield f"{path}: has no phrase of the list now; run {pathlib.Path(__file__).relative_to(ROOT)} --accept"


def accept() -> None:
    limits = allowed() if RATCHET.exists() else {}
    lines = [f"{path} {min(count, limits.get(path, count))}" for path, count in sorted(counts().items())]
    head = "# Phrases without a noun in the comments of each file; see plain_english.py. A number may only shrink."
    RATCHET.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")


def main() -> int:
    if sys.argv[1:] == ["--accept"]:
        accept()
        return 0
    total = sum(counts().values())
    words = sum(len(comment_text(read(path)).split()) for path in library_files())
    for path in library_files():
        for phrase in phrases_in(read(path)):
            print(f"{path}: {phrase}")
    print(f"{total} phrases in {words} words of comments: {1000 * total / words:.1f} per 1,000")
    return 0


if __name__ == "__main__":
    sys.exit(main())
