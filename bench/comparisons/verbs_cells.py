# SPDX-License-Identifier: Apache-2.0
"""What bench/compare verbs measures, and the goals."""
import dataclasses

from .cells import KIB, MIB, Cell, size_name

# Round trips of ib_send_lat, and a share of ib_write_bw.
LATENCY_GOAL = 2.0
BANDWIDTH_GOAL = 0.9

# Who is held against whom, the main pair first.
PAIRS = {
    "lat": (("weft", "ib_send_lat"),),
    "rate": (("weft", "ib_send_bw"),),
    "bw": (("registered", "ib_write_bw"), ("registered", "ib_read_bw"), ("registered", "copied")),
}
SIDES = {
    "lat": ("ib_send_lat", "weft"),
    "rate": ("ib_send_bw", "weft"),
    "bw": ("ib_write_bw", "ib_read_bw", "registered", "copied"),
}


@dataclasses.dataclass(frozen=True)
class Transfer(Cell):
    kind: str
    size: int
    polls: bool
    # About as many as perftest does in a second of an emulated machine: it cannot do all it is asked for a time.
    iterations: int
    in_flight: int = 1
    goal: float | None = None

    @property
    def name(self):
        return f"{self.kind}-{size_name(self.size)}-{'poll' if self.polls else 'events'}"

    @property
    def sides(self):
        return SIDES[self.kind]

    @property
    def pairs(self):
        return PAIRS[self.kind]

    @property
    def smaller_is_better(self):
        return self.kind == "lat"

    @property
    def unit(self):
        return {"lat": "us, there and back", "rate": "1/s", "bw": "Gb/s"}[self.kind]


def _cells(polls):
    yield Transfer("lat", 64, polls, 500, goal=LATENCY_GOAL)
    yield Transfer("lat", 4 * KIB, polls, 500)
    yield Transfer("lat", 64 * KIB, polls, 200)
    yield Transfer("lat", MIB, polls, 50)
    yield Transfer("rate", 64, polls, 2000, in_flight=64)
    yield Transfer("rate", 4 * KIB, polls, 1000, in_flight=64)
    yield Transfer("bw", 64 * KIB, polls, 500, in_flight=4, goal=BANDWIDTH_GOAL)
    yield Transfer("bw", 256 * KIB, polls, 150, in_flight=4)
    yield Transfer("bw", MIB, polls, 50, in_flight=4, goal=BANDWIDTH_GOAL)


CELLS = [*_cells(False), *_cells(True)]
