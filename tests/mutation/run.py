#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how many small faults in sessions, admission, gates, streams and pools the tests notice.

Chooses mutants by a seed, compiles them all into one copy of the project with a switch each, and runs the test
programs, the quick ones first, once for each mutant until one of them fails. A failure counts if it comes again.
Prints the mutants that no test noticed. Mutants that change no behaviour are listed in equivalent.txt with a reason,
and others stand in for them. The whole check of the project does not include a run: it takes an hour on two cores.

    tests/mutation/run.py                   100 mutants, the copy and the results in build/mutation
    tests/mutation/run.py --only 1713223 "put_items.cpp: statement left out: state_"
                                            these mutants, chosen or not, by number or by part of their text
    tests/mutation/run.py --source COPY --binary COPY/build/release
                                            the mutants in COPY, a copy of the project with a complete build:
                                            only changed files are compiled again
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import sites

ROOT = pathlib.Path(__file__).resolve().parents[2]
GROUPS = {
    "session": r"src/calls/\w+/(session|session_streams|standing_end|requests_\w+|calls_in|calls_out|call_timeouts)\.(cpp|hpp)",
    "admission": r"src/calls/\w+/(admission|running_limit|refusals|arriving_\w+)\.(cpp|hpp)",
    "gates": r"src/calls/\w+/(call_gate|gate_pass|server_gate|fault_gate|intercepted_sink|caller_check|client_pass|request_check)\.(cpp|hpp)",
    "streams": r"src/calls/\w+/(stream_\w+|opened_stream|item_sink|incoming_items|item_queue|arrived_items|put_items|exchange_\w+|served_exchange)\.(cpp|hpp)",
    "pool": r"src/calls/client/\w+\.(cpp|hpp)",
}
PROGRAMS = [
    "access_test", "announced_frames_test", "calls_unit_test", "callbacks_test", "carrier_streams_test", "conformance_test",
    "faults_test", "fleet_client_test", "flood_test", "gates_test", "greedy_server_test", "hostile_called_test",
    "hostile_server_test", "hostile_serving_test", "hostile_streams_test", "incoming_model_test", "items_model_test",
    "lifecycle_test", "lost_items_test", "memory_sweep_test", "pieces_over_test", "process_memory_test", "push_test",
    "rpc_acceptance_test", "rpc_counting_test", "simulation_test", "stranger_test", "streams_model_test",
    "streams_simulation_test", "threads_client_test", "threads_streams_test", "transfers_model_test", "waiting_handlers_test",
]
SWITCHES = """#pragma once
#include <cstdlib>
namespace weft_mutation {
inline const int chosen = std::getenv("MUTANT") != nullptr ? std::atoi(std::getenv("MUTANT")) : -1;
inline bool is_on(int mutant) { return chosen == mutant; }
}  // namespace weft_mutation
// What a switch of a mutant may cause.
#pragma GCC diagnostic ignored "-Wparentheses"
"""
INCLUDE = '#include "mutation_switches.hpp"'
COMPILE_ERROR = re.compile(r"(src/[\w/.]+):(\d+):\d+: error")
# A test that takes a mutant's memory or writes without end fails on its own, not the machine.
MEMORY_MAX = 12 << 30
FILE_MAX = 2 << 30
COPIED = ["CMakeLists.txt", "CMakePresets.json", "cmake", "include", "src", "tests", "tools", "bench", "examples", "docs", "README.md"]


def read_equivalent() -> dict[str, str]:
    """The reasons of the listed mutants by their identity: one mutant takes a line, and its reason the indented lines below."""
    reasons: dict[str, str] = {}
    identity = ""
    for line in (ROOT / "tests" / "mutation" / "equivalent.txt").read_text().splitlines():
        if line.startswith(" ") and identity:
            reasons[identity] = (reasons[identity] + " " + line.strip()).strip()
        elif line and not line.startswith("#"):
            identity = line
            reasons[identity] = ""
    return reasons


def of_groups() -> list[list[sites.Site]]:
    """All mutants of each group."""
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.?pp"))
    return [
        [site for path in files if re.fullmatch(pattern, path) for site in sites.find_sites(path, (ROOT / path).read_text())]
        for pattern in GROUPS.values()
    ]


def find(only: list[str]) -> list[sites.Site]:
    """The mutants with these numbers, or with these parts of their identities."""
    every = {site.number(): site for group in of_groups() for site in group}
    found: dict[int, sites.Site] = {}
    for wanted in only:
        of_it = {number: site for number, site in every.items() if wanted == str(number) or wanted in site.identity()}
        if not of_it:
            sys.exit(f"no mutant is {wanted}")
        found |= of_it
    return list(found.values())


def choose(count: int, seed: int, without: set[str]) -> list[sites.Site]:
    """The same number of mutants of each group, as far as a group has enough of them.

    A mutant's place in the order of its group depends on its own code alone, so that a change elsewhere changes little.
    """
    chosen: list[sites.Site] = []
    for at, group in enumerate(of_groups()):
        of_group = [site for site in group if site.identity() not in without]
        of_group.sort(key=lambda site: hashlib.sha256(f"{seed} {site.identity()}".encode()).digest())
        chosen += of_group[: (count - len(chosen)) // (len(GROUPS) - at)]
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
                content = sites.mutate(path.read_text(), by_path[str(relative)], INCLUDE).encode()
            else:
                content = path.read_bytes()
            if not copy.exists() or copy.read_bytes() != content:
                copy.write_bytes(content)
                shutil.copymode(path, copy)
    switches = source / "src" / "mutation_switches.hpp"
    if not switches.exists() or switches.read_text() != SWITCHES:
        switches.write_text(SWITCHES)


def build(source: pathlib.Path, binary: pathlib.Path, jobs: int, mutants: dict[int, sites.Site]) -> None:
    """Builds all programs. Leaves out the mutants that the compiler refuses."""
    while True:
        write_copy(source, mutants)
        if not (binary / "build.ninja").exists():
            subprocess.run(
                ["cmake", "-S", source, "-B", binary, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
                 "-DWEFT_QUICK_TESTS=ON", "-DWEFT_PRECOMPILED_HEADERS=ON", "-DWEFT_PROGRAM_SOURCES_AT_ONCE=32",
                 "-DWEFT_WERROR=OFF", "-DWEFT_STATIC_CHECKS=OFF", "-DWEFT_BUILD_EXAMPLES=OFF"],
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


def programs_of(binary: pathlib.Path) -> list[pathlib.Path]:
    found = {path.name: path for path in (binary / "tests").rglob("*_test") if os.access(path, os.X_OK) and path.is_file()}
    return [found[name] for name in PROGRAMS if name in found]


def limit_process() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_MAX, FILE_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run_program(program: pathlib.Path, mutant: int, seconds: float, tests: str = "*") -> str:
    """Runs one program; returns an empty text if it passes, else the first test that failed or the way it ended."""
    command = [program, "--gtest_fail_fast", "--gtest_brief=1", f"--gtest_filter={tests}"]
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        # Children of a test that hangs are ended with it, and hold no pipe open.
        process = subprocess.Popen(command, env={**os.environ, "MUTANT": str(mutant)}, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.DEVNULL, cwd=program.parent, start_new_session=True, preexec_fn=limit_process)
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return "does not end"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        failed = re.search(r"\[  FAILED  \] ([\w./]+)", output.read())
    if process.returncode == 0:
        return ""
    return failed[1] if failed else f"ends with {process.returncode}"


@dataclasses.dataclass(frozen=True)
class Program:
    path: pathlib.Path
    took: float
    tests: str

    def seconds_max(self) -> float:
        return 4 * self.took + 20

    def notice(self, mutant: int) -> str:
        """The failure that the mutant causes, twice: one failure alone may be the machine's."""
        failed = run_program(self.path, mutant, self.seconds_max(), self.tests)
        if not failed or failed == "does not end":
            return failed
        alone = "" if " " in failed else run_program(self.path, mutant, self.seconds_max(), failed)
        return alone or run_program(self.path, mutant, self.seconds_max(), self.tests)


def measure(paths: list[pathlib.Path], timings: pathlib.Path) -> list[Program]:
    """The programs with the seconds of each without a mutant, without the tests that fail in any case, the quick ones first.

    Those that were not linked again since the last run are not measured again.
    """
    known = json.loads(timings.read_text()) if timings.exists() else {}
    programs = []
    for path in paths:
        linked = path.stat().st_mtime
        if path.name in known and known[path.name]["linked"] == linked:
            programs.append(Program(path, known[path.name]["took"], known[path.name]["tests"]))
            continue
        without: list[str] = []
        while True:
            tests = f"-{':'.join(without)}" if without else "*"
            began = time.monotonic()
            failed = run_program(path, -1, 600, tests)
            if not failed:
                break
            if " " in failed or len(without) == 10:
                sys.exit(f"{path.name}: {failed}, but the tests have to pass without a mutant first")
            if run_program(path, -1, 600, failed):
                print(f"{path.name}: {failed} fails without a mutant, and is left out", flush=True)
                without.append(failed)
        programs.append(Program(path, time.monotonic() - began, tests))
        known[path.name] = {"linked": linked, "took": programs[-1].took, "tests": tests}
        timings.write_text(json.dumps(known, indent=1))
    return sorted(programs, key=lambda program: program.took)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--source", type=pathlib.Path, default=ROOT / "build" / "mutation" / "source")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build" / "mutation" / "build")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "build" / "mutation" / "results.json")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at once")
    parser.add_argument("--at-once", type=int, default=1, help="mutants that run at once")
    parser.add_argument("--only", nargs="+", help="run these mutants alone: numbers, or parts of the texts in --list")
    parser.add_argument("--list", action="store_true", help="print the chosen mutants and end")
    options = parser.parse_args()

    equivalent = read_equivalent()
    if without_reason := [identity for identity, reason in equivalent.items() if not reason]:
        sys.exit("equivalent.txt gives no reason for:\n" + "\n".join(without_reason))
    chosen = find(options.only) if options.only else choose(options.mutants, options.seed, set(equivalent))
    mutants = {site.number(): site for site in chosen}
    if len(mutants) != len(chosen):
        sys.exit("two mutants have the same number")
    if options.list:
        for number, site in mutants.items():
            print(number, site.identity())
        return 0
    print(f"building {len(mutants)} mutants in {options.source}", flush=True)
    options.source.mkdir(parents=True, exist_ok=True)
    build(options.source.resolve(), options.binary.resolve(), options.jobs, mutants)
    programs = measure(programs_of(options.binary.resolve()), options.results.with_name("timings.json"))
    print(f"{len(programs)} programs take {sum(program.took for program in programs):.0f} s without a mutant", flush=True)

    results = {number: {"mutant": site.text(), "noticed": ""} for number, site in mutants.items()}
    # Program by program, so that the slow ones run for few mutants.
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        for program in programs:
            left = [number for number in results if not results[number]["noticed"]]
            for number, failed in zip(left, pool.map(program.notice, left)):
                if failed:
                    results[number]["noticed"] = f"{program.path.name}: {failed}"
                    print(f"{number} {mutants[number].text()} -> {results[number]['noticed']}", flush=True)
            left = [number for number in left if not results[number]["noticed"]]
            print(f"after {program.path.name} {len(left)} of {len(results)} are not noticed", flush=True)
            options.results.write_text(json.dumps(results, indent=1))

    survivors = [f"{number} {result['mutant']}" for number, result in sorted(results.items()) if not result["noticed"]]
    print(f"\n{len(results) - len(survivors)} of {len(results)} mutants are noticed. Not noticed:")
    print("\n".join(survivors))
    return 0


sys.exit(main())
