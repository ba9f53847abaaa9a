# SPDX-License-Identifier: Apache-2.0
"""Chooses the sources that show what a change did to the code: the changed ones, and one for each changed header."""

import pathlib
import re
import subprocess
from collections.abc import Iterable
from typing import NamedTuple

from project_files import ROOT, project_files

# Users, and so the examples, include by <weft/...>.
INCLUDE = re.compile(r'^\s*#include (?:"|<(?=weft/))([^">]+)[">]', re.MULTILINE)
ANY_INCLUDE = re.compile(r"^\s*#include ([<\"][^>\"]+[>\"])")
# A line of comment says nothing to a tool, unless it tells the tool to be silent.
COMMENT = re.compile(r"^\s*//(?!.*NOLINT)")
# Paths of #include begin in one of these folders, or beside the file.
ROOTS = ("include", "src", "tests")
# A change of these may change what is said of every file.
CONCERNS_ALL = {".clang-tidy"}


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def said_something(diff: Iterable[str]) -> set[str]:
    """The files of a diff without context in which more changed than lines of comments, and of #include, as when headers move."""
    said, name = set(), ""
    for line in diff:
        if line.startswith("+++ "):
            name = line.removeprefix("+++ ").removeprefix("b/")
        elif line.startswith(("+", "-")) and not line.startswith("--- "):
            text = line[1:]
            if text.strip() and not INCLUDE.match(text) and not COMMENT.match(text):
                said.add(name)
    return said - {"/dev/null"}


def base() -> str | None:
    """The newest commit that is four hours older than the newest of all; None when there is none."""
    try:
        newest = int(git("log", "-1", "--format=%ct")[0])
        found = git("rev-list", "-1", f"--before={newest - 4 * 3600}", "HEAD")
    except (subprocess.CalledProcessError, FileNotFoundError, IndexError):
        return None
    return found[0] if found else None


def untracked() -> list[str]:
    return git("ls-files", "--others", "--exclude-standard")


class Change(NamedTuple):
    """Files of which more changed than comments, and those that lost an #include."""

    paths: set[str]
    with_fewer_includes: set[str]


def change_of(diff: Iterable[str]) -> Change:
    """Reads a diff without context."""
    lines = list(diff)
    gone, come = set(), set()
    name = ""
    for line in lines:
        if line.startswith("+++ "):
            name = line.removeprefix("+++ ").removeprefix("b/")
        elif (include := ANY_INCLUDE.match(line[1:])) and line[0] in "+-" and not line.startswith("--- "):
            (gone if line[0] == "-" else come).add((name, include[1]))
    with_other_includes = {name for name, _ in gone ^ come} - {"/dev/null"}
    return Change(said_something(lines) | with_other_includes, {name for name, _ in gone - come} - {"/dev/null"})


def change_since_base() -> Change | None:
    """What is different from the base, committed or not; None when there is no base."""
    since = base()
    if since is None:
        return None
    change = change_of(git("diff", "--find-renames", "--unified=0", since))
    return Change({*change.paths, *untracked()}, change.with_fewer_includes)


def changed_paths() -> set[str] | None:
    """Those of them that say something else now; None when there is no base."""
    since = base()
    return {*said_something(git("diff", "--find-renames", "--unified=0", since)), *untracked()} if since else None


def includers_of(files: Iterable[pathlib.Path]) -> dict[str, set[str]]:
    """For each file of the project, the files that include it themselves."""
    known = {path.as_posix() for path in files}
    includers: dict[str, set[str]] = {}
    for name in known:
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        for target in INCLUDE.findall(text):
            beside = (pathlib.PurePosixPath(name).parent / target).as_posix()
            for candidate in (beside, *(f"{root}/{target}" for root in ROOTS)):
                if candidate in known:
                    includers.setdefault(candidate, set()).add(name)
                    break
    return includers


def source_that_includes(header: str, includers: dict[str, set[str]], preferred: set[str]) -> str | None:
    """The nearest source that includes `header`, a preferred one if it is as near as any; None if there is none."""
    seen, ring = {header}, {header}
    while ring:
        ring = {name for inner in ring for name in includers.get(inner, ())} - seen
        seen |= ring
        sources = sorted(name for name in ring if name.endswith(".cpp") and not name.startswith("tests/"))
        if sources:
            stem = pathlib.PurePosixPath(header).stem
            return min(sources, key=lambda name: (name not in preferred, pathlib.PurePosixPath(name).stem != stem))
    return None


def choose(changed: set[str], files: Iterable[pathlib.Path]) -> set[str]:
    """The sources to look at for a set of changed paths, all relative to the project."""
    files = list(files)
    known = {path.as_posix() for path in files}
    chosen = {name for name in changed & known if name.endswith(".cpp")}
    includers = includers_of(path for path in files if path.suffix in (".hpp", ".cpp"))
    for header in sorted(name for name in changed & known if name.endswith(".hpp")):
        source = source_that_includes(header, includers, chosen)
        if source:
            chosen.add(source)
    return chosen


def sources_to_check() -> set[str] | None:
    """The sources that a check of the newest change has to look at; None stands for all of them."""
    changed = changed_paths()
    if changed is None or changed & CONCERNS_ALL:
        return None
    return choose(changed, project_files())
