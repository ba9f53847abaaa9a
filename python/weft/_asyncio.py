# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio."""

from __future__ import annotations

import asyncio
import os
from types import TracebackType
from typing import Any, AsyncIterator, Dict, List, Optional, Type

from . import _core
from ._client import DESCRIBE, Timeout, build, core_options, methods_of, seconds, streams_only, the_only, write_log
from ._types import Answer


class AsyncStream:
    """A stream of a function: `async for item in stream`, write() and result(). Made by Client.stream().

    One task at a time reads, and one writes. Cancelling a task that waits for the stream cancels the stream, and so
    does dropping the stream before its end.
    """

    def __init__(self, client: "Client", method: _core.Method, number: int, returns: Any, items: Any) -> None:
        self._client = client
        self._method = method
        self._number = number
        self._returns = returns
        self._items = items
        #: The attachment of the item that was read last: a weft.Buffer.
        self.attachment: Optional[_core.Buffer] = None

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        found = await self._run(self._client._core.next, self._number, self._method)
        if found is None:
            raise StopAsyncIteration
        value, self.attachment = found
        return build(self._items, value)

    async def write(self, item: Any) -> bool:
        """Sends an item, and waits while the handler is slow to read. Returns False when the handler takes no more."""
        written: bool = await self._run(self._client._core.write, self._number, self._method, item)
        return written

    async def end_writing(self) -> None:
        """Says that no more items are written. Reading goes on."""
        await self._run(self._client._core.finish, self._number, self._method, False)

    async def result(self) -> Any:
        """Ends writing, drops unread items, and returns the result of the function, once."""
        value = await self._run(self._client._core.finish, self._number, self._method, True)
        return build(self._returns, value)

    async def _run(self, begin: Any, *given: Any) -> Any:
        try:
            return await self._client._run(begin, *given)
        except asyncio.CancelledError:
            # The item of a cancelled read may have arrived, so a stream that went on would lack one.
            self.cancel()
            raise

    def cancel(self) -> None:
        """Ends the stream, also for the handler."""
        self._client._core.drop_stream(self._number)

    async def __aenter__(self) -> "AsyncStream":
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.cancel()

    def __del__(self) -> None:
        self.cancel()


class Client:
    """Calls the functions of one server, from tasks of one asyncio loop.

    Any number of calls may be in flight on the one connection, which is made at the first call, and again after it was
    lost. Use it as `async with weft.connect(url) as client`, or call close().
    """

    def __init__(self, url: str, options: Dict[str, Any]) -> None:
        self._core = _core.DrivenClient(url, **options)
        self._methods: Dict[str, _core.Method] = {}
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._closed = False
        self._pid = os.getpid()

    async def __aenter__(self) -> "Client":
        self._attach()
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends all calls with CANCELLED, and the connection."""
        self._closed = True
        # A child of fork has the loop's descriptor too, and would take the watch of its parent away.
        if self._loop is not None and not self._loop.is_closed() and os.getpid() == self._pid:
            self._loop.remove_reader(self._core.fileno())
        self._loop = None
        self._core.close()
        write_log(self._core.take_log())

    async def call(
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
        """Calls a function by its name, and returns its result.

        Values are converted by the server's description of the function; one that does not fit raises TypeError or
        ValueError with its place, and nothing is sent. `timeout` is in seconds, or a timedelta. `attachment` is an
        object with contiguous memory, which is sent from where it lies and must not change meanwhile; the attachment
        of the answer lands in `into`, or in a weft.Buffer. With either `into` or `with_attachment` the result is a
        weft.Answer. `returns` is a type, such as a dataclass or a list of dataclasses, that the result is built as.
        Cancelling the task cancels the call. Raises RpcError.
        """
        method = self._methods.get(name) or await self._find(name)
        streams_only(method, False)
        attached = with_attachment or into is not None
        value = await self._run(
            self._core.call, method, arguments, seconds(timeout), metadata, attachment, into, attached
        )
        if attached:
            return Answer(build(returns, value[0]), value[1], value[2])
        return value if returns is None else build(returns, value)

    async def open(
        self,
        name: str,
        *arguments: Any,
        timeout: Timeout = None,
        metadata: Optional[Dict[str, str]] = None,
        returns: Any = None,
        items: Any = None,
    ) -> AsyncStream:
        """Opens a stream: calls a function that gives items, takes them, or both. It has no timeout unless one is given."""
        method = self._methods.get(name) or await self._find(name)
        streams_only(method, True)
        future = self._attach().create_future()
        number = self._core.open(future, method, arguments, seconds(timeout), metadata)
        stream = AsyncStream(self, method, number, returns, items)
        await future
        return stream

    async def stream(
        self,
        name: str,
        *arguments: Any,
        timeout: Timeout = None,
        metadata: Optional[Dict[str, str]] = None,
        items: Any = None,
    ) -> AsyncIterator[Any]:
        """The items of a function that gives a stream: `async for item in client.stream("count", 10)`."""
        opened = await self.open(name, *arguments, timeout=timeout, metadata=metadata, items=items)
        async with opened:
            async for item in opened:
                yield item

    async def methods(self, name: str = "") -> List[_core.Method]:
        """The functions called `name`, or all that may be called."""
        described = await self._run(self._core.call, DESCRIBE, (name,), None, None, None, None, False)
        return methods_of(described)

    async def _find(self, name: str) -> _core.Method:
        method = the_only(name, await self.methods(name))
        self._methods[name] = method
        return method

    def _attach(self) -> asyncio.AbstractEventLoop:
        """The running loop, which turns the client's own from the first call on."""
        if self._closed:
            raise RuntimeError("the client is closed")
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            # asyncio says the same in a child of fork, although the loop runs there.
            if os.getpid() != self._pid:
                raise RuntimeError("the client was made before a fork: make another one in the child") from None
            raise
        if self._loop is None:
            loop.add_reader(self._core.fileno(), self._turn)
            self._loop = loop
        elif self._loop is not loop:
            raise RuntimeError("the client belongs to another asyncio loop: make one in each loop")
        return loop

    def _turn(self) -> None:
        if self._core.turn():
            write_log(self._core.take_log())

    async def _run(self, begin: Any, *given: Any) -> Any:
        future = self._attach().create_future()
        number = begin(future, *given)
        try:
            return await future
        except asyncio.CancelledError:
            self._core.cancel(number)
            raise


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
    """A client of the server at `url`, such as "tcp://127.0.0.1:9000", "tls://host:port" or "unix:///path".

    `timeout` is the one of calls without their own, 30 seconds if it is None. The files are those of TLS, in PEM.
    """
    return Client(
        url,
        core_options(connect_timeout, timeout, ca_file, certificate_file, key_file, server_name, insecure),
    )
