# SPDX-License-Identifier: Apache-2.0
"""clang-format over the project's C++: checks, or with --fix writes."""

import subprocess
import sys

from project_files import ROOT, cpp_files

TOOL = "clang-format-19"


def main() -> int:
    files = [str(path) for path in cpp_files()]
    if "--fix" in sys.argv[1:]:
        subprocess.run([TOOL, "-i", *files], cwd=ROOT, check=True)
        return 0
    done = subprocess.run(
        [TOOL, "--dry-run", "-Werror", "--ferror-limit=1", *files], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        print(done.stderr, end="")
        print("lint: FAIL clang-format (./dev fmt mends it)")
        return 1
    print(f"lint: PASS clang-format ({len(files)} files)")
    return 0


sys.exit(main())
