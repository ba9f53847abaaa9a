# SPDX-License-Identifier: Apache-2.0
"""Calls of functions over Weft, from asyncio: `async with weft.connect(url) as client: await client.call("add", 1, 2)`.

weft.blocking has the same for scripts and threads.
"""

from . import blocking
from ._asyncio import AsyncStream, Client, connect
from ._core import Buffer, Method
from ._types import Answer, Outcome, RpcError, StatusCode, Variant

__all__ = [
    "Answer",
    "AsyncStream",
    "Buffer",
    "Client",
    "Method",
    "Outcome",
    "RpcError",
    "StatusCode",
    "Variant",
    "blocking",
    "connect",
]
