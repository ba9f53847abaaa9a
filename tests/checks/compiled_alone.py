# SPDX-License-Identifier: Apache-2.0
"""Compiles alone, without making code, what a change concerns: sources of src/ and bench/, as builds join many of a layer and no test
needs the programs that measure, headers of include/weft, and tests. A file that lacks an include, or shadows a name, compiles
well behind another, or where the build machine compiles headers ahead, and then fails for a user.

compiled_alone.py <build directory with compile_commands.json> [--all]

Takes the files that changed since four hours before the newest commit, committed or not, and, of all but tests, those that
include a header which includes less since then; `--all` takes every file but tests.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterable

from changed_sources import Change, change_since_base, includers_of, source_that_includes
from joined_sources import compiler_of, flags_of
from project_files import ROOT, project_files

ALL_OF_WEFT = "include/weft/weft.hpp"


def concerned(change: Change, includers: dict[str, set[str]], files: Iterable[str]) -> set[str]:
    """Those of `files` that changed, or that themselves include a header which includes less now."""
    touched = change.paths.union(*(includers.get(header, set()) for header in change.with_fewer_includes))
    return {file for file in files if file in touched}


def source_whose_flags_fit(header: str, includers: dict[str, set[str]], preferred: set[str]) -> str | None:
    """A source that includes `header`; of a header that only users and tests include, one that includes all of Weft."""
    return source_that_includes(header, includers, preferred) or source_that_includes(ALL_OF_WEFT, includers, preferred)


def complaint_about(command: dict[str, str], header: str | None = None) -> str:
    """What the compiler says of a source, or of a header that is compiled as the source is; nothing when there is nothing to say."""
    call = [compiler_of(command), *flags_of(command), "-fsyntax-only"]
    if header is None:
        call, text = [*call, command["file"]], ""
    else:
        # Twice, as a header may be included again.
        call, text = [*call, "-x", "c++", "-"], f'#include "{ROOT / header}"\n' * 2
    done = subprocess.run(call, input=text, cwd=command["directory"], capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def main(build: str, options: list[str]) -> int:
    commands = {os.path.relpath(command["file"], ROOT): command
                for command in json.loads((pathlib.Path(build) / "compile_commands.json").read_text())}
    paths = [path for path in project_files() if path.suffix in (".hpp", ".cpp")]
    includers = includers_of(paths)
    wanted = [name for name in sorted(commands) if name.startswith(("src/", "bench/"))]
    wanted += sorted(path.as_posix() for path in paths if path.parts[:2] == ("include", "weft") and path.suffix == ".hpp")
    change = None if "--all" in options else change_since_base()
    if change is not None:
        tests = [name for name in commands if name.startswith("tests/") and name in change.paths]
        wanted = sorted([*concerned(change, includers, wanted), *tests])

    def complaint(name: str) -> str:
        if name in commands:
            return complaint_about(commands[name])
        source = source_whose_flags_fit(name, includers, set(commands))
        # A source that is not compiled here needs a library that is not here.
        return complaint_about(commands[source], name) if source in commands else ""

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        for name, said in zip(wanted, workers.map(complaint, wanted)):
            if said:
                failed += 1
                print(f"--- {name}\n{said}", flush=True)
    if failed:
        print(f"lint: FAIL compiled_alone ({failed} of {len(wanted)} files)")
        return 1
    print(f"lint: PASS compiled_alone ({len(wanted)} files)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
