# SPDX-License-Identifier: Apache-2.0
"""What is measured, and the goals."""
import dataclasses

from compare_parts.cells import KIB, MIB, named

# Round trips of ib_send_lat, and a share of ib_write_bw.
LATENCY_GOAL = 2.0
BANDWIDTH_GOAL = 0.9

# Who is measured, the one first that the others are held against.
SIDES = {
    "lat": ("ib_send_lat", "weft"),
    "rate": ("ib_send_bw", "weft"),
    "bw": ("ib_write_bw", "ib_read_bw", "registered", "copied"),
}


@dataclasses.dataclass(frozen=True)
class Cell:
    kind: str
    size: int
    polls: bool
    # About as many as perftest does in a second of an emulated machine: it cannot do all it is asked for a time.
    iterations: int
    in_flight: int = 1
    goal: float | None = None

    @property
    def name(self):
        unit = f"{self.size // MIB}M" if self.size >= MIB else f"{self.size // KIB}K" if self.size >= KIB else self.size
        return f"{self.kind}-{unit}-{'poll' if self.polls else 'events'}"

    @property
    def sides(self):
        return SIDES[self.kind]

    @property
    def smaller_is_better(self):
        return self.kind == "lat"

    @property
    def unit(self):
        return {"lat": "us, there and back", "rate": "1/s", "bw": "Gb/s"}[self.kind]


def _cells(polls):
    yield Cell("lat", 64, polls, 500, goal=LATENCY_GOAL)
    yield Cell("lat", 4 * KIB, polls, 500)
    yield Cell("lat", 64 * KIB, polls, 200)
    yield Cell("lat", MIB, polls, 50)
    yield Cell("rate", 64, polls, 2000, in_flight=64)
    yield Cell("rate", 4 * KIB, polls, 1000, in_flight=64)
    yield Cell("bw", 64 * KIB, polls, 500, in_flight=4, goal=BANDWIDTH_GOAL)
    yield Cell("bw", 256 * KIB, polls, 150, in_flight=4)
    yield Cell("bw", MIB, polls, 50, in_flight=4, goal=BANDWIDTH_GOAL)


ALL = [*_cells(False), *_cells(True)]


def names():
    return [cell.name for cell in ALL]


def choose(wanted):
    """The cells named in `wanted` (comma-separated; None: all)."""
    return [] if wanted == "none" else named(wanted, ALL)
