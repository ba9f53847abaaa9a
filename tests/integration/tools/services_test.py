# SPDX-License-Identifier: Apache-2.0
"""weft list, describe and call against the example of a service: what they print, and what they say when they fail.

services_test.py <weft> <example_protobuf_services_server>
"""

import json
import select
import signal
import subprocess
import sys

SECONDS = 30


def weft(program: str, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=SECONDS, input=given)


def expect(what: str, holds: bool, done: subprocess.CompletedProcess[str]) -> None:
    if not holds:
        sys.exit(f"{what}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")


def check(program: str, url: str) -> None:
    done = weft(program, "list", url)
    listed = [
        "demo.Echo",
        "demo.Words",
        "  Spell (demo.EchoRequest) returns (stream demo.EchoResponse)",
        "  Join (stream demo.EchoRequest) returns (demo.EchoResponse)",
        "  SayAll (stream demo.EchoRequest) returns (stream demo.EchoResponse)",
        "weft.reflection.v1.Reflection",
    ]
    expect("list", done.stdout.splitlines() == listed, done)
    done = weft(program, "describe", url, "demo.Echo")
    expect("describe", "rpc Say(.demo.EchoRequest) returns (.demo.EchoResponse);" in done.stdout, done)
    for given, words in (("", ('{"message": "hi"}',)), ('{"message": "hi"}', ("-",))):
        done = weft(program, "call", url, "demo.Echo/Say", *words, given=given)
        expect("call", done.returncode == 0 and json.loads(done.stdout) == {"message": "hi"}, done)
    for words, says in {
        ("call", url, "demo.Echo/Say", '{"message": 1}'): "demo.EchoRequest",
        ("call", url, "demo.Echo/Say", "{"): "not from this JSON",
        ("call", url, "demo.Echo/Say"): "nothing to say",
        ("call", url, "demo.Echo/Sing"): "it has Say, SendBack",
        ("call", url, "demo.Nobody/Say"): "demo.Nobody",
        ("call", url, "demo.Echo/Say", "-m", "key=" + 9000 * "x"): "over the limit of 8192",
        ("describe", url, "demo.Nothing"): "demo.Nothing",
    }.items():
        done = weft(program, *words)
        expect(" ".join(words), done.returncode == 1 and says in done.stderr and not done.stdout, done)
    done = weft(program, "call", url, "demo.Echo/Say", '{"message": "hi"}', "-m", "tenant=blue", "-m", "trace=a=b")
    expect("call with metadata", done.returncode == 0, done)
    done = weft(program, "describe", url, "demo.Echo/Say")
    expect("describe of a method", "rpc Say(" in done.stdout and "// demo.EchoRequest" in done.stdout, done)
    done = weft(program, "list", url, "--timeout", "100ms")
    expect("a time with a unit", done.returncode == 2 and "'100ms' is no time in seconds" in done.stderr, done)
    done = weft(program, "call", url, "demo.Echo/Say", "--metadata", "=blue")
    expect("metadata without a key", done.returncode != 0 and "no KEY=VALUE" in done.stderr, done)


def lines_of(*messages: str) -> str:
    return "".join(json.dumps({"message": message}, separators=(",", ":")) + "\n" for message in messages)


def check_streams(program: str, url: str) -> None:
    for given, words in (("", ('{"message": "one two"}',)), ('{"message": "one two"}', ("-",))):
        done = weft(program, "call", url, "demo.Words/Spell", *words, given=given)
        expect("a stream of answers", done.returncode == 0 and done.stdout == lines_of("one", "two"), done)
    done = weft(program, "call", url, "demo.Words/Join", given=lines_of("a", "b") + "\n" + lines_of("c").rstrip())
    expect("a stream of requests", done.returncode == 0 and json.loads(done.stdout) == {"message": "abc"}, done)
    many = lines_of(*(str(number) for number in range(5000)))
    done = weft(program, "call", url, "demo.Words/SayAll", given=many)
    expect("streams of both sides", done.returncode == 0 and done.stdout == many, done)
    done = weft(program, "call", url, "demo.Words/SayAll", given=lines_of("first") + "{")
    expect("a line that is no request", done.returncode == 1 and "not from this JSON" in done.stderr, done)
    expect("the number of the line that is no request", "request 2 of standard input" in done.stderr, done)
    done = weft(program, "call", url, "demo.Words/Join", '{"message": "lost"}')
    expect("a request that would not be sent", done.returncode == 1 and "on standard input, one in each line" in done.stderr, done)
    done = weft(program, "call", url, "demo.Words/Join", "-", given=lines_of("a", "b"))
    expect("standard input by name", done.returncode == 0 and json.loads(done.stdout) == {"message": "ab"}, done)
    check_timeout(program, url)
    check_cancel(program, url)


def check_timeout(program: str, url: str) -> None:
    """A stream ends at the time that was given, while its caller has not ended his input."""
    command = [program, "call", url, "demo.Words/SayAll", "--timeout", "0.3"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    code = process.wait(timeout=SECONDS)
    said = process.stderr.read()
    process.stdin.close()
    if code != 1 or "DEADLINE_EXCEEDED" not in said:
        sys.exit(f"--timeout of a stream: exit code {code}, {said!r}")


def check_cancel(program: str, url: str) -> None:
    """Ctrl-C ends a stream while its caller has not ended his input."""
    command = [program, "call", url, "demo.Words/SayAll"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdin.write(lines_of("still here"))
    process.stdin.flush()
    line = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    code = process.wait(timeout=SECONDS)
    said = process.stderr.read()
    process.stdin.close()
    if line != lines_of("still here") or code != 1 or "CANCELLED" not in said:
        sys.exit(f"Ctrl-C: {line!r}, exit code {code}, {said!r}")


def main(program: str, server: str) -> None:
    process = subprocess.Popen([server, "tcp://127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    try:
        ready, _, _ = select.select([process.stdout], [], [], SECONDS)
        line = process.stdout.readline().strip() if ready else ""
        check(program, line.removeprefix("listening on "))
        check_streams(program, line.removeprefix("listening on "))
    finally:
        process.terminate()
        process.wait()


main(*sys.argv[1:])
