# SPDX-License-Identifier: Apache-2.0
"""What calls cost by count and not by time: a test on simulated devices says it."""
import json
import os
import pathlib
import subprocess
import tempfile

from . import table
from .failure import Failure

TEST = "tests/integration/verbs/verbs_credits_test"
HEADINGS = ["a call of", "doorbells", "completions", "signalled", "inline", "messages", "reads", "copied by payload",
            "RNR NAKs"]


def run(build_dir):
    """{call: {what: how often for each}}, by the test's own names."""
    program = build_dir / TEST
    if not os.access(program, os.X_OK):
        raise Failure(f"there is no {program}; build it first: ./dev build (it needs libibverbs-dev and libgtest-dev)")
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        done = subprocess.run([program, "--gtest_filter=*VerbsCounts*", f"--gtest_output=json:{report}"],
                              capture_output=True, text=True)
        if done.returncode or not report.exists():
            raise Failure(f"{program} failed:\n{done.stdout}{done.stderr}")
        return _properties(json.loads(report.read_text()))


def _properties(report):
    tests = [test for suite in report["testsuites"] for test in suite["testsuite"]]
    return {test["call"]: test for test in tests if "call" in test}


def render(counted):
    rows = [[kind, *(str(costs.get(heading, "-")) for heading in HEADINGS[1:])] for kind, costs in counted.items()]
    return "\n".join([
        "", *table.aligned([HEADINGS, *rows]), "",
        "For each call, both sides together, on simulated devices. Doorbells: posts to a send queue; reads: by RDMA;",
        "copied by payload: bytes that the sender copied into messages, by those that it was given."])
