# SPDX-License-Identifier: Apache-2.0
"""Counts what the stages' logs say, shows what failed in each stage that did, ends with the total."""

import pathlib
import re
import sys

TAIL_LINES = 40
TEST_LINES = 40
CTEST_TOTAL = re.compile(r"^\d+% tests passed, (\d+) tests failed out of (\d+)", re.MULTILINE)
CTEST_FAILURE = re.compile(r"^\s*\d+/\d+ Test .*\*\*\*(?!Skipped|Not Run \(Disabled)")
CTEST_NEXT = re.compile(r"^\s*(?:Start \d+: |\d+/\d+ Test |\d+% tests passed)")
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
    # The rules are tests too, and then their own line of verdict is counted by ctest.
    for verdict in [] if CTEST_TOTAL.search(text) else LINT_LINE.findall(text):
        passed += verdict == "PASS"
        failed += verdict == "FAIL"
    if failed == 0 and (exit_code != 0 or passed == 0):
        failed = 1
    return passed, failed, skipped


def what_failed(text: str) -> list[str]:
    """The output of each failed test, or the compiler's errors, and then the end of the log."""
    lines = text.splitlines()
    shown: list[str] = []
    for begin, line in enumerate(lines):
        if CTEST_FAILURE.match(line):
            end = next((at for at in range(begin + 1, len(lines)) if CTEST_NEXT.match(lines[at])), len(lines))
            shown += [line, *lines[max(begin + 1, end - TEST_LINES) : end]]
    if not shown:
        shown = [line for line in lines[:-TAIL_LINES] if "error:" in line][:TEST_LINES]
    return [*shown, "...", *lines[-TAIL_LINES:]]


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
            failures.append((stage, what_failed(text)))
    for stage, lines in failures:
        print(f"\n----- what failed in the stage {stage}")
        print("\n".join(lines))
    print("\n" + "\n".join(summary))
    print(f"{total_passed} passed, {total_failed} failed")
    return 1 if total_failed else 0


sys.exit(main())
