# SPDX-License-Identifier: Apache-2.0
"""Holds the numbers of a cell against the baseline."""

from collections.abc import Mapping
from typing import NamedTuple

import counting

# A change of instructions up to this share passes in silence.
INSTRUCTIONS_SHARE = 0.03
# Counts are kept with four decimals.
ROUNDING = 0.00005


class Verdict(NamedTuple):
    worse: list[str]
    better: list[str]


def is_worse(name: str, was: float, now: float) -> bool:
    allowed = was * INSTRUCTIONS_SHARE if name.startswith("instructions") else 0
    return now > was + allowed + ROUNDING


def is_better(name: str, was: float, now: float) -> bool:
    needed = was * INSTRUCTIONS_SHARE
    return now < was - needed - ROUNDING


def title(cell: str) -> str:
    """The cell's name with what its number counts."""
    return f"{cell} {'stream' if counting.is_of_items(cell) else 'in flight'}"


def describe(cell: str, name: str, was: float, now: float) -> str:
    share = f" ({(now / was - 1) * 100:+.1f} %)" if was > 0 else ""
    each = "item" if counting.is_of_items(cell) else "call"
    return f"{title(cell)}: {name} per {each} {was:g} -> {now:g}{share}"


def judge(cell: str, was: Mapping[str, float], now: Mapping[str, float]) -> Verdict:
    """What is worse and what is better. A number that only one of both has is worse: nothing would guard it."""
    verdict = Verdict([], [])
    for name in sorted(was.keys() | now.keys()):
        if name not in was or name not in now:
            verdict.worse.append(f"{title(cell)}: {name} is not in {'the baseline' if name in now else 'what was counted'}")
        elif is_worse(name, was[name], now[name]):
            verdict.worse.append(describe(cell, name, was[name], now[name]))
        elif is_better(name, was[name], now[name]):
            verdict.better.append(describe(cell, name, was[name], now[name]))
    return verdict


def lowest(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    """The lower of both counts for each number: what disturbs a count adds to it."""
    return {name: min(value, other.get(name, value)) for name, value in one.items()}
