# SPDX-License-Identifier: Apache-2.0
"""Numbers that pages state and that stand elsewhere: the guard's, and the version of the messages."""

import json
import re
from collections.abc import Iterator, Mapping

from project_files import ROOT

Cells = Mapping[str, Mapping[str, float]]

CLIENT = "instructions of the client"
SERVER = "instructions of the server"
BOTH = "instructions of both sides"
GUARD_PAGE = "docs/performance.md"
# A row of the table of the guard, by the cell of baseline.json that it shows.
GUARD_ROWS = {
    "tcp 1": "tcp, 1 in flight",
    "tcp 16": "tcp, 16 in flight",
    "tcp 256": "tcp, 256 in flight",
    "memory 1": "memory, 1 in flight",
    "memory 16": "memory, 16 in flight",
    "memory 256": "memory, 256 in flight",
    "tcp-attached 1": "tcp, 1 in flight, an attachment there and back",
    "tcp-attached 256": "tcp, 256 in flight, an attachment there and back",
    "tcp-down 1": "tcp, an item of a stream from the server",
    "tcp-up 1": "tcp, an item of a stream from the client",
}
BILL_PAGE = "docs/tour.md"

MESSAGE_VERSION = re.compile(r"\bkMessageVersion = (\d+);")
# The places of a page that state it: the page, and what the number stands in.
VERSION_PLACES = (
    ("docs/internals/wire.md", r"version of the\s+messages \((\d+)\)", 2),
    ("docs/internals/transport.md", r"^- The version is (\d+)\.", 1),
)


def whole(value: float) -> str:
    return f"{int(value + 0.5):,}"


def short(value: float) -> str:
    return f"{round(value, 3):g}"


def guard_row(cell: str, numbers: Mapping[str, float]) -> str:
    if BOTH in numbers:
        instructions = f"{whole(numbers[BOTH])}, both sides |"
    else:
        instructions = f"{whole(numbers[CLIENT])} | {whole(numbers[SERVER])}"
    return f"| {GUARD_ROWS[cell]} | {instructions} | {short(numbers['system calls'])} | {short(numbers['allocations'])} |"


def bill_rows(cells: Cells) -> Iterator[str]:
    alone, many = cells["tcp 1"], cells["tcp 256"]
    for name in ("system calls", "allocations"):
        yield f"| {name} per call, both sides together | {short(alone[name])} | {short(many[name])} |"
    pairs = (f"{whole(numbers[CLIENT])}, {whole(numbers[SERVER])}" for numbers in (alone, many))
    yield f"| instructions of the client, of the server | {' | '.join(pairs)} |"


def guard_problems(cells: Cells, performance: str, tour: str) -> Iterator[str]:
    for row in (guard_row(cell, cells[cell]) for cell in GUARD_ROWS):
        if row not in performance:
            yield f"{GUARD_PAGE}: the table of the guard should have the row\n{row}"
    for row in bill_rows(cells):
        if row not in tour:
            yield f"{BILL_PAGE}: the bill should have the row\n{row}"


def version_problems() -> Iterator[str]:
    version = MESSAGE_VERSION.search((ROOT / "src/transport/message_header.hpp").read_text()).group(1)
    for page, pattern, times in VERSION_PLACES:
        stated = re.findall(pattern, (ROOT / page).read_text(), re.MULTILINE)
        if stated != [version] * times:
            yield f"{page}: states the version of the messages as {stated or 'nothing'}; it is {version}, {times} times"


def problems() -> Iterator[str]:
    cells = json.loads((ROOT / "tests/guard/baseline.json").read_text())["cells"]
    yield from guard_problems(cells, (ROOT / GUARD_PAGE).read_text(), (ROOT / BILL_PAGE).read_text())
    yield from version_problems()
