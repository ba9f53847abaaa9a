# SPDX-License-Identifier: Apache-2.0
"""The headers of include/weft itself are all that users include: few, in one list, and enough for each example and page.

What these declare and gather is in include/weft/detail, by layers. Decision 0073 says why.
"""

import re
from collections.abc import Iterator

from project_files import ROOT, project_files, read

HEADERS_MAX = 29
LIST = "docs/guide/headers.md"
INCLUDE = re.compile(r'#\s*include\s+[<"]weft/([^>"]+)[>"]')
# Programs of users, or texts that show some.
USERS = ("examples/", "docs/guide/", "tests/consumer/", "README.md")


def front_headers() -> set[str]:
    return {path.name for path in project_files() if path.parts[:2] == ("include", "weft") and len(path.parts) == 3}


def inside(text: str) -> Iterator[str]:
    """Headers of the library that `text` includes past the front door."""
    for header in INCLUDE.findall(text):
        if "/" in header:
            yield header


def problems() -> Iterator[str]:
    headers = front_headers()
    if len(headers) > HEADERS_MAX:
        yield f"include/weft: {len(headers)} headers; more than {HEADERS_MAX} are no list that one can hold"
    listed = set(re.findall(r"^\| `weft/(\w+\.hpp)`", read(ROOT / LIST), re.MULTILINE))
    for header in sorted(headers ^ listed):
        yield f"{LIST}: {header} is " + ("not in the table" if header in headers else "no header of include/weft")
    for path in project_files():
        if path.as_posix().startswith(USERS):
            for header in inside(read(path)):
                yield f"{path}: includes weft/{header}; users need no more than the headers of {LIST}"
