# SPDX-License-Identifier: Apache-2.0
"""weft stats against a server that speaks HTTP: what it prints, and how it fails.

stats_test.py <weft> <weft_console_server> <weft_functions_server>
"""

import contextlib
import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator

SECONDS = 60
TOKEN = "0123456789abcdef-of-ann"


@contextlib.contextmanager
def served(program: str, *words: str) -> Iterator[str]:
    """A server; its URL."""
    server = subprocess.Popen([program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield server.stdout.readline().split()[-1]
    finally:
        server.kill()
        server.wait()


def stats(program: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, "stats", *words], capture_output=True, text=True, timeout=SECONDS,
                          env={**os.environ, **variables})


def expect(what: str, holds: bool, done: subprocess.CompletedProcess[str]) -> None:
    if not holds:
        sys.exit(f"{what}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")


def call(url: str, arguments: str) -> None:
    connection = http.client.HTTPConnection(url.removeprefix("tcp://"), timeout=SECONDS)
    connection.request("POST", "/functions/shop::half", arguments)
    connection.getresponse().read()
    connection.close()


def check_table(program: str, url: str) -> None:
    for arguments in ("[2]", "[4]", "[3]"):
        call(url, arguments)
    done = stats(program, url)
    expect("stats", done.returncode == 0 and done.stderr == "", done)
    lines = done.stdout.splitlines()
    expect("health", lines[0].split() == ["health", "ready"], done)
    head = next(at for at, line in enumerate(lines) if line.startswith("method "))
    expect("columns", lines[head].split() == ["method", "calls", "failed", "refused", "dropped", "running", "p50", "p99"], done)
    expect("the method with most calls is first", lines[head + 1].split()[:6] == ["shop::half", "3", "1", "0", "0", "0"], done)
    expect("the columns are aligned", len({len(line) for line in lines[head:]}) == 1, done)
    expect("connections", any(line.startswith("connections  ") and " open, " in line for line in lines), done)


def check_json(program: str, url: str) -> None:
    done = stats(program, url, "--json")
    told = json.loads(done.stdout)
    expect("pages", set(told) == {"health", "methods", "connections", "loops", "memory"}, done)
    half = next(method for method in told["methods"]["methods"] if method["name"] == "shop::half")
    expect("calls", half["calls"] == 3 and half["failed"] == {"INVALID_ARGUMENT": 1}, done)


def check_failures(program: str, url_without_http: str) -> None:
    done = stats(program, "tcp://127.0.0.1:1", "--timeout", "5")
    expect("no server", done.returncode == 1 and "UNAVAILABLE" in done.stderr and done.stdout == "", done)
    done = stats(program, "tcp://127.0.0.1:1", "--json")
    expect("no server in JSON", done.returncode == 1 and json.loads(done.stdout)["code"] == "UNAVAILABLE", done)
    done = stats(program, url_without_http, "--timeout", "5")
    expect("a server without HTTP", done.returncode == 1 and "weft::http()" in done.stderr, done)
    done = stats(program, "ucx://127.0.0.1:1")
    expect("another transport", done.returncode == 1 and "tcp://, tls:// or unix://" in done.stderr, done)
    done = stats(program, "nonsense")
    expect("no URL", done.returncode == 1 and "INVALID_ARGUMENT" in done.stderr, done)
    done = stats(program)
    expect("nothing", done.returncode == 2, done)


def check_token(program: str, server: str) -> None:
    with served(server, TOKEN) as url, tempfile.TemporaryDirectory() as folder:
        done = stats(program, url)
        expect("without a token", done.returncode == 1 and "UNAUTHENTICATED" in done.stderr and "--token" in done.stderr, done)
        file = pathlib.Path(folder, "token")
        file.write_text(TOKEN + "\n")
        done = stats(program, url, "--token", str(file))
        expect("with a token of a file", done.returncode == 0, done)
        done = stats(program, url, WEFT_TOKEN=TOKEN)
        expect("with a token of the environment", done.returncode == 0, done)
        done = stats(program, "tcp://127.0.0.1.example:1", WEFT_TOKEN=TOKEN)
        expect("a token stays on this host", done.returncode == 1 and "without encryption" in done.stderr, done)
        done = stats(program, url, WEFT_TOKEN="bad\ntoken")
        expect("a token has no line ends", done.returncode == 1 and "INVALID_ARGUMENT" in done.stderr, done)


def main() -> None:
    program, server, server_without_http = sys.argv[1:]
    with served(server) as url:
        check_table(program, url)
        check_json(program, url)
    with served(server_without_http) as url:
        check_failures(program, url)
    check_token(program, server)


if __name__ == "__main__":
    main()
