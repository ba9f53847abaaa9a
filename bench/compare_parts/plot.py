# SPDX-License-Identifier: Apache-2.0
"""A bar for each cell's ratio, its target and the spread of its rounds, as an SVG picture."""
import html

ROW = 30
LEFT = 120
WIDTH = 480
RIGHT = 170
TOP = 70


def bars(facts, results):
    shown = [result for result in results if result.ours]
    highest = max([1.2] + [max(result.round_ratios()) for result in shown])
    height = TOP + ROW * len(shown) + 40

    def x(ratio):
        return LEFT + WIDTH * ratio / highest

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{height}" '
        'font-family="sans-serif" font-size="13">',
        '<rect width="100%" height="100%" fill="white"/>',
        '<text x="10" y="24" font-size="16">weft perf as a share of the limit, weft raw</text>',
        f'<text x="10" y="44" fill="#555">{html.escape(_caption(facts))}</text>',
    ]
    for ratio in [0.25 * step for step in range(int(highest / 0.25) + 1)]:
        parts.append(_line(x(ratio), TOP - 6, x(ratio), height - 34, "#444" if ratio == 1 else "#ddd"))
        parts.append(f'<text x="{x(ratio):.1f}" y="{height - 16}" text-anchor="middle" fill="#555">{ratio:g}</text>')
    for number, result in enumerate(shown):
        parts += _bar(result, TOP + ROW * number, x)
    return "\n".join(parts + ["</svg>"]) + "\n"


def _bar(result, y, x):
    cell, ratio, rounds = result.cell, result.ratio(), result.round_ratios()
    colour = "#3a7d44" if cell.met(ratio) else "#c0392b"
    middle = y + ROW / 2 - 3
    sign = "≤" if cell.smaller_is_better else "≥"
    kind = "latency, " if cell.smaller_is_better else ""
    return [
        f'<text x="{LEFT - 8}" y="{middle + 5}" text-anchor="end">{html.escape(cell.name)}</text>',
        f'<rect x="{LEFT}" y="{y + 2}" width="{x(ratio) - LEFT:.1f}" height="{ROW - 10}" fill="{colour}" '
        'fill-opacity="0.75"/>',
        _line(x(min(rounds)), middle, x(max(rounds)), middle, "#222"),
        _line(x(cell.target), y - 1, x(cell.target), y + ROW - 5, "#222", ' stroke-width="2" stroke-dasharray="4 2"'),
        f'<text x="{LEFT + WIDTH + 8}" y="{middle + 5}">{ratio:.2f} ({kind}{sign} {cell.target:.2f})</text>',
    ]


def _line(x1, y1, x2, y2, colour, more=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{more}/>'


def _caption(facts):
    return (f"{facts['cpu']}, kernel {facts['kernel']}, commit {facts['commit']}, {facts['congestion']}, "
            f"{facts['rounds']} rounds; dashed: target")
