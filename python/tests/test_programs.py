# SPDX-License-Identifier: Apache-2.0
"""Whole programs with a client for asyncio: their ends, their children by fork, and too little memory."""

import subprocess
import sys

import pytest


PROGRAM_ENDS = """
import asyncio, sys, weft
async def main():
    client = weft.connect(sys.argv[1])
    calls = [asyncio.ensure_future(client.call("wait", attachment=bytearray(100_000))) for _ in range(10)]
    stream = await client.open("echo/all")
    reading = asyncio.ensure_future(stream.__anext__())
    await client.call("nothing")
    print("in flight", flush=True)
    {ending}
asyncio.run(main())
"""


@pytest.mark.parametrize("ending", ["sys.exit(3)", "raise KeyboardInterrupt", "return"])
def test_a_program_ends_with_calls_in_flight(url: str, ending: str) -> None:
    program = subprocess.run(
        [sys.executable, "-c", PROGRAM_ENDS.format(ending=ending), url], capture_output=True, text=True, timeout=60
    )
    assert program.stdout == "in flight\n", program.stderr
    assert program.returncode == {"sys.exit(3)": 3, "return": 0}.get(ending, -2), program.stderr
    assert "Segmentation" not in program.stderr and "nanobind" not in program.stderr


def test_a_child_of_fork_is_told_so(url: str) -> None:
    program = """
import asyncio, os, sys, weft
async def main():
    client = weft.connect(sys.argv[1])
    assert await client.call("math/add", 1, 2) == 3
    child = os.fork()
    if child == 0:
        try:
            await client.call("math/add", 1, 2)
        except RuntimeError as error:
            os._exit(7 if "before a fork" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert await client.call("math/add", 3, 4) == 7
    await client.close()
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_child_of_fork_closes_without_harm(url: str) -> None:
    program = '''
import asyncio, gc, os, sys, weft
async def main():
    client = weft.connect(sys.argv[1])
    stream = await client.open("echo/all")
    waiting = asyncio.ensure_future(client.call("wait"))
    await client.call("nothing")
    child = os.fork()
    if child == 0:
        await client.close()
        core, client._core = client._core, None
        stream._client = waiting = None
        del core
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert await asyncio.wait_for(client.call("math/add", 3, 4), 20) == 7
    await stream.write((1, 2))
    assert await stream.__anext__() == {"x": 1.0, "y": 2.0}
    await client.close()
    try:
        await waiting
    except weft.RpcError:
        print("ends")
asyncio.run(main())
'''
    done = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True, timeout=60)
    assert done.stdout == "ends\n" and done.returncode == 0, done.stderr


def test_a_result_that_memory_does_not_suffice_for_raises(url: str) -> None:
    # Which allocation fails depends on the room that is left: of Python, or of the extension.
    program = '''
import asyncio, resource, sys, weft
def limit(size):
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
async def main():
    async with weft.connect(sys.argv[1]) as client:
        everything = await client.call("echo/everything", eval(sys.argv[2], {**vars(weft), **vars(__import__("datetime"))}))
        everything["by_number"] = {i: [] for i in range(200_000)}
        failed = 0
        for room in range(12):
            task = asyncio.ensure_future(client.call("echo/everything", everything))
            while task._fut_waiter is None:
                await asyncio.sleep(0)
            future = task._fut_waiter
            pages = int(open("/proc/self/statm").read().split()[0])
            limit(pages * resource.getpagesize() + (room << 20))
            while not future.done():
                client._core.turn()
            limit(resource.RLIM_INFINITY)
            try:
                assert await task == everything
            except MemoryError:
                failed += 1
        assert await client.call("math/add", 1, 2) == 3
        print("fails" if failed else "fits")
asyncio.run(main())
'''
    everything = (
        "dict(flag=True, small=0, large=0, single=0.0, raw=b'', numbers=[], three=[0, 0, 0], names=set(), places={},"
        " by_number={}, pairs=[], both=(0, ''), choice=Variant(0, 0), maybe=None, wait=timedelta(),"
        " when=datetime(2026, 11, 29, tzinfo=timezone.utc), outcome=Outcome(True, 0))"
    )
    command = [sys.executable, "-c", program, url, everything]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "fails\n" and done.returncode == 0, done.stderr
