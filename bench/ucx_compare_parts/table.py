# SPDX-License-Identifier: Apache-2.0
"""The results for people."""
from compare_parts import text_table

from .cells import TARGET

HEADINGS = ["UCX_TLS", "cell", "ucx_perftest", "ours", "unit", "ratio", "spread", "", "C calls", "ratio", "steal"]
TEXT_COLUMNS = {0, 1, 4, 7}


def render(facts, results):
    rows = [HEADINGS] + [_row(result) for result in results]
    lines = [*text_table.heading(facts), "", *text_table.aligned(rows, TEXT_COLUMNS)]
    return "\n".join(lines + ["", "medians of the rounds; ratios above 1: faster than ucx_perftest; wanted: "
                              f"{TARGET}; spread: lowest and highest", "ratio of a round; C calls: our program with "
                              "UCX's calls alone; steal: the largest share of the processors' time", "that the "
                              "hypervisor took in a measurement."])


def _row(result):
    ratio = result.ratio("ours")
    rounds = result.round_ratios("ours")
    return [result.cell.transports, result.cell.name, _number(result.median("theirs")),
            _number(result.median("ours")), result.cell.unit, f"{ratio:.2f}", f"{min(rounds):.2f}..{max(rounds):.2f}",
            "met" if ratio >= TARGET else "MISSED", _number(result.median("c")), f"{result.ratio('c'):.2f}",
            f"{result.worst_steal():.0%}"]


def _number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3f}" if value < 10 else f"{value:.1f}"
