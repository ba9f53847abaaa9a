# SPDX-License-Identifier: Apache-2.0
"""The results for people."""

HEADINGS = ["in flight", "connections", "gRPC/s", "service/s", "ratio", "spread", "function/s", "ratio", "coroutine/s", "ratio", "p50 gRPC",
            "p50 service", "p99 gRPC", "p99 service", "others"]


def render(facts, results):
    rows = [HEADINGS] + [_row(result) for result in results]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
    lines = [
        f"{facts['cpu']}, {facts['cpus']} processors, kernel {facts['kernel']}, commit {facts['commit']}",
        f"{facts['date']}; server on processor 0, client on 1; {facts['rounds']} interleaved rounds of {facts['seconds']:g} s",
        "",
    ]
    lines += ["  ".join(text.rjust(width) for text, width in zip(row, widths)) for row in rows]
    return "\n".join(lines + [
        "",
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
