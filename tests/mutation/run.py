#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how many small faults in sessions, admission, gates, streams and pools the tests notice.

Chooses mutants by a seed, compiles them all into one copy of the project with a switch each, and runs the test
programs once for each mutant until one of them fails. Prints the mutants that no test noticed. A run takes between
half an hour and two hours on two cores; the whole check of the project does not include it.

    tests/mutation/run.py                   100 mutants, the copy and the results in build/mutation
    tests/mutation/run.py --only 17 23      these mutants of the same choice again, after a test was added
"""

import argparse
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

import sites

ROOT = pathlib.Path(__file__).resolve().parents[2]
GROUPS = {
    "session": r"src/calls/(session|session_streams|standing_end|requests_\w+|calls_in|calls_out|call_timeouts)\.(cpp|hpp)",
    "admission": r"src/calls/(admission|running_limit|refusals|arriving_\w+)\.(cpp|hpp)",
    "gates": r"src/calls/(call_gate|gate_pass|server_gate|fault_gate|caller_check|client_pass|request_check)\.(cpp|hpp)",
    "streams": r"src/calls/(stream_\w+|incoming_items|item_queue|arrived_items|put_items|exchange_\w+|served_exchange)\.(cpp|hpp)",
    "pool": r"src/calls/client/\w+\.(cpp|hpp)",
}
# In the order in which they are run: the quick ones first.
PROGRAMS = [
    "calls_unit_test", "items_model_test", "streams_model_test", "gates_test", "streams_simulation_test", "rpc_acceptance_test",
    "push_test", "threads_client_test", "threads_streams_test", "faults_test", "hostile_server_test", "hostile_called_test",
    "hostile_serving_test", "hostile_streams_test", "waiting_handlers_test", "announced_frames_test", "greedy_server_test",
    "simulation_test", "flood_test", "incoming_model_test", "transfers_model_test", "access_test",
]
SWITCHES = """#pragma once
#include <cstdlib>
namespace weft_mutation {
inline const int chosen = std::getenv("MUTANT") != nullptr ? std::atoi(std::getenv("MUTANT")) : -1;
inline bool is_on(int mutant) { return chosen == mutant; }
}  // namespace weft_mutation
"""
COMPILE_ERROR = re.compile(r"source/(src/[\w/.]+):(\d+):\d+: error")
COPIED = ["CMakeLists.txt", "CMakePresets.json", "cmake", "include", "src", "tests", "tools", "bench", "examples", "docs", "README.md"]


def choose(count: int, seed: int) -> list[sites.Site]:
    """The same number of mutants of each group, as far as a group has enough of them."""
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.?pp"))
    chosen: list[sites.Site] = []
    chance = random.Random(seed)
    for at, pattern in enumerate(GROUPS.values()):
        of_group = [
            site
            for path in files
            if re.fullmatch(pattern, path)
            for site in sites.find_sites(path, (ROOT / path).read_text())
        ]
        wanted = (count - len(chosen)) // (len(GROUPS) - at)
        chosen += chance.sample(of_group, min(wanted, len(of_group)))
    return chosen


def write_copy(source: pathlib.Path, mutants: dict[int, sites.Site]) -> None:
    """Copies the project, and writes only the files whose text has changed since the last copy."""
    source.mkdir(parents=True, exist_ok=True)
    by_path: dict[str, dict[int, sites.Site]] = {}
    for number, site in mutants.items():
        by_path.setdefault(site.path, {})[number] = site
    for name in COPIED:
        for path in [ROOT / name] if (ROOT / name).is_file() else sorted((ROOT / name).rglob("*")):
            relative = path.relative_to(ROOT)
            if not path.is_file() or "__pycache__" in relative.parts:
                continue
            copy = source / relative
            copy.parent.mkdir(parents=True, exist_ok=True)
            if str(relative) in by_path:
                content = sites.mutate(path.read_text(), by_path[str(relative)]).encode()
            else:
                content = path.read_bytes()
            if not copy.exists() or copy.read_bytes() != content:
                copy.write_bytes(content)
                shutil.copymode(path, copy)
    switches = source / "mutation_switches.hpp"
    if not switches.exists() or switches.read_text() != SWITCHES:
        switches.write_text(SWITCHES)


def build(work: pathlib.Path, jobs: int, mutants: dict[int, sites.Site]) -> None:
    """Builds all programs. Leaves out the mutants that the compiler refuses."""
    source, binary = work / "source", work / "build"
    while True:
        write_copy(source, mutants)
        subprocess.run(
            ["cmake", "-S", source, "-B", binary, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
             "-DWEFT_QUICK_TESTS=ON", "-DWEFT_WERROR=OFF", "-DWEFT_STATIC_CHECKS=OFF", "-DWEFT_BUILD_EXAMPLES=OFF",
             f"-DCMAKE_CXX_FLAGS=-include {source / 'mutation_switches.hpp'}"],
            check=True, stdout=subprocess.DEVNULL,
        )
        made = subprocess.run(["ninja", "-C", binary, "-k", "0", f"-j{jobs}", *PROGRAMS], capture_output=True, text=True)
        if made.returncode == 0:
            return
        lines = {(path, int(line) - 1) for path, line in COMPILE_ERROR.findall(made.stdout)}
        refused = [number for number, site in mutants.items() if (site.path, site.line) in lines]
        if not refused:
            sys.exit(made.stdout[-6000:])
        for number in refused:
            print(f"the compiler refuses {mutants.pop(number).text()}", flush=True)


def programs_of(work: pathlib.Path) -> list[pathlib.Path]:
    found = {path.name: path for path in (work / "build" / "tests").rglob("*_test") if os.access(path, os.X_OK) and path.is_file()}
    return [found[name] for name in PROGRAMS if name in found]


def run_program(program: pathlib.Path, mutant: int, seconds: float, without: str) -> str:
    """Runs one program; returns an empty text if it passes, else the first test that failed or the way it ended."""
    command = [program, "--gtest_fail_fast", "--gtest_brief=1", *([f"--gtest_filter=-{without}"] if without else [])]
    try:
        ended = subprocess.run(command, env={**os.environ, "MUTANT": str(mutant)}, capture_output=True, text=True,
                               errors="replace", timeout=seconds, cwd=program.parent)
    except subprocess.TimeoutExpired:
        return "does not end"
    if ended.returncode == 0:
        return ""
    failed = re.search(r"\[  FAILED  \] ([\w./]+)", ended.stdout)
    return failed[1] if failed else f"ends with {ended.returncode}"


def measure_baseline(programs: list[pathlib.Path]) -> dict[str, tuple[float, str]]:
    """Seconds of each program without a mutant, and its tests that fail in any case."""
    baseline = {}
    for program in programs:
        without: list[str] = []
        while True:
            began = time.monotonic()
            failed = run_program(program, -1, 600, ":".join(without))
            if not failed:
                break
            print(f"{program.name}: {failed} fails without a mutant, and is left out", flush=True)
            if " " in failed or len(without) == 10:
                sys.exit("the tests have to pass without a mutant first")
            without.append(failed)
        baseline[program.name] = (time.monotonic() - began, ":".join(without))
    return baseline


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "mutation")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", type=int, nargs="*", help="run these mutants of the choice alone")
    parser.add_argument("--list", action="store_true", help="print the chosen mutants and end")
    options = parser.parse_args()

    mutants = dict(enumerate(choose(options.mutants, options.seed)))
    if options.list:
        for number, site in mutants.items():
            print(number, site.text())
        return 0
    work = options.work.resolve()
    print(f"building {len(mutants)} mutants in {work}", flush=True)
    build(work, options.jobs, mutants)
    programs = programs_of(work)
    baseline = measure_baseline(programs)
    print(f"{len(programs)} programs take {sum(took for took, _ in baseline.values()):.0f} s without a mutant", flush=True)

    results = {}
    for number, site in mutants.items():
        if options.only is not None and number not in options.only:
            continue
        noticed = ""
        for program in programs:
            took, without = baseline[program.name]
            noticed = run_program(program, number, 5 * took + 30, without)
            if noticed:
                noticed = f"{program.name}: {noticed}"
                break
        results[number] = {"mutant": site.text(), "noticed": noticed}
        killed = sum(bool(result["noticed"]) for result in results.values())
        print(f"[{len(results)}, {killed} noticed] {number} {site.text()} -> {noticed or 'NOT NOTICED'}", flush=True)
        (work / "results.json").write_text(json.dumps(results, indent=1))

    survivors = [f"{number} {result['mutant']}" for number, result in results.items() if not result["noticed"]]
    print(f"\n{len(results) - len(survivors)} of {len(results)} mutants are noticed. Not noticed:")
    print("\n".join(survivors))
    return 0


sys.exit(main())
