# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio against a C++ server."""

import asyncio
import dataclasses
import datetime
import gc
import logging
import sys
from typing import Any, Awaitable, Callable, List, Optional

import pytest
import weft


def run(url: str, work: Callable[[weft.Client], Awaitable[Any]], **options: Any) -> Any:
    async def main() -> Any:
        async with weft.connect(url, **options) as client:
            return await work(client)

    return asyncio.run(main())


@dataclasses.dataclass
class Point:
    x: float
    y: float


@dataclasses.dataclass
class Shape:
    name: str
    corners: List[Point]
    colour: Optional[int] = None
    note: Optional[str] = None


async def none_is_left(client: weft.Client) -> None:
    """Waits until the server has heard of every cancel: calls of one connection keep their order."""
    await client.call("nothing")


def test_calls_return_results(url: str) -> None:
    async def work(client: weft.Client) -> None:
        assert await client.call("math/add", 1, 2, timeout=1.0) == 3
        assert await client.call("echo/text", "h\u00e9") == "h\u00e9"
        assert await client.call("nothing") is None
        many = [client.call("math/add", i, i) for i in range(200)]
        assert await asyncio.gather(*many) == [2 * i for i in range(200)]

    run(url, work)


def test_values_travel_by_the_description_of_the_server(url: str) -> None:
    shape = Shape("s", [Point(1, 2), Point(3, 4)], colour=5, note="n")

    async def work(client: weft.Client) -> None:
        assert await client.call("echo/shape", shape) == dataclasses.asdict(shape)
        assert await client.call("echo/shape", shape, returns=Shape) == shape
        plain = {"name": "p", "corners": []}
        assert await client.call("echo/shape", plain) == {**plain, "colour": None, "note": None}
        points = await client.call("echo/points", [(1, 2)], returns=List[Point])
        assert points == [Point(1.0, 2.0)]
        everything = {
            "flag": True,
            "small": -1,
            "large": 2**63,
            "single": 0.25,
            "raw": b"raw",
            "numbers": [1.0, 2.0],
            "three": [1, 2, 3],
            "names": {"a", "b"},
            "places": {"here": {"x": 1.0, "y": 2.0}},
            "by_number": {-1: ["x"], 2: []},
            "pairs": [(1, 2), (1, 3)],
            "both": (1, "b"),
            "choice": weft.Variant(2, {"x": 0.0, "y": 1.0}),
            "maybe": (None,),
            "wait": datetime.timedelta(milliseconds=15),
            "when": datetime.datetime(2026, 11, 29, 21, 0, 0, 5, datetime.timezone.utc),
            "outcome": weft.Outcome(True, 6),
        }
        assert await client.call("echo/everything", everything) == everything

    run(url, work)


def test_wrong_values_raise_before_anything_is_sent(url: str) -> None:
    async def work(client: weft.Client) -> None:
        with pytest.raises(TypeError, match=r"math/add: arguments\[1\]: an int is expected, not str"):
            await client.call("math/add", 1, "2")
        with pytest.raises(TypeError, match=r"echo/shape: arguments\[0\]\.corners\[0\]\.y: a float"):
            await client.call("echo/shape", {"name": "s", "corners": [{"x": 1.0, "y": "?"}]})
        with pytest.raises(TypeError, match="attachment"):
            await client.call("attach", 1, attachment="text")
        with pytest.raises(TypeError, match="into"):
            await client.call("attach", 1, attachment=b"a", into=b"constant")
        with pytest.raises(ValueError, match="NaN"):
            await client.call("nothing", timeout=float("nan"))
        assert await client.call("math/add", 1, 2) == 3

    run(url, work)


def test_failures_are_rpc_errors(url: str) -> None:
    async def work(client: weft.Client) -> None:
        with pytest.raises(weft.RpcError) as failed:
            await client.call("fail", int(weft.StatusCode.RESOURCE_EXHAUSTED), "too much", 250)
        error = failed.value
        assert error.code is weft.StatusCode.RESOURCE_EXHAUSTED
        assert (error.message, error.layer, error.native) == ("too much", "user", 7)
        assert error.retry_after == 0.25
        with pytest.raises(weft.RpcError, match="no function 'none'") as missing:
            await client.call("none")
        assert missing.value.code is weft.StatusCode.UNIMPLEMENTED
        with pytest.raises(TypeError, match="open it by stream"):
            await client.call("count", 1)
        with pytest.raises(TypeError, match="does not stream"):
            await client.open("math/add", 1, 2)

    run(url, work)


def test_a_server_that_is_not_there_is_unavailable() -> None:
    async def work(client: weft.Client) -> None:
        with pytest.raises(weft.RpcError) as failed:
            await client.call("math/add", 1, 2)
        assert failed.value.code is weft.StatusCode.UNAVAILABLE
        assert failed.value.unprocessed

    run("tcp://127.0.0.1:1", work, timeout=5)


def test_timeouts_and_cancelled_tasks_end_the_call_at_the_server(url: str) -> None:
    async def cancelled_is(client: weft.Client, wanted: int) -> None:
        while await client.call("cancelled") != wanted:
            await asyncio.sleep(0)

    async def work(client: weft.Client) -> None:
        before = await client.call("cancelled")
        with pytest.raises(weft.RpcError) as late:
            await client.call("wait", timeout=datetime.timedelta(milliseconds=5))
        assert late.value.code is weft.StatusCode.DEADLINE_EXCEEDED
        await cancelled_is(client, before + 1)
        task = asyncio.ensure_future(client.call("wait"))
        await client.call("nothing")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await cancelled_is(client, before + 2)
        # Before anything was sent.
        early = asyncio.ensure_future(client.call("wait"))
        await asyncio.sleep(0)
        early.cancel()
        with pytest.raises(asyncio.CancelledError):
            await early
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.call("wait"), 0.005)
        assert await client.call("math/add", 1, 2) == 3

    run(url, work)


def test_attachments_travel_in_both_directions(url: str) -> None:
    async def work(client: weft.Client) -> None:
        sent = bytearray(b"abc" * 100_000)
        answer = await client.call("attach", 1, attachment=sent, with_attachment=True)
        assert answer.value == len(sent) == answer.attachment_bytes == len(answer.attachment)
        assert isinstance(answer.attachment, weft.Buffer)
        assert memoryview(answer.attachment).nbytes == len(sent)
        assert bytes(answer.attachment) == b"bcd" * 100_000
        landing = bytearray(len(sent))
        answer = await client.call("attach", 2, attachment=memoryview(sent), into=landing)
        assert landing == b"cde" * 100_000
        assert answer.attachment_bytes == len(sent) and len(answer.attachment) == 0
        with pytest.raises(weft.RpcError):
            await client.call("attach", 2, attachment=sent, into=bytearray(3))
        empty = await client.call("attach", 1, with_attachment=True)
        assert bytes(empty.attachment) == b"" and empty.value == 0

    run(url, work)


def test_memory_of_a_call_stays_until_its_end(url: str) -> None:
    async def work(client: weft.Client) -> None:
        landing = bytearray(10)
        task = asyncio.ensure_future(client.call("wait", attachment=bytearray(1000), into=landing))
        await client.call("nothing")
        # The memory is in use: Python refuses to move it.
        with pytest.raises(BufferError):
            landing.extend(b"more")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await client.call("nothing")
        landing.extend(b"more")

    run(url, work)


def test_a_buffer_outlives_its_client(url: str) -> None:
    async def work(client: weft.Client) -> Any:
        return (await client.call("attach", 0, attachment=b"x" * 200_000, with_attachment=True)).attachment

    view = memoryview(run(url, work))
    gc.collect()
    assert bytes(view) == b"x" * 200_000


def test_metadata_travel(url: str) -> None:
    async def work(client: weft.Client) -> None:
        assert await client.call("metadata", "tenant", metadata={"tenant": "blue"}) == "blue"
        assert await client.call("metadata", "tenant") == "none"
        for wrong in ({"a": 1}, {1: "a"}, {"a": None}):
            with pytest.raises(TypeError, match="metadata: a str is expected, not"):
                await client.call("metadata", "tenant", metadata=wrong)  # type: ignore[arg-type]

    run(url, work)


def test_streams_give_items(url: str) -> None:
    async def work(client: weft.Client) -> None:
        assert [item async for item in client.stream("count", 1000)] == list(range(1, 1001))
        assert [item async for item in client.stream("count", 0)] == []
        async for item in client.stream("count", 2_000_000_000):
            if item == 5:
                break
        assert await client.call("math/add", 1, 2) == 3

    run(url, work)


def test_streams_take_items_and_return_results(url: str) -> None:
    async def work(client: weft.Client) -> None:
        async with await client.open("sum") as numbers:
            for i in range(1000):
                assert await numbers.write(i)
            assert await numbers.result() == 499_500
        async with await client.open("echo/all", items=Point) as both:
            await both.write(Point(1, 2))
            assert await both.__anext__() == Point(1.0, 2.0)
            with pytest.raises(TypeError, match=r"echo/all: item\.x: the value is missing"):
                await both.write({"y": 2})
            await both.write((3, 4))
            await both.end_writing()
            assert [point async for point in both] == [Point(3.0, 4.0)]
            assert await both.result() == 2

    run(url, work)


def test_one_task_reads_a_stream(url: str) -> None:
    async def work(client: weft.Client) -> None:
        async with await client.open("echo/all") as both:
            first = asyncio.ensure_future(both.__anext__())
            await client.call("nothing")
            with pytest.raises(weft.RpcError, match="one task at a time"):
                await both.__anext__()
            await both.write((1, 2))
            assert await first == {"x": 1.0, "y": 2.0}

    run(url, work)


def test_a_cancelled_read_ends_its_stream(url: str) -> None:
    async def work(client: weft.Client) -> None:
        both = await client.open("echo/all")
        reading = asyncio.ensure_future(both.__anext__())
        await client.call("nothing")
        await both.write((1, 2))
        # The item is there, and the task has not run since.
        while not reading._fut_waiter.done():  # type: ignore[attr-defined]
            client._core.turn()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        # Another item would hide that the first one is lost.
        with pytest.raises(weft.RpcError, match="was closed"):
            await both.write((3, 4))
        with pytest.raises(weft.RpcError, match="was closed"):
            await both.__anext__()
        assert await client.call("math/add", 1, 2) == 3

    run(url, work)


def test_a_stream_that_was_closed_says_so(url: str) -> None:
    async def work(client: weft.Client) -> None:
        both = await client.open("echo/all")
        waiting = asyncio.ensure_future(both.__anext__())
        await client.call("nothing")
        both.cancel()
        with pytest.raises(weft.RpcError) as closed:
            await waiting
        assert closed.value.code is weft.StatusCode.CANCELLED
        with pytest.raises(weft.RpcError, match="was closed"):
            await both.write((1, 2))

    run(url, work)


def test_closing_the_client_ends_its_calls(url: str) -> None:
    async def main() -> None:
        client = weft.connect(url)
        waiting = asyncio.ensure_future(client.call("wait"))
        stream = await client.open("echo/all")
        reading = asyncio.ensure_future(stream.__anext__())
        await client.call("nothing")
        await client.close()
        for task in (waiting, reading):
            with pytest.raises(weft.RpcError) as ended:
                await task
            assert ended.value.code is weft.StatusCode.CANCELLED
        with pytest.raises(RuntimeError, match="the client is closed"):
            await client.call("nothing")
        await client.close()

    asyncio.run(main())


def test_a_closed_client_watches_nothing(url: str) -> None:
    async def main() -> None:
        client = weft.connect(url)
        await client.call("nothing")
        await client.close()
        for late in (client.call("nothing"), client.open("count", 1), client.__aenter__()):
            with pytest.raises(RuntimeError, match="the client is closed"):
                await late
        assert not asyncio.get_running_loop().remove_reader(client._core.fileno())

    asyncio.run(main())


def test_a_loop_that_cannot_watch_does_not_keep_the_client(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    client = weft.connect(url)

    def refuse(*_: Any) -> None:
        raise NotImplementedError

    async def refused() -> None:
        monkeypatch.setattr(asyncio.get_running_loop(), "add_reader", refuse)
        with pytest.raises(NotImplementedError):
            await client.call("nothing")

    async def works() -> None:
        assert await client.call("math/add", 1, 2) == 3
        await client.close()

    asyncio.run(refused())
    asyncio.run(works())


def test_a_lost_server_fails_calls_and_is_called_again(own_server: Any) -> None:
    async def work(client: weft.Client) -> None:
        waiting = asyncio.ensure_future(client.call("wait"))
        await client.call("bye")
        with pytest.raises(weft.RpcError) as lost:
            await waiting
        assert lost.value.code is weft.StatusCode.UNAVAILABLE
        assert not lost.value.unprocessed
        assert await client.call("math/add", 1, 2) == 3

    run(own_server.url, work)


def test_a_client_belongs_to_one_loop(url: str) -> None:
    client = weft.connect(url)
    assert asyncio.run(client.call("math/add", 1, 2)) == 3
    with pytest.raises(RuntimeError, match="another asyncio loop"):
        asyncio.run(client.call("math/add", 1, 2))
    asyncio.run(client.close())


def test_functions_are_listed(url: str) -> None:
    async def work(client: weft.Client) -> None:
        methods = {method.name: method for method in await client.methods()}
        assert methods["math/add"].types == "(i32, i32) -> (i32)"
        assert methods["count"].gives_stream and not methods["count"].takes_stream

    run(url, work)


def test_the_log_goes_to_logging(own_server: Any, caplog: pytest.LogCaptureFixture) -> None:
    # A carrier that this build or machine does not have, or a server that is gone, is a warning.
    with caplog.at_level(logging.DEBUG, logger="weft"):
        core = weft._core.DrivenClient(own_server.url, **weft._client.core_options(None, None, None, None, None, None, False))
        assert core.take_log() == []
        weft._client.write_log([(2, "a line with 100%")])
        core.close()
    assert [record.message for record in caplog.records] == ["a line with 100%"]
    assert caplog.records[0].levelno == logging.WARNING


def test_calls_leave_no_memory_behind(url: str) -> None:
    async def work(client: weft.Client) -> None:
        async def some() -> None:
            for _ in range(20):
                await asyncio.gather(*(client.call("echo/shape", {"name": "s", "corners": [(1, 2)]}) for _ in range(10)))
            with pytest.raises(TypeError):
                await client.call("math/add", "x", 1)
            assert len([item async for item in client.stream("count", 20)]) == 20

        await some()
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(5):
            await some()
        gc.collect()
        # Caches of the interpreter take some blocks; a leak of one block for each call would be a thousand.
        assert sys.getallocatedblocks() - before < 400

    run(url, work)
