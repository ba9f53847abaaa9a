# SPDX-License-Identifier: Apache-2.0
"""CR-10: weft's commands against a server that looks at who calls: what they print with a token and without.

access_test.py <weft> <guarded_server>
"""

import os
import pathlib
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable

SECONDS = 30
TOKEN = "0123456789abcdef-of-ann"
OTHER = "0123456789abcdef-of-bob"
SERVICES = "weft.reflection.v1.Reflection\n"


def weft(program: str, *words: str, token: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "WEFT_TOKEN"}
    if token is not None:
        environment["WEFT_TOKEN"] = token
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=SECONDS, env=environment)


def expect(what: str, holds: bool, done: subprocess.CompletedProcess[str]) -> None:
    shown = done.stdout + done.stderr
    if not holds or TOKEN in shown or OTHER in shown:
        sys.exit(f"{what}: exit code {done.returncode}\n{shown}")


def check(program: str, url: str, folder: pathlib.Path) -> None:
    done = weft(program, "list", url)
    expect("a stranger's list", done.returncode == 1 and "UNAUTHENTICATED" in done.stderr and "--token FILE" in done.stderr, done)
    token = folder / "token.txt"
    token.write_text(TOKEN + "\n")
    done = weft(program, "list", url, "--token", str(token))
    expect("a list with a token in a file", done.stdout == SERVICES, done)
    done = weft(program, "list", url, token=TOKEN)
    expect("a list with a token of the environment", done.stdout == SERVICES, done)
    done = weft(program, "list", url, token=OTHER)
    expect("a list without a right", "PERMISSION_DENIED" in done.stderr and "a rule in its policy" in done.stderr, done)
    done = weft(program, "list", url, token="0123456789abcdef-gone")
    expect("a list with a token that is not good", "another token" in done.stderr, done)
    done = weft(program, "list", url, token="no token")
    expect("a list with no token at all", done.returncode == 1 and "WEFT_TOKEN: a token is made of" in done.stderr, done)
    done = weft(program, "list", url, "--token", str(folder / "missing"))
    expect("a list with a file that is not there", done.returncode == 1 and "No such file" in done.stderr, done)
    done = weft(program, "list", "tcp://192.0.2.1:1", token=TOKEN)
    expect("a token for another machine without encryption", "was not sent" in done.stderr, done)
    done = weft(program, "perf", "client", "--connect", url, "--seconds", "1")
    expect("perf of a stranger", done.returncode == 1 and "--token FILE" in done.stderr, done)


def check_over_tls(program: str, url: str, folder: pathlib.Path) -> None:
    ca = ("--ca", str(folder / "certs/ca.pem"))
    asked = {
        "list": ("list", url),
        "describe": ("describe", url, "weft.reflection.v1.Reflection"),
        "call": ("call", url, "weft.reflection.v1.Reflection/List", "{}"),
    }
    for what, words in asked.items():
        done = weft(program, *words, *ca, token=TOKEN)
        expect(f"{what} over TLS", done.returncode == 0 and "Reflection" in done.stdout and done.stderr == "", done)
        done = weft(program, *words, *ca)
        expect(f"a stranger's {what} over TLS", done.returncode == 1 and "UNAUTHENTICATED" in done.stderr, done)
        done = weft(program, *words, token=TOKEN)
        expect(f"{what} without the CA", done.returncode == 1 and "ca_file" in done.stderr, done)
        done = weft(program, *words, "--insecure", token=TOKEN)
        loud = "WARNING: --insecure: the server's certificate is not checked" in done.stderr
        expect(f"{what} of whoever answers", loud and done.returncode == 0 and "Reflection" in done.stdout, done)


def main(program: str, server: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with_tls = weft(program, "certs", str(folder / "certs")).returncode == 0
        (folder / "policy").write_text("allow token:ann weft.reflection.v1.Reflection/*\n")
        (folder / "tokens").write_text(f"ann {TOKEN}\nbob {OTHER}\n")
        rules = (str(folder / "policy"), str(folder / "tokens"))
        with_server((server, *rules), lambda url: check(program, url, folder))
        if with_tls:
            own = (str(folder / "certs/server.pem"), str(folder / "certs/server.key"))
            with_server((server, *rules, "tls://127.0.0.1:0", *own), lambda url: check_over_tls(program, url, folder))


def with_server(command: tuple[str, ...], ask: Callable[[str], None]) -> None:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        ready, _, _ = select.select([process.stdout], [], [], SECONDS)
        line = process.stdout.readline().strip() if ready else ""
        ask(line.removeprefix("listening on "))
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
