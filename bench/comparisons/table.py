# SPDX-License-Identifier: Apache-2.0
"""Tables for people, as all comparisons print them."""

# What stands below these headings begins at the left, all else ends at the right.
TEXTS = {"", "a call of", "cell", "mode", "unit", "UCX_TLS"}


def heading(facts, conditions="", where="server on processor 0, client on 1"):
    """What was measured on and how; `conditions` comes before the number of rounds."""
    return [
        f"{facts['cpu']}, {facts['cpus']} processors, kernel {facts['kernel']}, commit {facts['commit']}",
        f"{facts['date']}; {where}; {conditions}{facts['rounds']} interleaved rounds",
    ]


def aligned(rows):
    """Lines of columns. The first row is the headings."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    at_the_left = [title in TEXTS for title in rows[0]]
    for row in rows:
        texts = [text.ljust(width) if left else text.rjust(width) for text, width, left in zip(row, widths, at_the_left)]
        yield "  ".join(texts).rstrip()


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.3f}"


def ratio(result, side, by, digits=2):
    """The ratio of the medians, and the lowest and highest ratio of a round."""
    rounds = result.round_ratios(side, by)
    return [f"{result.ratio(side, by):.{digits}f}", f"{min(rounds):.{digits}f}..{max(rounds):.{digits}f}"]


def goal(result, side, by):
    """What is wanted of the ratio, and whether it was met; nothing where no goal was set."""
    cell = result.cell
    wanted = cell.goal_of(side, by)
    if wanted is None:
        return ["", ""]
    sign = "<=" if cell.smaller_is_better else ">="
    return [f"{sign} {wanted:.2f}", "met" if cell.met(result.ratio(side, by), wanted) else "MISSED"]


def share(value):
    return f"{value:.0%}"
