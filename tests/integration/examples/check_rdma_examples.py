# SPDX-License-Identifier: Apache-2.0
"""Runs examples that need an RDMA device, all of them in one emulated machine, and compares what they print.

check_rdma_examples.py <folder of the expected texts> <program>...    example_<idea> is to print <idea>.txt
"""

import pathlib
import subprocess
import sys
import tempfile

import check_example

RUNNER = [sys.executable, "-B", str(pathlib.Path(__file__).resolve().parents[2] / "rdma_vm")]
# $1 is the folder for what they print; the rest are the programs.
RUN_ALL = """
share="$1"; shift
for program; do "$program" >"$share/${program##*/}" 2>&1 || echo "it ended with $?" >>"$share/${program##*/}"; done
"""


def main(expected: pathlib.Path, programs: list[str]) -> int:
    with tempfile.TemporaryDirectory() as share:
        command = [*RUNNER, "--host-if-device", "--share", share, "--", "sh", "-c", RUN_ALL, "sh", share, *programs]
        if code := subprocess.run(command, check=False).returncode:
            return code
        names = [pathlib.Path(program).name for program in programs]
        return sum(
            not check_example.same(
                expected / (name.removeprefix("example_") + ".txt"), (pathlib.Path(share) / name).read_text()
            )
            for name in names
        )


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2:]))
