# SPDX-License-Identifier: Apache-2.0
"""What is measured: the cells and the targets that the project has set itself."""
import dataclasses

from .failure import Failure

KIB = 1024
MIB = 1024 * KIB


@dataclasses.dataclass(frozen=True)
class Cell:
    name: str
    size: int
    connections: int
    depth: int
    metric: str  # the JSON key that is compared
    target: float  # of the ratio ours / limit
    mode: str = "wait"
    attachment: bool = False

    @property
    def smaller_is_better(self):
        return self.metric.endswith("_us")

    @property
    def unit(self):
        return {"qps": "calls/s", "gbps": "Gb/s", "p50_us": "us p50"}[self.metric]

    @property
    def stall_factor(self):
        """p99 may be this many times p50; None where no such target was set."""
        return 3.0 if self.attachment else None

    def met(self, ratio):
        return ratio <= self.target if self.smaller_is_better else ratio >= self.target


def _attachments():
    for label, size in (("256K", 256 * KIB), ("1M", MIB), ("8M", 8 * MIB)):
        for depth in (1, 4):
            yield Cell(f"att-{label}x{depth}", size, 1, depth, "gbps", 0.95, attachment=True)


ALL = [
    Cell("sleep-1x1", 128, 1, 1, "p50_us", 1.08),
    Cell("spin-1x1", 128, 1, 1, "p50_us", 1.08, mode="busy"),
    Cell("1x64", 128, 1, 64, "qps", 0.85),
    Cell("1x256", 128, 1, 256, "qps", 0.5),
    Cell("1x1024", 128, 1, 1024, "qps", 0.6),
    Cell("256x1", 128, 256, 1, "qps", 0.9),
    *_attachments(),
]


def names():
    return [cell.name for cell in ALL]


def named(wanted, cells):
    """Those of `cells` that `wanted` names (comma-separated; None: all)."""
    if not wanted:
        return cells
    by_name = {cell.name: cell for cell in cells}
    unknown = [name for name in wanted.split(",") if name not in by_name]
    if unknown:
        raise Failure(f"no cell is called {', '.join(unknown)}; there are {', '.join(by_name)}")
    return [by_name[name] for name in wanted.split(",")]


def choose(wanted, mode):
    """The cells named in `wanted` (comma-separated; None: all), in `mode` if one is given."""
    chosen = named(wanted, ALL)
    return [dataclasses.replace(cell, mode=mode) for cell in chosen] if mode else chosen
