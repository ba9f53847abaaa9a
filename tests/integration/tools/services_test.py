# SPDX-License-Identifier: Apache-2.0
"""weft list, describe and call against the example of a service: what they print, and what they say when they fail.

services_test.py <weft> <example_protobuf_services_server>
"""

import json
import select
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
    expect("list", done.stdout == "demo.Echo\nweft.reflection.v1.Reflection\n", done)
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


def main(program: str, server: str) -> None:
    process = subprocess.Popen([server, "tcp://127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    try:
        ready, _, _ = select.select([process.stdout], [], [], SECONDS)
        line = process.stdout.readline().strip() if ready else ""
        check(program, line.removeprefix("listening on "))
    finally:
        process.terminate()
        process.wait()


main(*sys.argv[1:])
