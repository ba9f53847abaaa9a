# SPDX-License-Identifier: Apache-2.0
import sys

WIDTH = 30


class Progress:
    """A bar on stderr; silent when stderr is not a terminal, unless `shown` says otherwise."""

    def __init__(self, steps, shown=None):
        self._steps = steps
        self._done = 0
        self._shown = sys.stderr.isatty() if shown is None else shown

    def __enter__(self):
        return self

    def step(self, text):
        if self._shown:
            full = WIDTH * self._done // self._steps
            sys.stderr.write(f"\r\033[K[{'#' * full}{'.' * (WIDTH - full)}] {text}")
            sys.stderr.flush()
        self._done += 1

    def __exit__(self, *_):
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
