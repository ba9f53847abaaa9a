# SPDX-License-Identifier: Apache-2.0
"""Who is measured when."""
import os

from .failure import Failure
from .progress import Progress


def interleaved(cells, sides, rounds, measure, label=lambda cell: cell.name, shown=None):
    """Yields each cell and what `measure(cell, side)` returned, for each side's name a list with one of each round.

    `sides(cell)` are names; `label(cell)` and `shown` are about the progress.
    """
    if (os.cpu_count() or 1) < 2:
        raise Failure("this needs two processors, one for the server and one for the client")
    with Progress(sum(len(sides(cell)) for cell in cells) * rounds, shown) as progress:
        for cell in cells:
            found = {side: [] for side in sides(cell)}
            for number in range(rounds):
                # Who goes first changes from round to round: nobody always follows the same.
                for side in sides(cell) if number % 2 == 0 else reversed(sides(cell)):
                    progress.step(f"{label(cell)} {side}, round {number + 1} of {rounds}")
                    found[side].append(measure(cell, side))
            yield cell, found
