# SPDX-License-Identifier: Apache-2.0
"""CR-11: weft list, describe, call, ping and health against a server with functions: what they print, and how they fail.

functions_test.py <weft> <weft_functions_server>
"""

import json
import select
import signal
import subprocess
import sys
from collections.abc import Callable

SECONDS = 30
LISTED = [
    "shop::count_up: (i32) -> void, stream of (i32)",
    "shop::divide(i32, i32) -> (i32)",
    "shop::forget(string) -> void",
    "shop::middle({x: f64, y: f64}, {x: f64, y: f64}) -> ({x: f64, y: f64})",
    "shop::shift: stream of ({x: f64, y: f64}), (f64) -> void, stream of ({x: f64, y: f64})",
    "shop::sum: stream of (i32), (i32) -> (i32)",
    "shop::tenant() -> (string)",
    "shop::twice(i32) -> (i32)",
]


def weft(program: str, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=SECONDS, input=given)


def expect(what: str, holds: bool, done: subprocess.CompletedProcess[str]) -> None:
    if not holds:
        sys.exit(f"{what}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")


def failure(program: str, *words: str, given: str = "") -> dict:
    """The JSON of a command that fails."""
    done = weft(program, *words, "--json", given=given)
    expect(" ".join(words) + " --json", done.returncode == 1 and done.stderr == "" and done.stdout.endswith("}\n"), done)
    told = json.loads(done.stdout)
    expect("members of a failure", {"code", "message", "retry", "unprocessed"} <= told.keys(), done)
    return told


def check_lists(program: str, url: str) -> None:
    done = weft(program, "list", url)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("shop::same")]
    expect("list", done.returncode == 0 and lines == LISTED and done.stderr == "", done)
    done = weft(program, "list", url, "--names")
    names = [line.split("(")[0].split(":  ")[0] for line in done.stdout.splitlines()]
    expect("list of names", "shop::twice" in names and done.stdout.count("->") == 0, done)
    done = weft(program, "list", url, "--json")
    told = json.loads(done.stdout)
    summing = next(each for each in told["functions"] if each["name"] == "shop::sum")
    expect("list in JSON", summing["takes_stream"] is True and summing["gives_stream"] is False, done)
    expect("list in JSON has no services", told["services"] == [], done)
    done = weft(program, "describe", url, "shop::middle")
    expect("describe", done.stdout == LISTED[3] + "\n", done)
    done = weft(program, "describe", url, "shop::sum")
    expect("describe a stream", "give its items on standard input" in done.stdout, done)
    done = weft(program, "describe", url, "shop::sum", "--json")
    expect("describe in JSON", json.loads(done.stdout)[0]["name"] == "shop::sum", done)
    done = weft(program, "describe", url)
    expect("describe everything", "shop::twice(i32) -> (i32)" in done.stdout, done)


def check_calls(program: str, url: str) -> None:
    answers = {
        ("shop::middle", '[[0, 0], {"x": 6, "y": 2}]'): {"x": 3, "y": 1},
        ("shop::middle", '{"1": [2, 2], "0": [0, 0]}'): {"x": 1, "y": 1},
        ("shop::twice", "[21]"): 42,
        ("shop::forget", '["it"]'): None,
        ("shop::tenant",): "none",
        ("shop::tenant", "[]", "-m", "tenant=blue"): "blue",
    }
    for words, answer in answers.items():
        for flags in ((), ("--json",)):
            done = weft(program, "call", url, *words, *flags)
            expect(" ".join(words), done.returncode == 0 and json.loads(done.stdout) == answer and done.stderr == "", done)
    done = weft(program, "call", url, "shop::twice", "-", given="[4]\n")
    expect("arguments of standard input", done.stdout == "8\n", done)


def check_failures(program: str, url: str) -> None:
    told = failure(program, "call", url, "shop::divide", "[1, 0]")
    expect("a failure of the handler", told["code"] == "OUT_OF_RANGE" and "division by zero" in told["message"], weft(program))
    words = {
        ("call", url, "shop::divide", "[1, 0]"): "division by zero",
        ("call", url, "shop::twise", "[1]"): "did you mean 'shop::twice'?",
        ("call", url, "twice", "[1]"): "did you mean 'shop::twice'?",
        ("describe", url, "shop::medle"): "did you mean 'shop::middle'?",
        ("call", url, "nothing::like::this"): f"`weft list {url}` shows all names",
        ("call", url, "shop::middle", '[[0, 0], {"x": 6, "y": "two"}]'): "arguments[1].y: a number, or a string",
        ("call", url, "shop::middle", '[[0, 0], {"x": 6}]'): "arguments[1]",
        ("call", url, "shop::twice"): "arguments",
        ("call", url, "shop::twice", "[1"): "JSON",
        ("call", url, "shop::twice", "[2147483648]"): "arguments[0]",
        ("call", url, "shop::same<int>", "[1]"): "shop::same",
    }
    for command, says in words.items():
        done = weft(program, *command)
        expect(" ".join(command), done.returncode == 1 and says in done.stderr and done.stdout == "", done)
        expect(" ".join(command), says in failure(program, *command)["message"], done)
    expect("unknown names in JSON", failure(program, "call", url, "shop::twise")["code"] == "NOT_FOUND", done)


def check_streams(program: str, url: str) -> None:
    done = weft(program, "call", url, "shop::count_up", "[3]")
    expect("a stream of results", done.returncode == 0 and done.stdout == "1\n2\n3\n", done)
    done = weft(program, "call", url, "shop::sum", "[100]", given="1\n2\n\n3")
    expect("a stream of requests", done.returncode == 0 and done.stdout == "106\n", done)
    many = "".join(f'{{"x":{number},"y":0}}\n' for number in range(5000))
    done = weft(program, "call", url, "shop::shift", "[0]", given=many)
    expect("streams of both sides", done.returncode == 0 and done.stdout == many, done)
    done = weft(program, "call", url, "shop::sum", "[0]", given='1\n"two"\n')
    expect("a line that is no item", done.returncode == 1 and "request 2 of standard input" in done.stderr, done)
    told = failure(program, "call", url, "shop::sum", "[0]", given="1\n{\n")
    expect("a line that is no JSON", told["code"] == "INVALID_ARGUMENT", done)
    done = weft(program, "call", url, "shop::sum", "-", given="1\n")
    expect("arguments on the input of items", done.returncode == 1 and "give its arguments as JSON" in done.stderr, done)
    check_cancel(program, url)


def check_cancel(program: str, url: str) -> None:
    """Ctrl-C ends a stream while its caller has not ended the input."""
    command = [program, "call", url, "shop::shift", "[1]"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdin.write("[1, 1]\n")
    process.stdin.flush()
    line = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    code = process.wait(timeout=SECONDS)
    said = process.stderr.read()
    process.stdin.close()
    if line != '{"x":2,"y":1}\n' or code != 1 or "CANCELLED" not in said:
        sys.exit(f"Ctrl-C: {line!r}, exit code {code}, {said!r}")


def check_health(program: str, url: str) -> None:
    done = weft(program, "ping", url, "--count", "3")
    expect("ping", done.returncode == 0 and "3 round trips" in done.stdout, done)
    done = weft(program, "ping", url, "--count", "3", "--json")
    told = json.loads(done.stdout)
    expect("ping in JSON", told["round_trips"] == 3 and 0 < told["min_ms"] <= told["median_ms"] <= told["max_ms"], done)
    done = weft(program, "health", url)
    expect("health", done.returncode == 0 and done.stdout.startswith("healthy"), done)
    done = weft(program, "health", url, "--json")
    expect("health in JSON", json.loads(done.stdout) == {"healthy": True}, done)
    done = weft(program, "version", "--json")
    expect("version in JSON", set(json.loads(done.stdout)) >= {"version", "protobuf"}, done)
    done = weft(program, "version")
    expect("version", done.returncode == 0 and done.stdout.startswith("weft "), done)


def check_away(program: str, url: str) -> None:
    """The server has ended."""
    for words in (("list", url), ("describe", url, "x"), ("call", url, "x"), ("ping", url), ("health", url)):
        done = weft(program, *words)
        expect(" ".join(words) + " of nobody", done.returncode == 1 and "Check that the server runs" in done.stderr, done)
        expect("a failure that may be repeated", failure(program, *words)["code"] == "UNAVAILABLE", done)
    done = weft(program, "list", "nonsense://x", "--json")
    expect("a URL that is none", done.returncode == 1 and json.loads(done.stdout)["code"] == "INVALID_ARGUMENT", done)
    done = weft(program, "call", "--json")
    told = json.loads(done.stdout)
    expect("a wrong command line in JSON", done.returncode == 2 and told["code"] == "INVALID_ARGUMENT", done)


def check_hidden(program: str, url: str) -> None:
    done = weft(program, "list", url)
    expect("list of a silent server", done.returncode == 1 and "ServerOptions::describe_functions" in done.stderr, done)
    expect("call of a silent server", failure(program, "call", url, "shop::twice", "[1]")["code"] == "UNIMPLEMENTED", done)
    done = weft(program, "health", url)
    expect("a silent server is healthy", done.returncode == 0, done)


def check_closed(program: str, url: str) -> None:
    done = weft(program, "list", url)
    expect("list of what a caller may call", done.stdout == "shop::twice(i32) -> (i32)\n", done)
    done = weft(program, "call", url, "shop::twice", "[2]")
    expect("call of what a caller may call", done.stdout == "4\n", done)
    told = failure(program, "call", url, "shop::middle", "[[0,0],[1,1]]")
    expect("a function without a right", told["code"] in ("NOT_FOUND", "UNAUTHENTICATED"), done)


def with_server(server: str, how: tuple[str, ...], ask: Callable[[str], None]) -> str:
    process = subprocess.Popen([server, "tcp://127.0.0.1:0", *how], stdout=subprocess.PIPE, text=True)
    try:
        ready, _, _ = select.select([process.stdout], [], [], SECONDS)
        line = process.stdout.readline().strip() if ready else ""
        url = line.removeprefix("listening on ")
        ask(url)
        return url
    finally:
        process.terminate()
        process.wait()


def main(program: str, server: str) -> None:
    def ask(url: str) -> None:
        for check in (check_lists, check_calls, check_failures, check_streams, check_health):
            check(program, url)

    url = with_server(server, (), ask)
    check_away(program, url)
    with_server(server, ("hidden",), lambda url: check_hidden(program, url))
    with_server(server, ("closed",), lambda url: check_closed(program, url))


if __name__ == "__main__":
    main(*sys.argv[1:])
