# SPDX-License-Identifier: Apache-2.0
"""Notices a guest that hangs before it has done anything, as some emulated boots do."""

import pathlib
import time

import job

# Each of these grows while the guest boots and sets itself up.
SIGNS_OF_LIFE = ("console", "setup.log", "steps")


class Hung(Exception):
    """Nothing of the command has run, so it may be begun again."""


class Watch:
    def __init__(self, folder: pathlib.Path, silence_seconds: int):
        self._folder = folder
        self._silence_seconds = silence_seconds
        self._said_bytes = -1
        self._last_said = 0.0
        self._command_begun = False

    def look(self) -> None:
        """Throws Hung. What the command does once it has begun is its own affair."""
        said_bytes = sum(self._bytes_of(name) for name in SIGNS_OF_LIFE)
        if said_bytes != self._said_bytes:
            self._said_bytes = said_bytes
            self._last_said = time.monotonic()
            self._command_begun = any(name == "command" for _, name in job.steps(self._folder))
        elif not self._command_begun and time.monotonic() - self._last_said > self._silence_seconds:
            raise Hung

    def _bytes_of(self, name: str) -> int:
        try:
            return (self._folder / name).stat().st_size
        except OSError:
            return 0
