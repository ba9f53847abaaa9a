# SPDX-License-Identifier: Apache-2.0
"""Compiles sources of src/ and bench/ that a change concerns alone, without code: builds join eight of a layer, and one that
lacks an include, or shadows a name, compiles well behind a neighbour; and no test needs the programs that measure.

sources_alone.py <build directory with compile_commands.json> [--all]

Takes the sources that changed since four hours before the newest commit, committed or not, and those that include a
header which includes less since then; `--all` takes every source.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterable

from changed_sources import Change, change_since_base, includers_of
from joined_sources import compiler_of, flags_of
from project_files import ROOT, project_files


def concerned(change: Change, includers: dict[str, set[str]], sources: Iterable[str]) -> set[str]:
    """Those of `sources` that changed, or that themselves include a header which includes less now."""
    touched = change.paths.union(*(includers.get(header, set()) for header in change.with_fewer_includes))
    return {source for source in sources if source in touched}


def complaint_about(command: dict[str, str]) -> str:
    """What the compiler says; nothing of a source that compiles alone."""
    call = [compiler_of(command), *flags_of(command), "-fsyntax-only", command["file"]]
    done = subprocess.run(call, cwd=command["directory"], capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def main(build: str, options: list[str]) -> int:
    commands = {os.path.relpath(command["file"], ROOT): command
                for command in json.loads((pathlib.Path(build) / "compile_commands.json").read_text())}
    sources = [name for name in sorted(commands) if name.startswith(("src/", "bench/"))]
    change = None if "--all" in options else change_since_base()
    if change is not None:
        includers = includers_of(path for path in project_files() if path.suffix in (".hpp", ".cpp"))
        sources = sorted(concerned(change, includers, sources))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        for source, complaint in zip(sources, workers.map(lambda name: complaint_about(commands[name]), sources)):
            if complaint:
                failed += 1
                print(f"--- {source}\n{complaint}", flush=True)
    if failed:
        print(f"lint: FAIL sources_alone ({failed} of {len(sources)} files)")
        return 1
    print(f"lint: PASS sources_alone ({len(sources)} files)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
