# SPDX-License-Identifier: Apache-2.0
"""Calls over UCX beside the same calls over TCP, and beside ucx_perftest's active messages."""
import dataclasses

from . import table, ucx_programs
from .cell_result import CellResult
from .cells import KIB, Cell
from .machine import CLIENT_CPU, SERVER_CPU, CpuUse
from .programs import Server, report_of
from .rounds import interleaved
from .ucx_cells import Operation

DEPTHS = (1, 2, 4, 8, 16, 32, 64)
SIDES = ("ucx", "tcp", "perftest")
HEADINGS = ["echo", "in flight", "p50 us, UCX", "p99 us, UCX", "p50 us, TCP", "p99 us, TCP", "calls/s, UCX",
            "calls/s, TCP", "TCP/UCX, p50", "spread", "UCX/perftest", "steal"]


@dataclasses.dataclass(frozen=True)
class Echo(Cell):
    transports: str
    size: int
    depth: int

    metric = "p50_us"
    unit = "us p50"
    pairs = (("tcp", "ucx"), ("ucx", "perftest"))

    @property
    def payload(self):
        return f"{self.size // KIB} KiB" if self.size >= KIB else f"{self.size} B"

    @property
    def name(self):
        return f"{self.payload} x{self.depth}"

    @property
    def sides(self):
        return [side for side in SIDES if side != "perftest" or self.depth == 1]


def results(weft, transports, arguments):
    """Of 128 bytes and 4 KiB at 1 in flight, 4 KiB at more, all in mode busy."""
    echoes = [Echo(transports, 128, 1)] + [Echo(transports, 4 * KIB, depth) for depth in DEPTHS]

    def measure(echo, side):
        before = CpuUse.now()
        report = _perftest(echo, arguments) if side == "perftest" else _calls(weft, side, echo, arguments)
        return report | {"steal": CpuUse.now().shares_since(before, 0)[1]}

    for echo, found in interleaved(echoes, lambda echo: echo.sides, arguments.rounds, measure):
        yield CellResult(echo, found)


def _perftest(echo, arguments):
    """A round trip of its active messages."""
    run = ucx_programs.Run(Operation("am_lat", "ucp_am_lat", echo.size, 1, (1e6, 5e4), echo.transports), arguments)
    try:
        return {"p50_us": 2 * run.perftest()}
    finally:
        run.stop()


def _calls(weft, side, echo, arguments):
    flags = ["--mode", "busy"]
    if side == "ucx":
        flags += ["--ucx-error-mode-none", "--ucx-tls", *echo.transports.split(",")]
    server = Server([weft, "perf", "server", "--listen", f"{side}://127.0.0.1:0", "--cpus", str(SERVER_CPU), *flags])
    try:
        return report_of([weft, "perf", "client", "--connect", server.url, "--cpus", str(CLIENT_CPU), "--size",
                          str(echo.size), "--depth", str(echo.depth), "--seconds", str(arguments.seconds), "--warmup",
                          "0.1", "--json", *flags], f"{echo.name} over {side}")[0]
    finally:
        server.stop()


def render(facts, results):
    conditions = f"UCX_TLS {results[0].cell.transports}, both sides busy; "
    return "\n".join([
        *table.heading(facts, conditions), "", *table.aligned([HEADINGS, *map(_row, results)]), "",
        "Medians of the rounds. TCP/UCX: how many times longer the p50 over TCP is, and the lowest and highest of a round;",
        "UCX/perftest: p50 by a round trip of ucx_perftest's active messages (twice its ucp_am_lat); steal: the largest",
        "share of the processors' time that the hypervisor took in a measurement."])


def _row(result):
    return [result.cell.payload, str(result.cell.depth),
            *(table.number(result.median(side, key)) for side in ("ucx", "tcp") for key in ("p50_us", "p99_us")),
            *(table.number(result.median(side, "qps")) for side in ("ucx", "tcp")),
            *table.ratio(result, "tcp", "ucx", digits=1),
            table.ratio(result, "ucx", "perftest")[0] if "perftest" in result.sides else "",
            table.share(result.worst("steal"))]
