# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
from typing import Iterator

import pytest


class Server:
    """The C++ server of the tests, as a process."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [os.environ["WEFT_TEST_SERVER"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(30)


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    server = Server()
    yield server.url
    assert server.end() == 0


@pytest.fixture
def own_server() -> Iterator[Server]:
    server = Server()
    yield server
    server.end()
