# SPDX-License-Identifier: Apache-2.0
"""Calls over UCX beside the same calls over TCP, and beside ucx_perftest's active messages."""
import dataclasses
import statistics

from compare_parts import text_table
from compare_parts.machine import CLIENT_CPU, SERVER_CPU, CpuUse
from compare_parts.programs import Server, report_of
from compare_parts.rounds import interleaved

from . import cells, measure
from .cells import KIB

DEPTHS = (1, 2, 4, 8, 16, 32, 64)
SIDES = ("ucx", "tcp", "perftest")
HEADINGS = ["echo", "in flight", "p50 us, UCX", "p99 us, UCX", "p50 us, TCP", "p99 us, TCP", "calls/s, UCX",
            "calls/s, TCP", "TCP/UCX, p50", "spread", "UCX/perftest", "steal"]


@dataclasses.dataclass(frozen=True)
class Echo:
    size: int
    depth: int

    @property
    def name(self):
        return f"{self.size // KIB} KiB" if self.size >= KIB else f"{self.size} B"


@dataclasses.dataclass
class Result:
    cell: Echo
    sides: dict  # of a list of reports, one per round; perftest's has the p50 of a round trip only

    def median(self, side, key="p50_us"):
        return statistics.median(report[key] for report in self.sides[side])

    def round_ratios(self):
        return [tcp["p50_us"] / ucx["p50_us"] for ucx, tcp in zip(self.sides["ucx"], self.sides["tcp"])]

    def worst_steal(self):
        return max(report["steal"] for side in self.sides.values() for report in side)

    def to_json(self):
        return dataclasses.asdict(self)


def run(weft, transports, arguments):
    """128 bytes and 4 KiB at 1 in flight, 4 KiB at more, all in mode busy."""
    echoes = [Echo(128, 1)] + [Echo(4 * KIB, depth) for depth in DEPTHS]

    def sides(echo):
        return [side for side in SIDES if side != "perftest" or echo.depth == 1]

    def measured(echo, side):
        before = CpuUse.now()
        report = _perftest(echo, transports, arguments) if side == "perftest" else _calls(
            weft, side, echo, transports, arguments)
        return report | {"steal": CpuUse.now().shares_since(before, 0)[1]}

    def label(echo):
        return f"{echo.name} x{echo.depth}"

    return [Result(echo, found) for echo, found in interleaved(echoes, sides, arguments.rounds, measured, label)]


def _perftest(echo, transports, arguments):
    perftest = measure.Run(cells.Cell("am_lat", "ucp_am_lat", echo.size, 1, (1e6, 5e4), transports), arguments)
    try:
        return {"p50_us": 2 * perftest.perftest()}
    finally:
        perftest.stop()


def _calls(weft, side, echo, transports, arguments):
    flags = ["--mode", "busy"]
    if side == "ucx":
        flags += ["--ucx-error-mode-none", "--ucx-tls", *transports.split(",")]
    server = Server([weft, "perf", "server", "--listen", f"{side}://127.0.0.1:0", "--cpus", str(SERVER_CPU), *flags])
    try:
        return report_of([weft, "perf", "client", "--connect", server.url, "--cpus", str(CLIENT_CPU), "--size",
                          str(echo.size), "--depth", str(echo.depth), "--seconds", str(arguments.seconds), "--warmup",
                          "0.1", "--json", *flags], f"{echo.name} over {side}")[0]
    finally:
        server.stop()


def render(facts, transports, results):
    rows = [HEADINGS] + [_row(result) for result in results]
    return "\n".join([
        *text_table.heading(facts, f"UCX_TLS {transports}, both sides busy; "), "", *text_table.aligned(rows), "",
        "Medians of the rounds. TCP/UCX: how many times longer the p50 over TCP is, and the lowest and highest of a round;",
        "UCX/perftest: p50 by a round trip of ucx_perftest's active messages (twice its ucp_am_lat); steal: the largest",
        "share of the processors' time that the hypervisor took in a measurement."])


def _row(result):
    rounds = result.round_ratios()
    perftest = f"{result.median('ucx') / result.median('perftest'):.2f}" if "perftest" in result.sides else ""
    return [result.cell.name, str(result.cell.depth),
            *(f"{result.median(side, key):.2f}" for side in ("ucx", "tcp") for key in ("p50_us", "p99_us")),
            *(f"{result.median(side, 'qps'):,.0f}" for side in ("ucx", "tcp")),
            f"{result.median('tcp') / result.median('ucx'):.1f}", f"{min(rounds):.1f}..{max(rounds):.1f}", perftest,
            f"{result.worst_steal():.0%}"]
