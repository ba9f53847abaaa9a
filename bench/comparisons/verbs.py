# SPDX-License-Identifier: Apache-2.0
"""verbs:// against perftest."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

from . import verbs_counts, verbs_programs, verbs_table
from .cell_result import CellResult
from .cells import named
from .comparison import Comparison
from .programs import find_tool
from .rounds import interleaved
from .verbs_cells import CELLS

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of one measurement, besides what it measures: two programs begin and end, in an emulated machine.
BEGIN_AND_END_SECONDS = 30
BOOT_SECONDS = 300


class Verbs(Comparison):
    name = "verbs"
    about = """Holds verbs:// against perftest (ib_send_lat, ib_send_bw, ib_write_bw), cell by cell in one interleaved run.

For each cell and round all are measured one after the other on the same device, each with a fresh server and a fresh
client. Without an RDMA device everything runs in one emulated machine (./dev rdma-vm --help). Its figures mean nothing,
their ratios do, when nothing else takes the processors of this machine.

Each cell is there twice. In those that end in -events both sides sleep until the device reports something, and client
and server share processor 0; in those that end in -poll both spin, the server on processor 0 and the client on 1. In an
emulated machine whoever spins keeps the kernel from moving packets for some milliseconds at times, and a processor that
sleeps wakes up late: hence both, and hence one processor for those that sleep.

  lat    calls with an answer of the same size, one at a time, against twice what ib_send_lat says is typical
  rate   small calls, 64 in flight, against the messages of ib_send_bw in one direction; each call is two
  bw     answers of that size, 4 in flight, against as many writes of ib_write_bw; and reads of ib_read_bw, for that is
         how registered attachments travel. "copied" are attachments that nobody registered
"""
    examples = """examples:
  bench/compare verbs build/release
  bench/compare verbs build/release --cells lat-64-events,bw-1M-events --rounds 9 --json /tmp/verbs.json
  bench/compare verbs build/release --cells none      # only what is counted, which needs no device
"""
    cells = CELLS
    title = "verbs:// by perftest"

    def add_flags(self, parser):
        parser.add_argument("--here", action="store_true", help="on a device of this machine, or not at all")
        parser.add_argument("--progress", action="store_true", help="show progress, even if stderr is no terminal")

    def facts(self, arguments):
        return {"device": verbs_programs.find_device(find_tool(arguments.build_dir)).name}

    def run(self, arguments):
        if arguments.here:
            super().run(arguments)
            return
        chosen = _chosen(arguments)
        counted = verbs_counts.run(arguments.build_dir)
        if chosen:
            _run_where_a_device_is(arguments, chosen)
        print(verbs_counts.render(counted))

    def results(self, arguments):
        chosen = _chosen(arguments)
        weft = find_tool(arguments.build_dir)
        device = verbs_programs.find_device(weft)
        verbs_programs.require_perftest(chosen)

        def measure(cell, side):
            return verbs_programs.measure(weft, device, cell, side, arguments)

        for cell, found in interleaved(chosen, lambda cell: cell.sides, arguments.rounds, measure,
                                       shown=arguments.progress or None):
            yield CellResult(cell, found)

    def render(self, facts, results):
        return verbs_table.render(facts, results)


def _chosen(arguments):
    return [] if arguments.cells == "none" else named(arguments.cells, CELLS)


def _run_where_a_device_is(arguments, chosen):
    """Runs this comparison again: on this machine if it has a device, else in an emulated one."""
    measurements = sum(len(cell.sides) for cell in chosen) * arguments.rounds
    timeout = BOOT_SECONDS + int(measurements * (BEGIN_AND_END_SECONDS + arguments.seconds))
    with tempfile.TemporaryDirectory() as folder:
        written = {"--json": pathlib.Path(folder) / "report.json", "--plot": pathlib.Path(folder) / "plot.svg"}
        again = [str(ROOT / "bench" / "compare"), "verbs", str(arguments.build_dir), "--here", "--rounds",
                 str(arguments.rounds), "--seconds", str(arguments.seconds), "--cells",
                 ",".join(cell.name for cell in chosen)]
        for flag, path in written.items():
            again += [flag, str(path)]
        if arguments.progress or sys.stderr.isatty():
            again.append("--progress")
        runner = [sys.executable, "-B", str(ROOT / "tests" / "rdma_vm"), "--host-if-device", "--share", folder,
                  "--timeout", str(timeout), "--", sys.executable, "-B"]
        code = subprocess.run(runner + again).returncode
        for wanted, path in ((arguments.json, written["--json"]), (arguments.plot, written["--plot"])):
            if wanted and path.exists():
                shutil.copy(path, wanted)
        if code:
            sys.exit(code)
