# SPDX-License-Identifier: Apache-2.0
"""What the cells of all comparisons have in common: a cell is one thing that is measured of several sides."""
import fnmatch

from .failure import Failure

KIB = 1024
MIB = 1024 * KIB


class Cell:
    """A comparison's own cells are frozen dataclasses. They have a `name` and a `unit` besides."""
    metric = "value"  # what of a measurement is compared, if nothing else is asked for
    pairs = ()  # two sides each: the first's ratio by the second is looked at; a goal is about the first pair
    goal = None  # of that ratio
    smaller_is_better = False

    def goal_of(self, side, by):
        """Of this pair; a subclass may want something else of each."""
        return self.goal

    def met(self, ratio, goal=None):
        wanted = self.goal if goal is None else goal
        return ratio <= wanted if self.smaller_is_better else ratio >= wanted

    def pairs_of(self, sides):
        """The pairs of which both were measured."""
        return [pair for pair in self.pairs if set(pair) <= set(sides)]


def size_name(size):
    return f"{size // MIB}M" if size >= MIB else f"{size // KIB}K" if size >= KIB else str(size)


def named(wanted, cells):
    """Those of `cells` that `wanted` names (comma-separated, perhaps patterns as of files; None: all)."""
    if not wanted:
        return cells
    by_name = {cell.name: cell for cell in cells}
    matches = {name: fnmatch.filter(by_name, name) for name in wanted.split(",")}
    unknown = [name for name, found in matches.items() if not found]
    if unknown:
        raise Failure(f"no cell is called {', '.join(unknown)}; there are {', '.join(by_name)}")
    return [by_name[name] for name in dict.fromkeys(name for found in matches.values() for name in found)]
