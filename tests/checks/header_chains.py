# SPDX-License-Identifier: Apache-2.0
"""Finds the fewest sources that show of each public header that it compiles alone.

A header that follows another in a source is as good as alone if it includes, itself or through its own headers, all that the
other one includes, and the other one too: then nothing is there before its first line of code that would not be there
anyway. So headers make chains, and a chain is one source. A header that a source of its layer includes first is compiled
alone there already.

header_chains.py <include> <src> [<pattern of headers to leave out>]   prints a chain per line
"""

import pathlib
import re
import sys
from collections.abc import Iterable, Mapping

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"][^>"]+[>"])')
CONDITION = re.compile(r"^\s*#\s*(if|endif)")


def includes_of(name: str, text: str) -> set[str]:
    """What a header includes. What it includes under a condition is a matter between it and the condition."""
    found, depth = set(), 0
    for line in text.splitlines():
        if condition := CONDITION.match(line):
            depth += -1 if condition[1] == "endif" else 1
        elif include := INCLUDE.match(line):
            found.add(f"{name}: {include[1]}" if depth else include[1].strip('"'))
    return found


def closures(includes: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    """Each header with all that it includes, also through others."""
    made: dict[str, frozenset[str]] = {}

    def closure(name: str) -> frozenset[str]:
        if name not in made:
            inner = (closure(other) if other in includes else {other} for other in includes[name])
            made[name] = frozenset({name}.union(*inner))
        return made[name]

    for name in includes:
        closure(name)
    return made


def chains(names: Iterable[str], all_of: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """The fewest lists in which each header includes all that the one before it includes: a matching of as many pairs as
    there can be."""
    names = sorted(names)
    after = {name: [other for other in names if all_of[name] < all_of[other]] for name in names}
    before: dict[str, str] = {}

    def finds_a_place(name: str, seen: set[str]) -> bool:
        for other in after[name]:
            if other not in seen:
                seen.add(other)
                if other not in before or finds_a_place(before[other], seen):
                    before[other] = name
                    return True
        return False

    for name in names:
        finds_a_place(name, set())
    ends = set(names) - set(before.values())
    found = []
    for end in sorted(ends):
        chain = [end]
        while chain[0] in before:
            chain.insert(0, before[chain[0]])
        found.append(chain)
    return found


def included_first(sources: Iterable[pathlib.Path]) -> set[str]:
    """The headers that some source includes before all else."""
    first = set()
    for source in sources:
        for line in source.read_text(encoding="utf-8").splitlines():
            if include := INCLUDE.match(line):
                first.add(include[1].strip('"'))
                break
    return first


def main(include: str, src: str, left_out: str = "$^") -> int:
    root = pathlib.Path(include)
    headers = {path.relative_to(root).as_posix(): path for path in root.rglob("*.hpp")}
    includes = {name: includes_of(name, path.read_text(encoding="utf-8")) for name, path in headers.items()}
    wanted = headers.keys() - included_first(pathlib.Path(src).rglob("*.cpp"))
    for chain in chains((name for name in wanted if not re.search(left_out, name)), closures(includes)):
        print(" ".join(chain))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
