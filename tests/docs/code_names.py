# SPDX-License-Identifier: Apache-2.0
"""Which names of the form `Class::member` the sources have, as far as text can tell."""

import functools
import pathlib
import re
from collections.abc import Iterator

from project_files import cpp_files, read

QUALIFIED = re.compile(r"`(~?[A-Za-z_]\w*(?:::~?[A-Za-z_]\w*)+)")
FENCE = re.compile(r"```.*?```", re.DOTALL)
DECLARED = re.compile(
    r"^[ \t]*(?:template <[^\n]*>\s*)?(?:class|struct|enum class|enum|union|namespace|using|concept)\s+"
    r"(?:\[\[[^\n]*?\]\]\s*)?([\w:]+)(?:\s+final)?(\s*:[^{;]*\{)?",
    re.MULTILINE,
)
WORD = re.compile(r"\w+")
# Namespaces whose names are not in this tree.
FOREIGN = {"std", "asio", "stdexec", "google"}


class CodeNames:
    """Each declared name, with the words of the files that declare it, and the names it derives from."""

    def __init__(self, texts: Iterator[str]) -> None:
        self.words: dict[str, list[frozenset[str]]] = {}
        self.bases: dict[str, set[str]] = {}
        self.qualified: set[str] = set()
        for text in texts:
            words = frozenset(WORD.findall(text))
            self.qualified.update(re.findall(r"\b\w+::~?\w+", text))
            for name, bases in DECLARED.findall(text):
                for part in name.split("::"):
                    self.words.setdefault(part, []).append(words)
                self.bases.setdefault(name.split("::")[-1], set()).update(WORD.findall(bases))

    def has(self, owner: str, member: str, depth: int = 4) -> bool:
        """Tells whether `member` stands where `owner`, or what it derives from, is declared or is qualified by it."""
        if f"{owner}::{member}" in self.qualified or any(member in words for words in self.words.get(owner, ())):
            return True
        return depth > 0 and any(base != owner and self.has(base, member, depth - 1) for base in self.bases.get(owner, ()))


@functools.cache
def sources() -> CodeNames:
    return CodeNames(read(path) for path in cpp_files())


def absent_names(document: pathlib.Path) -> Iterator[str]:
    """The names in backticks of a page that no source has."""
    for name in QUALIFIED.findall(FENCE.sub("", read(document))):
        parts = [part.lstrip("~") for part in name.split("::")]
        if parts[0] not in FOREIGN and not all(map(sources().has, parts, parts[1:])):
            yield name
