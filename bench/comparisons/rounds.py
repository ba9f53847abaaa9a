# SPDX-License-Identifier: Apache-2.0
"""Who is measured when."""
import os
import time

from .failure import Failure
from .progress import Progress


def interleaved(cells, sides, rounds, measure, label=lambda cell: cell.name, shown=None,
                seconds_max=None, clock=time.monotonic):
    """Yields each cell and what `measure(cell, side)` returned, for each side's name a list with one of each round.

    `sides(cell)` are names; `label(cell)` and `shown` are about the progress. With `seconds_max` each cell has an equal
    share of the time that is left, and no round but its first begins when that is over.
    """
    if (os.cpu_count() or 1) < 2:
        raise Failure("this needs two processors, one for the server and one for the client")
    with Progress(sum(len(sides(cell)) for cell in cells) * rounds, shown) as progress:
        end = None if seconds_max is None else clock() + seconds_max
        for before, cell in enumerate(cells):
            found = {side: [] for side in sides(cell)}
            until = None if end is None else clock() + (end - clock()) / (len(cells) - before)
            for number in range(rounds):
                if number and until is not None and clock() >= until:
                    progress.skip(len(found) * (rounds - number))
                    break
                # Who goes first changes from round to round: nobody always follows the same.
                for side in sides(cell) if number % 2 == 0 else reversed(sides(cell)):
                    progress.step(f"{label(cell)} {side}, round {number + 1} of {rounds}")
                    found[side].append(measure(cell, side))
            yield cell, found
