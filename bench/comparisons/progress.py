# SPDX-License-Identifier: Apache-2.0
import sys
import time

WIDTH = 30


class Progress:
    """A bar on stderr with the time left; silent when stderr is not a terminal, unless `shown` says otherwise."""

    def __init__(self, steps, shown=None, clock=time.monotonic):
        self._steps = steps
        self._done = 0
        self._taken = 0  # of those that are done, the ones that took time
        self._shown = sys.stderr.isatty() if shown is None else shown
        self._clock = clock
        self._began = clock()

    def __enter__(self):
        return self

    def step(self, text):
        if self._shown:
            full = WIDTH * self._done // self._steps
            sys.stderr.write(f"\r\033[K[{'#' * full}{'.' * (WIDTH - full)}] {text}{self._left()}")
            sys.stderr.flush()
        self._done += 1
        self._taken += 1

    def skip(self, steps):
        self._done += steps

    def __exit__(self, *_):
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def _left(self):
        """The time that the rest takes if it is as fast as what was done."""
        if not self._taken:
            return ""
        seconds = (self._clock() - self._began) / self._taken * (self._steps - self._done)
        return f", about {seconds / 60:.0f} min left" if seconds >= 90 else f", about {seconds:.0f} s left"
