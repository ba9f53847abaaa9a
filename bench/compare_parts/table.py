# SPDX-License-Identifier: Apache-2.0
"""The results for people."""
from . import text_table

HEADINGS = ["cell", "mode", "limit", "ours", "unit", "ratio", "spread", "target", "", "p50 us", "p99 us",
            "p99/p50", "others", "steal"]
TEXT_COLUMNS = {i for i, heading in enumerate(HEADINGS) if heading in ("cell", "mode", "unit", "")}


def render(facts, results):
    rows = [HEADINGS] + [_row(result) for result in results]
    conditions = f"congestion control {facts['congestion']}; {facts['seconds']} s each after {facts['warmup']} s, "
    lines = [*text_table.heading(facts, conditions), "", *text_table.aligned(rows, TEXT_COLUMNS)]
    lines += ["", "limit and ours: medians; ratio: of the medians; spread: lowest and highest ratio of a round; "
              "p50 and p99: ours,", "or the limit's where ours was not measured; others and steal: the largest share "
              "of the processors' time in a", "measurement that other processes or the hypervisor took."]
    lines += [f"{result.cell.name}: {result.errors()} calls failed" for result in results if result.errors()]
    return "\n".join(lines)


def _row(result):
    cell = result.cell
    shown = result.ours or result.limit
    p50 = result.median(shown, "p50_us")
    p99 = result.median(shown, "p99_us")
    comparison = _comparison(result) if result.ours else ["-", "-", "-", "-", ""]
    ours, ratio, spread, target, verdict = comparison
    return [cell.name, cell.mode, _number(result.median(result.limit, cell.metric)), ours, cell.unit, ratio, spread,
            target, verdict, _number(p50), _number(p99), _stall(cell, p99 / p50 if p50 else 0),
            f"{result.worst_share('others'):.0%}", f"{result.worst_share('steal'):.0%}"]


def _comparison(result):
    cell = result.cell
    ratio = result.ratio()
    rounds = result.round_ratios()
    sign = "<=" if cell.smaller_is_better else ">="
    return [_number(result.median(result.ours, cell.metric)), f"{ratio:.2f}", f"{min(rounds):.2f}..{max(rounds):.2f}",
            f"{sign} {cell.target:.2f}", "met" if cell.met(ratio) else "MISSED"]


def _stall(cell, factor):
    text = f"{factor:.1f}"
    if cell.stall_factor is None:
        return text
    return f"{text} {'<=' if factor <= cell.stall_factor else '>'} {cell.stall_factor:.0f}"


def _number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}" if value < 100 else f"{value:.1f}"
