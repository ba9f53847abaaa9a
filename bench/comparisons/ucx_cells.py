# SPDX-License-Identifier: Apache-2.0
"""What bench/compare ucx measures, and the goal."""
import dataclasses

from .cells import KIB, Cell, size_name


@dataclasses.dataclass(frozen=True)
class Operation(Cell):
    test: str  # as our program calls it
    theirs: str  # as ucx_perftest does
    size: int
    window: int
    # Operations in a second, about: how many make up a measurement over shared memory and over TCP.
    rates: tuple
    transports: str = ""

    goal = 0.99

    @property
    def name(self):
        return f"{self.test}-{size_name(self.size)}" + (f"x{self.window}" if self.test.endswith("_bw") else "")

    @property
    def latency(self):
        return self.test.endswith("_lat")

    @property
    def unit(self):
        return "us one way, p50" if self.latency else "operations/s"

    @property
    def pairs(self):
        """So that above 1 is faster than ucx_perftest."""
        return (("theirs", "ours"), ("theirs", "c")) if self.latency else (("ours", "theirs"), ("c", "theirs"))

    def iterations(self, seconds):
        return max(2000, int(seconds * self.rates["tcp" in self.transports.split(",")]))


CELLS = [
    Operation("tag_bw", "tag_bw", 8, 1, (8e6, 2e6)),
    Operation("tag_bw", "tag_bw", 256, 1, (6e6, 1e6)),
    Operation("tag_bw", "tag_bw", 4 * KIB, 32, (1e6, 2e5)),
    Operation("tag_bw", "tag_bw", 64 * KIB, 32, (5e4, 2e4)),
    Operation("tag_lat", "tag_lat", 8, 1, (2e6, 5e4)),
    Operation("am_lat", "ucp_am_lat", 8, 1, (2e6, 5e4)),
    Operation("put_lat", "ucp_put_lat", 4 * KIB, 1, (8e5, 4e4)),
    Operation("put_bw", "ucp_put_bw", 4 * KIB, 1, (5e6, 4e4)),
    Operation("get_bw", "ucp_get", 4 * KIB, 1, (5e6, 4e4)),
]
