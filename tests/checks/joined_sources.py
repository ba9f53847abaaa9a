# SPDX-License-Identifier: Apache-2.0
"""Joins sources that clang-tidy looks at in one run.

Most of a run goes into the headers that a source includes, and its neighbours include nearly the same.
"""

import pathlib
import re
import shlex
from collections.abc import Iterable

AT_ONCE = 8
# A using-declaration that nobody uses, and a header of C by its old name, are told of in the main file only.
ONLY_ALONE = re.compile(
    r"^\s*using [\w:]+;"
    r"|^#include <(assert|complex|ctype|errno|fenv|float|inttypes|iso646|limits|locale|math|setjmp|signal|stdalign|stdarg"
    r"|stdbool|stddef|stdint|stdio|stdlib|string|tgmath|time|uchar|wchar|wctype)\.h>",
    re.MULTILINE,
)
# So is a constant, or a constexpr function, that nobody uses.
CONSTANTS = (
    re.compile(r"^(?:static |inline )*constexpr\b[^=;({]*?\b(\w+)(?:\[\w*\])? *[={(]", re.MULTILINE),
    re.compile(r"^(?:static |inline )*const\b[^=;({]*?\b(\w+)(?:\[\w*\])? *[={]", re.MULTILINE),
)
# The joined sources are no headers, yet they are included. A name of one source may shadow another's.
OPTIONS = (
    "--checks=-bugprone-suspicious-include",
    r"--header-filter=(include/weft|src|tools|bench|examples)/.*\.[hc]pp$",
    "--extra-arg=-Wno-shadow",
)


def has_an_idle_constant(text: str) -> bool:
    """Some constant of `text` is named nowhere else in it."""
    names = (name for pattern in CONSTANTS for name in pattern.findall(text))
    return any(len(re.findall(rf"\b{name}\b", text)) == 1 for name in names)


def may_be_joined(path: str, text: str) -> bool:
    """Sources of src/ are compiled alone by compiled_alone.py, which finds there what a joined one hides."""
    return path.startswith("src/") and not ONLY_ALONE.search(text) and not has_an_idle_constant(text)


def compiler_of(command: dict[str, str]) -> str:
    """The compiler's name, which stands behind its launcher."""
    words = shlex.split(command["command"])
    return words[next(at for at, word in enumerate(words) if word.startswith("-")) - 1]


def flags_of(command: dict[str, str]) -> tuple[str, ...]:
    """What a source is compiled with, apart from the compiler's name, its own and its object's."""
    words = shlex.split(command["command"])
    begin = next(at for at, word in enumerate(words) if word.startswith("-"))
    at = words.index("-o")
    return tuple(word for word in words[begin:at] + words[at + 2 :] if word not in ("-c", command["file"]))


def batches(commands: Iterable[dict[str, str]]) -> list[list[dict[str, str]]]:
    """Sources that are compiled alike, AT_ONCE at most together and neighbours first."""
    alike: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for command in sorted(commands, key=lambda command: command["file"]):
        alike.setdefault(flags_of(command), []).append(command)
    return [group[at : at + AT_ONCE] for group in alike.values() for at in range(0, len(group), AT_ONCE)]


def halves(batch: list[dict[str, str]]) -> list[list[dict[str, str]]]:
    middle = (len(batch) + 1) // 2
    return [batch[:middle], batch[middle:]]


def write_joined(batch: list[dict[str, str]], folder: pathlib.Path) -> pathlib.Path:
    """Writes the source that includes those of `batch`, and returns it."""
    first, last = (pathlib.Path(batch[at]["file"]) for at in (0, -1))
    source = folder / f"{first.parent.name}_{first.stem}_to_{last.parent.name}_{last.stem}.cpp"
    folder.mkdir(parents=True, exist_ok=True)
    source.write_text("".join(f'#include "{command["file"]}"\n' for command in batch))
    return source
