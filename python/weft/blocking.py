# SPDX-License-Identifier: Apache-2.0
"""The client for scripts and threads: each call blocks its thread, and other threads of Python run meanwhile."""

from __future__ import annotations

import atexit
import weakref
from types import TracebackType
from typing import Any, Dict, Iterator, List, Optional, Type

from . import _core
from ._client import DESCRIBE, Timeout, build, core_options, methods_of, seconds, streams_only, the_only, write_log
from ._types import Answer


class Stream:
    """A stream of a function: `for item in stream`, write() and result(). Made by Client.open().

    One thread at a time reads, and one writes. Dropping the stream before its end cancels it.
    """

    def __init__(self, client: "Client", method: _core.Method, number: int, returns: Any, items: Any) -> None:
        self._client = client
        self._method = method
        self._number = number
        self._returns = returns
        self._items = items
        #: The attachment of the item that was read last: a weft.Buffer.
        self.attachment: Optional[_core.Buffer] = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        found = self._client._do(self._client._core.next, self._number, self._method)
        if found is None:
            raise StopIteration
        value, self.attachment = found
        return build(self._items, value)

    def write(self, item: Any) -> bool:
        """Sends an item, and waits while the handler is slow to read. Returns False when the handler takes no more."""
        written: bool = self._client._do(self._client._core.write, self._number, self._method, item)
        return written

    def end_writing(self) -> None:
        """Says that no more items are written. Reading goes on."""
        self._client._do(self._client._core.finish, self._number, self._method, False)

    def result(self) -> Any:
        """Ends writing, drops unread items, and returns the result of the function, once."""
        value = self._client._do(self._client._core.finish, self._number, self._method, True)
        return build(self._returns, value)

    def cancel(self) -> None:
        """Ends the stream, also for the handler."""
        self._client._core.drop_stream(self._number)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.cancel()

    def __del__(self) -> None:
        self.cancel()


class Client:
    """Calls the functions of one server from any number of threads, over one connection.

    The connection has a thread of its own, which runs no Python. Use it as `with weft.blocking.connect(url) as client`, or
    call close(). A signal such as Ctrl-C ends a waiting call.
    """

    def __init__(self, url: str, options: Dict[str, Any]) -> None:
        self._core = _core.ThreadedClient(url, **options)
        self._methods: Dict[str, _core.Method] = {}
        _OPEN.add(self)

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends all calls with CANCELLED, and the connection."""
        try:
            self._core.close()
        finally:
            write_log(self._core.take_log())

    def call(
        self,
        name: str,
        *arguments: Any,
        timeout: Timeout = None,
        metadata: Optional[Dict[str, str]] = None,
        attachment: Any = None,
        into: Any = None,
        with_attachment: bool = False,
        returns: Any = None,
    ) -> Any:
        """Calls a function by its name, and returns its result. Options and errors: as weft.Client.call()."""
        method = self._methods.get(name) or self._find(name)
        streams_only(method, False)
        attached = with_attachment or into is not None
        value = self._do(self._core.call, method, arguments, seconds(timeout), metadata, attachment, into, attached)
        if attached:
            return Answer(build(returns, value[0]), value[1], value[2])
        return build(returns, value)

    def open(
        self,
        name: str,
        *arguments: Any,
        timeout: Timeout = None,
        metadata: Optional[Dict[str, str]] = None,
        returns: Any = None,
        items: Any = None,
    ) -> Stream:
        """Opens a stream: calls a function that gives items, takes them, or both. It has no timeout unless one is given."""
        method = self._methods.get(name) or self._find(name)
        streams_only(method, True)
        number = self._do(self._core.open, method, arguments, seconds(timeout), metadata)
        return Stream(self, method, number, returns, items)

    def stream(
        self,
        name: str,
        *arguments: Any,
        timeout: Timeout = None,
        metadata: Optional[Dict[str, str]] = None,
        items: Any = None,
    ) -> Iterator[Any]:
        """The items of a function that gives a stream: `for item in client.stream("count", 10)`."""
        with self.open(name, *arguments, timeout=timeout, metadata=metadata, items=items) as opened:
            yield from opened

    def methods(self, name: str = "") -> List[_core.Method]:
        """The functions called `name`, or all that may be called."""
        described = self._do(self._core.call, DESCRIBE, (name,), None, None, None, None, False)
        return methods_of(described)

    def _find(self, name: str) -> _core.Method:
        method = the_only(name, self.methods(name))
        self._methods[name] = method
        return method

    def _do(self, function: Any, *given: Any) -> Any:
        """Calls a function of the core, and writes the lines of the log that it left, also those of a failure."""
        try:
            return function(*given)
        finally:
            if self._core.has_log():
                write_log(self._core.take_log())


#: Clients to close before the interpreter ends: their threads outlive it otherwise.
_OPEN: "weakref.WeakSet[Client]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for client in list(_OPEN):
        client.close()


def connect(
    url: str,
    *,
    connect_timeout: Timeout = None,
    timeout: Timeout = None,
    ca_file: Optional[str] = None,
    certificate_file: Optional[str] = None,
    key_file: Optional[str] = None,
    server_name: Optional[str] = None,
    insecure: bool = False,
) -> Client:
    """A client of the server at `url`. Options: as weft.connect()."""
    return Client(
        url,
        core_options(connect_timeout, timeout, ca_file, certificate_file, key_file, server_name, insecure),
    )
