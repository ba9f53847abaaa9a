# SPDX-License-Identifier: Apache-2.0
"""Counts what the stages' logs say, shows the end of the log of each stage that failed, ends with the total."""

import pathlib
import re
import sys

TAIL_LINES = 80
CTEST_TOTAL = re.compile(r"^\d+% tests passed, (\d+) tests failed out of (\d+)", re.MULTILINE)
CTEST_SKIPPED = re.compile(r"^\s*\d+/\d+ Test .*\*\*\*(?:Skipped|Not Run \(Disabled\))", re.MULTILINE)
LINT_LINE = re.compile(r"^lint: (PASS|FAIL) ", re.MULTILINE)


def count(text: str, exit_code: int) -> tuple[int, int, int]:
    """What passed, failed and was skipped; a stage that broke before it counted anything is one failure."""
    passed = failed = skipped = 0
    for failures, total in CTEST_TOTAL.findall(text):
        failed += int(failures)
        passed += int(total) - int(failures)
        skipped = len(CTEST_SKIPPED.findall(text))
        passed -= skipped
    for verdict in LINT_LINE.findall(text):
        passed += verdict == "PASS"
        failed += verdict == "FAIL"
    if failed == 0 and (exit_code != 0 or passed == 0):
        failed = 1
    return passed, failed, skipped


def main() -> int:
    logs = pathlib.Path(sys.argv[1])
    total_passed = total_failed = 0
    summary, failures = [], []
    for stage in sys.argv[2:]:
        text = (logs / f"{stage}.log").read_text(errors="replace")
        exit_code = int((logs / f"{stage}.exit").read_text())
        passed, failed, skipped = count(text, exit_code)
        total_passed += passed
        total_failed += failed
        note = f", {skipped} skipped" if skipped else ""
        summary.append(f"{'ok    ' if failed == 0 else 'FAILED'} {stage}: {passed} passed, {failed} failed{note}")
        if failed:
            failures.append((stage, text.splitlines()[-TAIL_LINES:]))
    for stage, tail in failures:
        print(f"\n----- the end of the log of the failed stage {stage}")
        print("\n".join(tail))
    print("\n" + "\n".join(summary))
    print(f"{total_passed} passed, {total_failed} failed")
    return 1 if total_failed else 0


sys.exit(main())
