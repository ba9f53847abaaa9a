# SPDX-License-Identifier: Apache-2.0
"""Runs an example and compares what it prints.

check_example.py <expected.txt> <program>
check_example.py <expected.txt> <server> <client>    the client is given the URL at which the server listens
"""

import difflib
import pathlib
import select
import subprocess
import sys

SECONDS = 30


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        sys.exit(f"{command[0]} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def run_with_server(server: str, client: str) -> str:
    process = subprocess.Popen([server, "tcp://127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    try:
        ready, _, _ = select.select([process.stdout], [], [], SECONDS)
        line = process.stdout.readline().strip() if ready else ""
        prefix = "listening on "
        if not line.startswith(prefix):
            sys.exit(f"{server} did not say where it listens, but: {line!r}")
        return run([client, line[len(prefix):]])
    finally:
        process.terminate()
        process.wait()


def same(expected: pathlib.Path, printed: str) -> bool:
    """Whether an example printed what that file says; says what differs when not."""
    if not expected.is_file():
        print(f"{expected.name} is missing: write down what this example prints")
        return False
    if printed == expected.read_text():
        return True
    lines = (expected.read_text().splitlines(), printed.splitlines())
    print("\n".join(difflib.unified_diff(*lines, expected.name, "printed", lineterm="")))
    return False


def main(expected: pathlib.Path, programs: list[str]) -> int:
    printed = run_with_server(*programs) if len(programs) == 2 else run(programs)
    return 0 if same(expected, printed) else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2:]))
