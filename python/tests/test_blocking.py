# SPDX-License-Identifier: Apache-2.0
"""The client for scripts and threads against a C++ server."""

import logging
import signal
import subprocess
import sys
import threading
from typing import Any, List

import pytest
import weft
import weft.blocking


def test_calls_return_results(url: str) -> None:
    with weft.blocking.connect(url) as client:
        assert client.call("math/add", 1, 2, timeout=5) == 3
        assert client.call("echo/text", "x") == "x"
        answer = client.call("attach", 1, attachment=b"abc" * 100_000, with_attachment=True)
        assert bytes(answer.attachment) == b"bcd" * 100_000
        landing = bytearray(3)
        assert client.call("attach", 1, attachment=b"abc", into=landing).attachment_bytes == 3
        assert landing == b"bcd"
        with pytest.raises(TypeError, match=r"math/add: arguments\[0\]"):
            client.call("math/add", "1", 2)
        with pytest.raises(weft.RpcError, match="no luck") as failed:
            client.call("fail", 10, "no luck", 0)
        assert failed.value.code is weft.StatusCode.ABORTED


class Talkative:
    """A client's core with a line in its log after each call."""

    def __init__(self, core: Any) -> None:
        self._core = core

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def has_log(self) -> bool:
        return True

    def take_log(self) -> List[Any]:
        return [(2, "a line")]


def test_failed_calls_write_the_log_too(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with weft.blocking.connect(url) as client, caplog.at_level(logging.DEBUG, logger="weft"):
        client.call("nothing")
        client._core = Talkative(client._core)  # type: ignore[assignment]
        with pytest.raises(weft.RpcError, match="no luck"):
            client.call("fail", 10, "no luck", 0)
        assert [record.message for record in caplog.records] == ["a line"] * 2


def test_many_threads_call_at_once(url: str) -> None:
    with weft.blocking.connect(url) as client:
        wrong: List[Any] = []

        def work(number: int) -> None:
            for i in range(100):
                if client.call("math/add", number, i) != number + i:
                    wrong.append((number, i))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


def test_a_waiting_call_lets_other_threads_run(url: str) -> None:
    with weft.blocking.connect(url) as client:
        errors: List[weft.RpcError] = []
        before = client.call("waiting")

        def wait() -> None:
            try:
                client.call("wait")
            except weft.RpcError as error:
                errors.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        while client.call("waiting") == before:
            pass
        assert client.call("math/add", 1, 2) == 3
        client.close()
        thread.join()
        assert errors[0].code is weft.StatusCode.CANCELLED
        with pytest.raises(RuntimeError, match="the client is closed"):
            client.call("math/add", 1, 2)


def test_streams_go_both_ways(url: str) -> None:
    with weft.blocking.connect(url) as client:
        assert list(client.stream("count", 100)) == list(range(1, 101))
        for item in client.stream("count", 2_000_000_000):
            if item == 3:
                break
        with client.open("sum") as numbers:
            for i in range(100):
                assert numbers.write(i)
            assert numbers.result() == 4950
        with client.open("echo/all") as both:
            both.write((1, 2))
            assert next(both) == {"x": 1.0, "y": 2.0}
            both.end_writing()
            assert list(both) == []


INTERRUPTED = """
import sys, weft.blocking
client = weft.blocking.connect(sys.argv[1])
client.call("nothing")
print("waits", flush=True)
try:
    client.call("wait", attachment=bytearray(100_000))
except KeyboardInterrupt:
    print("interrupted", client.call("math/add", 1, 2), flush=True)
"""


def test_ctrl_c_ends_a_waiting_call(url: str) -> None:
    program = subprocess.Popen([sys.executable, "-c", INTERRUPTED, url], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    assert program.stdout.readline() == "waits\n"
    program.send_signal(signal.SIGINT)
    out, _ = program.communicate(timeout=60)
    # The signal may come before the call has begun; it ends the program then, or the call at its first look.
    assert out in ("interrupted 3\n", "")
    assert program.returncode in (0, 1, -signal.SIGINT)


CLOSED = '''
import signal, sys, weft, weft.blocking
client = weft.blocking.connect(sys.argv[1])
def close(*_):
    client.close()
    {ending}
signal.signal(signal.SIGUSR1, close)
try:
    client.call("wait", attachment=bytearray(100_000))
except (weft.RpcError, KeyError) as error:
    print(repr(error)[:8], flush=True)
try:
    client.call("nothing")
except RuntimeError as error:
    print(error, flush=True)
'''


@pytest.mark.parametrize("ending, name", [("pass", "RpcError"), ("raise KeyError", "KeyError")])
def test_a_handler_of_a_signal_closes_the_client(url: str, ending: str, name: str) -> None:
    with weft.blocking.connect(url) as client:
        before = client.call("waiting")
        command = [sys.executable, "-c", CLOSED.format(ending=ending), url]
        program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            while client.call("waiting") == before:
                assert program.poll() is None
            program.send_signal(signal.SIGUSR1)
            out, _ = program.communicate(timeout=60)
        finally:
            program.kill()
    assert out == f"{name}\nthe client is closed\n"
    assert program.returncode == 0


def test_a_closed_client_may_collect_its_streams(url: str) -> None:
    program = '''
import gc, sys, weft.blocking
client = weft.blocking.connect(sys.argv[1])
gc.disable()
streams = [client.open("echo/all") for _ in range(80)]
client.close()
next_item, method = client._core.next, client._methods["echo/all"]
class Object:
    pass
for count in range(80):
    objects = None
    gc.collect()
    cycle = [streams.pop()]
    cycle.append(cycle)
    del cycle
    # One of these counts lets the collector run where the exception is made.
    objects = [Object() for _ in range(count)]
    gc.set_threshold(40, 1000, 1000)
    try:
        raise KeyError
    except KeyError:
        gc.enable()
        try:
            next_item(1, method)
        except RuntimeError as error:
            gc.disable()
            last = str(error)
print(last)
'''
    done = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True, timeout=60)
    assert done.stdout == "the client is closed\n" and done.returncode == 0, done.stderr


@pytest.mark.parametrize("thread", ["", "threading.Thread(target=lambda: client.call('wait'), daemon=True).start()"])
def test_a_program_ends_with_a_client_open(url: str, thread: str) -> None:
    program = f"""
import sys, threading, weft.blocking
client = weft.blocking.connect(sys.argv[1])
stream = client.stream("count", 1000)
next(stream)
{thread}
print(client.call("math/add", 1, 2), flush=True)
"""
    done = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True, timeout=60)
    assert done.stdout == "3\n" and done.returncode == 0, done.stderr
