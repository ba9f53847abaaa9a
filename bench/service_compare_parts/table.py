# SPDX-License-Identifier: Apache-2.0
"""The results for people."""
from compare_parts import text_table

HEADINGS = ["in flight", "connections", "gRPC/s", "service/s", "ratio", "spread", "function/s", "ratio", "coroutine/s", "ratio", "p50 gRPC",
            "p50 service", "p99 gRPC", "p99 service", "others"]


def render(facts, results):
    rows = [HEADINGS] + [_row(result) for result in results]
    return "\n".join([
        *text_table.heading(facts, f"{facts['seconds']:g} s each, "), "",
        *text_table.aligned(rows), "",
        "function, coroutine: plain ones of as many bytes, called inside the receiving or with a record as services are.",
        "Medians of the rounds; ratio: service by the other; spread: lowest and highest ratio of a round to gRPC; times in",
        "microseconds, by the clock of the loop's turn where several calls are in flight; others: the largest share of the",
        "processors' time that other programs had.",
    ])


def _row(result):
    rounds = result.round_ratios("gRPC")
    return [str(result.cell.depth), str(result.cell.connections), _count(result.median("gRPC")),
            _count(result.median("service")), f"{result.ratio('gRPC'):.1f}", f"{min(rounds):.1f}..{max(rounds):.1f}",
            *(text for side in ("function", "coroutine")
              for text in (_count(result.median(side)), f"{result.ratio(side):.2f}")),
            *(f"{result.median(side, what):,.1f}" for what in ("p50_us", "p99_us") for side in ("gRPC", "service")),
            f"{result.others:.0%}"]


def _count(value):
    return f"{value:,.0f}"
