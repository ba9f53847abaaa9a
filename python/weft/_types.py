# SPDX-License-Identifier: Apache-2.0
"""Values that have no type of their own in Python, and errors."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from typing import Any, NamedTuple, Optional

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class StatusCode(enum.IntEnum):
    """Codes of failures, the same set as gRPC's."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class RpcError(Exception):
    """A failure of a call: the handler's own, or one of the connection, the server or the client."""

    code: StatusCode
    #: The text of the failure.
    message: str
    #: The part of the system that reports it: "user" for a handler's own failure, "transport", "rpc", "codec", ...
    layer: str
    #: Advice: "never", "elsewhere", "backoff" or "reconnect".
    retry: str
    #: The number of the layer: an errno, or the handler's own.
    native: int
    #: Seconds that the server asks to wait before the next try; None if it names no time.
    retry_after: Optional[float]
    #: True if the call has certainly not run.
    unprocessed: bool
    #: Bytes that the handler attached to its failure.
    details: bytes

    def __init__(
        self,
        code: int,
        message: str = "",
        layer: str = "user",
        retry: str = "never",
        native: int = 0,
        retry_after: Optional[float] = None,
        unprocessed: bool = False,
        details: bytes = b"",
    ) -> None:
        self.code = StatusCode(code)
        self.message = message
        self.layer = layer
        self.retry = retry
        self.native = native
        self.retry_after = retry_after
        self.unprocessed = unprocessed
        self.details = details
        super().__init__(code, message, layer, retry, native, retry_after, unprocessed, details)

    def __str__(self) -> str:
        where = f" ({self.layer}{f', {self.native}' if self.native else ''})"
        return f"{self.code.name}{where}: {self.message}"


@dataclasses.dataclass(frozen=True)
class Variant:
    """A value of a std::variant: the number of its alternative, and the alternative's value."""

    index: int
    value: Any


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A weft::Result or a std::expected inside of a message: a value, or an error (an RpcError for a Result)."""

    ok: bool
    value: Any


class Answer(NamedTuple):
    """A result with the attachment that came with it."""

    value: Any
    #: A weft.Buffer; empty for an attachment that landed in the memory of the caller.
    attachment: Any
    #: The size of the attachment, wherever it is.
    attachment_bytes: int
