# SPDX-License-Identifier: Apache-2.0
"""What was measured of a cell."""
import dataclasses
import statistics

from .cells import Cell


@dataclasses.dataclass
class CellResult:
    cell: Cell
    sides: dict  # by a side's name: a list with what the measurement of each round said, as a dict

    def values(self, side, key=None):
        return [said[key or self.cell.metric] for said in self.sides[side]]

    def median(self, side, key=None):
        return statistics.median(self.values(side, key))

    def ratio(self, side, by):
        """Of the medians."""
        return self.median(side) / self.median(by)

    def round_ratios(self, side, by):
        return [ours / theirs for ours, theirs in zip(self.values(side), self.values(by))]

    def worst(self, key):
        return max(said[key] for measured in self.sides.values() for said in measured)

    def total(self, key, *sides):
        return sum(sum(self.values(side, key)) for side in sides or self.sides)

    def pairs(self):
        return self.cell.pairs_of(self.sides)

    def to_json(self):
        ratios = [{"side": side, "by": by, "ratio": self.ratio(side, by), "round_ratios": self.round_ratios(side, by)}
                  for side, by in self.pairs()]
        cell = {"name": self.cell.name, "unit": self.cell.unit, "metric": self.cell.metric, "goal": self.cell.goal}
        return {"cell": cell | dataclasses.asdict(self.cell), "sides": self.sides, "ratios": ratios}
