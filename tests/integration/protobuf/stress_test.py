# SPDX-License-Identifier: Apache-2.0
"""LG-4: the stress example counts each second's calls and failures and says how long they took.

stress_test.py <example_protobuf_stress>
"""

import subprocess
import sys

COLUMNS = "s calls failed avg us min us max us p50 us p99 us".split()


def main(program: str) -> None:
    for words in (["abc"], ["--help"], ["1", "0"], ["2", "-5"]):
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60)
        if done.returncode != 2 or "usage:" not in done.stderr:
            sys.exit(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    done = subprocess.run([program, "2", "16"], capture_output=True, text=True, timeout=60)
    heading, *seconds = done.stdout.splitlines()
    numbers = [[float(word) for word in line.split()] for line in seconds]
    good = done.returncode == 0 and heading.split() == COLUMNS and [line[0] for line in numbers] == [1, 2]
    for _, calls, failed, average, least, most, p50, p99 in numbers:
        good = good and calls > 0 and failed == 0 and least <= p50 <= p99 <= most and least <= average <= most
    if not good:
        sys.exit(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")


main(sys.argv[1])
