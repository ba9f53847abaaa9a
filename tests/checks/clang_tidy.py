# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over what changed in src/, tools/, bench/ and examples/, in parallel. Of tests only the compiler's warnings:
other builds join their sources, in which shadowed names and missing includes are not seen.

clang_tidy.py <build directory with compile_commands.json> [--all | part of a path ...]

Looks at the sources that changed since eight hours before the newest commit, committed or not, and for each header that
changed at one source that includes it. `--all` looks at every source, and so does a change of .clang-tidy.
A file that passed is not looked at again until it changes: its key is its preprocessed text with comments, the
configuration and the tool's version.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

from changed_sources import sources_to_check
from project_files import ROOT, project_files

TOOL = "clang-tidy-19"
FOLDERS = ("src", "tools", "bench", "examples", "tests")
# The tool refuses to run without a check of its own, so it gets the cheapest.
WARNINGS_ONLY = "--checks=-*,clang-diagnostic-*,readability-duplicate-include"
CACHE = ROOT / ".cache" / "clang-tidy"


def preprocessed(command: dict[str, str]) -> bytes:
    words = shlex.split(command["command"])
    while words and not pathlib.Path(words[0]).name.startswith(("clang", "g++", "c++")):
        words.pop(0)  # the compiler's launcher
    arguments = [word for word in words if word != "-c"]
    if "-o" in arguments:
        at = arguments.index("-o")
        del arguments[at : at + 2]
    return subprocess.run(
        [*arguments, "-E", "-C", "-P"], cwd=command["directory"], capture_output=True, check=True
    ).stdout


def tidy(build: str, command: dict[str, str], salt: bytes) -> tuple[str, str | None]:
    """The file's path, and what clang-tidy says about it, or None when there is nothing to say."""
    path = os.path.relpath(command["file"], ROOT)
    try:
        key = hashlib.sha256(salt + path.encode() + preprocessed(command)).hexdigest()
    except subprocess.CalledProcessError as failure:
        return path, failure.stderr.decode(errors="replace")
    if (CACHE / key).exists():
        return path, None
    checks = [WARNINGS_ONLY] if path.startswith("tests/") else []
    done = subprocess.run(
        [TOOL, "--quiet", "-p", build, *checks, command["file"]], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        return path, done.stdout + done.stderr
    (CACHE / key).touch()
    return path, None


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
            ours &= {str(ROOT / path) for path in changed}
    parts = [part for part in parts if part != "--all"]
    print(f"lint: clang-tidy looks at {'every source' if everything else 'what changed'}", flush=True)
    commands = {}
    for command in json.loads((pathlib.Path(build) / "compile_commands.json").read_text()):
        if command["file"] in ours and (not parts or any(part in command["file"] for part in parts)):
            commands[command["file"]] = command
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        jobs = [workers.submit(tidy, build, command, salt) for command in commands.values()]
        for job in concurrent.futures.as_completed(jobs):
            path, complaint = job.result()
            if complaint is not None:
                failed += 1
                print(f"--- {path}\n{complaint}", flush=True)
    if failed:
        print(f"lint: FAIL clang-tidy ({failed} of {len(commands)} files)")
        return 1
    print(f"lint: PASS clang-tidy ({len(commands)} files)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
