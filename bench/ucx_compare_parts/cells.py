# SPDX-License-Identifier: Apache-2.0
"""What is measured."""
import dataclasses

from compare_parts.cells import named

TARGET = 0.99
KIB = 1024


@dataclasses.dataclass(frozen=True)
class Cell:
    test: str  # as our program calls it
    theirs: str  # as ucx_perftest does
    size: int
    window: int
    # Operations in a second, about: how many make up a measurement over shared memory and over TCP.
    rates: tuple
    transports: str = ""

    @property
    def name(self):
        size = f"{self.size // KIB}K" if self.size >= KIB else str(self.size)
        return f"{self.test}-{size}" + (f"x{self.window}" if self.test.endswith("_bw") else "")

    @property
    def latency(self):
        return self.test.endswith("_lat")

    @property
    def unit(self):
        return "us one way, p50" if self.latency else "operations/s"

    def iterations(self, seconds):
        return max(2000, int(seconds * self.rates["tcp" in self.transports.split(",")]))


ALL = [
    Cell("tag_bw", "tag_bw", 8, 1, (8e6, 2e6)),
    Cell("tag_bw", "tag_bw", 256, 1, (6e6, 1e6)),
    Cell("tag_bw", "tag_bw", 4 * KIB, 32, (1e6, 2e5)),
    Cell("tag_bw", "tag_bw", 64 * KIB, 32, (5e4, 2e4)),
    Cell("tag_lat", "tag_lat", 8, 1, (2e6, 5e4)),
    Cell("am_lat", "ucp_am_lat", 8, 1, (2e6, 5e4)),
    Cell("put_lat", "ucp_put_lat", 4 * KIB, 1, (8e5, 4e4)),
    Cell("put_bw", "ucp_put_bw", 4 * KIB, 1, (5e6, 4e4)),
    Cell("get_bw", "ucp_get", 4 * KIB, 1, (5e6, 4e4)),
]


def names():
    return [cell.name for cell in ALL]


def choose(wanted, transports):
    """The cells named in `wanted` (comma-separated; None: all), each over each of `transports`."""
    chosen = named(wanted, ALL)
    return [dataclasses.replace(cell, transports=name) for name in transports for cell in chosen]
