# SPDX-License-Identifier: Apache-2.0
"""Passes on what the guest writes to a file, while it does."""

import os
import pathlib

BYTES_AT_ONCE = 1 << 16


class Follower:
    """Copies a growing file to a descriptor, which stays the caller's."""

    def __init__(self, path: pathlib.Path, target: int):
        self._file = open(path, "rb", buffering=0)
        self._target = target

    def pass_on(self) -> None:
        """Everything that has been added since the last time."""
        while data := self._file.read(BYTES_AT_ONCE):
            while data:
                data = data[os.write(self._target, data) :]

    def close(self) -> None:
        self._file.close()
