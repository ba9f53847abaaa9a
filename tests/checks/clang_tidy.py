# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over what changed in src/, tools/, bench/ and examples/, in parallel. Of tests only the compiler's warnings:
other builds join their sources, in which shadowed names and missing includes are not seen. Sources of src/ are looked at
joined too, and one by one only where there is something to say; compiled_alone.py compiles each of them alone.

clang_tidy.py <build directory with compile_commands.json> [--all | part of a path ...]

Looks at the sources that changed since four hours before the newest commit, committed or not, and for each header that
changed at one source that includes it. Where more than TESTS_MAX of them are tests it leaves these out: such a change takes
minutes to look at, and `--all` looks at every source. So does a change of .clang-tidy.
A file that passed is not looked at again until it changes: its key is its preprocessed text with comments, the
configuration and the tool's version.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys

from changed_sources import sources_to_check
from joined_sources import OPTIONS as JOINED_OPTIONS
from joined_sources import batches, compiler_of, flags_of, halves, may_be_joined, write_joined
from project_files import ROOT, project_files

TOOL = "clang-tidy-19"
FOLDERS = ("src", "tools", "bench", "examples", "tests")
# The tool refuses to run without a check of its own, so it gets the cheapest.
WARNINGS_ONLY = "--checks=-*,clang-diagnostic-*,readability-duplicate-include"
TESTS_MAX = 40
CACHE = ROOT / ".cache" / "clang-tidy"


def preprocessed(command: dict[str, str]) -> bytes:
    call = [compiler_of(command), *flags_of(command), "-E", "-C", "-P", command["file"]]
    return subprocess.run(call, cwd=command["directory"], capture_output=True, check=True).stdout


def run_tool(*arguments: object) -> str | None:
    """What clang-tidy says, or None when there is nothing to say."""
    words = [TOOL, "--quiet", *map(str, arguments)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else None


def path_of(command: dict[str, str]) -> str:
    return os.path.relpath(command["file"], ROOT)


def goes_with_others(command: dict[str, str]) -> bool:
    return may_be_joined(path_of(command), pathlib.Path(command["file"]).read_text())


def tidy_alone(build: str, command: dict[str, str]) -> str | None:
    checks = [WARNINGS_ONLY] if path_of(command).startswith("tests/") else []
    return run_tool("-p", build, *checks, command["file"])


def tidy(build: str, batch: list[dict[str, str]]) -> list[tuple[dict[str, str], str | None]]:
    """The sources of `batch`, and what there is to say about each."""
    if len(batch) == 1:
        return [(batch[0], tidy_alone(build, batch[0]))]
    source = write_joined(batch, pathlib.Path(build).resolve() / "joined")
    # It may also be that names of theirs clash. Then the halves pass.
    if run_tool(*JOINED_OPTIONS, source, "--", *flags_of(batch[0])) is not None:
        return [each for half in halves(batch) for each in tidy(build, half)]
    return [(command, None) for command in batch]


def look_up(command: dict[str, str], salt: bytes) -> tuple[dict[str, str], pathlib.Path | None, str | None]:
    """The mark that says that a source passed, or what kept it from being preprocessed."""
    try:
        key = hashlib.sha256(salt + path_of(command).encode() + preprocessed(command)).hexdigest()
    except subprocess.CalledProcessError as failure:
        return command, None, failure.stderr.decode(errors="replace")
    return command, CACHE / key, None


def main(build: str, parts: list[str]) -> int:
    CACHE.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([TOOL, "--version"], capture_output=True, check=True).stdout
    salt = version + (ROOT / ".clang-tidy").read_bytes()
    ours = {str(ROOT / path) for path in project_files() if path.parts[0] in FOLDERS}
    everything = "--all" in parts
    if not parts:
        changed = sources_to_check()
        if changed is None:
            everything = True
        else:
            tests = {path for path in changed if path.startswith("tests/")}
            if len(tests) > TESTS_MAX:
                print(f"lint: {len(tests)} tests changed; ./dev lint --all looks at them", flush=True)
                changed -= tests
            ours &= {str(ROOT / path) for path in changed}
    parts = [part for part in parts if part != "--all"]
    print(f"lint: clang-tidy looks at {'every source' if everything else 'what changed'}", flush=True)
    commands = {}
    for command in json.loads((pathlib.Path(build) / "compile_commands.json").read_text()):
        if command["file"] in ours and (not parts or any(part in command["file"] for part in parts)):
            commands[command["file"]] = command
    complaints: dict[str, str] = {}
    marks: dict[str, pathlib.Path] = {}
    unknown = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        for command, mark, complaint in workers.map(lambda each: look_up(each, salt), commands.values()):
            if mark is None:
                complaints[path_of(command)] = complaint or ""
            elif not mark.exists():
                marks[path_of(command)] = mark
                unknown.append(command)
        joined = [command for command in unknown if goes_with_others(command)]
        alone = [[command] for command in unknown if not goes_with_others(command)]
        jobs = [workers.submit(tidy, build, batch) for batch in batches(joined) + alone]
        for job in concurrent.futures.as_completed(jobs):
            for command, complaint in job.result():
                if complaint is None:
                    marks[path_of(command)].touch()
                else:
                    complaints[path_of(command)] = complaint
    for path, complaint in sorted(complaints.items()):
        print(f"--- {path}\n{complaint}", flush=True)
    failed = len(complaints)
    if failed:
        print(f"lint: FAIL clang-tidy ({failed} of {len(commands)} files)")
        return 1
    print(f"lint: PASS clang-tidy ({len(commands)} files)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
