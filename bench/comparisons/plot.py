# SPDX-License-Identifier: Apache-2.0
"""Ratios as an SVG picture: a bar for each with its goal and the spread of its rounds, or a map of squares."""
import dataclasses
import html
import math

ROW = 30
LEFT = 180
WIDTH = 480
RIGHT = 170
TOP = 70

MET = "#3a7d44"
MISSED = "#c0392b"
WITHOUT_GOAL = "#777"


SQUARE_WIDTH = 72
SQUARE_HEIGHT = 28
MAP_LEFT = 70


@dataclasses.dataclass(frozen=True)
class Map:
    """A square for each ratio; None where nothing was measured."""
    title: str
    rows: list


def heat_maps(title, facts, rows, columns, maps):
    """One below the other. `rows` and `columns` are the names that all of them share."""
    height = TOP + len(maps) * (SQUARE_HEIGHT * (len(rows) + 1) + 40)
    width = max(MAP_LEFT + SQUARE_WIDTH * len(columns) + 20, LEFT + WIDTH + RIGHT)
    parts = _head(width, height, title, _caption(facts, "green: ahead, red: behind"))
    y = TOP
    for each in maps:
        parts.append(f'<text x="10" y="{y + 12}" font-size="14">{html.escape(each.title)}</text>')
        y += 2 * SQUARE_HEIGHT
        for number, column in enumerate(columns):
            parts.append(f'<text x="{MAP_LEFT + SQUARE_WIDTH * (number + 0.5):.0f}" y="{y - 8}" text-anchor="middle" '
                         f'fill="#555">{html.escape(column)}</text>')
        for row, ratios in zip(rows, each.rows):
            parts.append(f'<text x="{MAP_LEFT - 8}" y="{y + 18}" text-anchor="end">{html.escape(row)}</text>')
            for number, ratio in enumerate(ratios):
                parts += _square(MAP_LEFT + SQUARE_WIDTH * number, y, ratio)
            y += SQUARE_HEIGHT
        y += 40 - SQUARE_HEIGHT
    return "\n".join(parts + ["</svg>"]) + "\n"


def _square(x, y, ratio):
    if ratio is None:
        return []
    # Twice as fast, or half as fast, has the full colour.
    strength = min(abs(math.log2(ratio)), 1) if ratio > 0 else 1
    colour = MET if ratio >= 1 else MISSED
    return [f'<rect x="{x}" y="{y}" width="{SQUARE_WIDTH - 2}" height="{SQUARE_HEIGHT - 2}" fill="{colour}" '
            f'fill-opacity="{0.05 + 0.75 * strength:.2f}"/>',
            f'<text x="{x + SQUARE_WIDTH / 2 - 1:.0f}" y="{y + 18}" text-anchor="middle">{ratio:.2f}</text>']


def bars(title, facts, results):
    """Of the first pair of each result that has one."""
    shown = [result for result in results if result.pairs()]
    highest = max([1.2] + [max(result.round_ratios(*result.pairs()[0])) for result in shown])
    height = TOP + ROW * len(shown) + 40

    def x(ratio):
        return LEFT + WIDTH * ratio / highest

    parts = _head(LEFT + WIDTH + RIGHT, height, title, _caption(facts, "line: the rounds, dashed: what is wanted"))
    step = _step(highest)
    for ratio in [step * number for number in range(int(highest / step) + 1)]:
        parts.append(_line(x(ratio), TOP - 6, x(ratio), height - 34, "#444" if ratio == 1 else "#ddd"))
        parts.append(f'<text x="{x(ratio):.1f}" y="{height - 16}" text-anchor="middle" fill="#555">{ratio:g}</text>')
    for number, result in enumerate(shown):
        parts += _bar(result, TOP + ROW * number, x)
    return "\n".join(parts + ["</svg>"]) + "\n"


def _step(highest):
    """Between two lines: 0.25, or so much more that there are at most ten."""
    step = 0.25
    while highest / step > 10:
        step *= 2
    return step


def _bar(result, y, x):
    cell, pair = result.cell, result.pairs()[0]
    ratio, rounds = result.ratio(*pair), result.round_ratios(*pair)
    colour = WITHOUT_GOAL if cell.goal is None else MET if cell.met(ratio) else MISSED
    middle = y + ROW / 2 - 3
    parts = [
        f'<text x="{LEFT - 8}" y="{middle + 5}" text-anchor="end">{html.escape(cell.name)}</text>',
        f'<rect x="{LEFT}" y="{y + 2}" width="{x(ratio) - LEFT:.1f}" height="{ROW - 10}" fill="{colour}" '
        'fill-opacity="0.75"/>',
        _line(x(min(rounds)), middle, x(max(rounds)), middle, "#222"),
        f'<text x="{LEFT + WIDTH + 8}" y="{middle + 5}">{ratio:.2f}{_wanted(cell)}</text>',
    ]
    if cell.goal is not None:
        parts.append(_line(x(cell.goal), y - 1, x(cell.goal), y + ROW - 5, "#222",
                           ' stroke-width="2" stroke-dasharray="4 2"'))
    return parts


def _wanted(cell):
    if cell.goal is None:
        return ""
    return f" ({'latency, ≤' if cell.smaller_is_better else '≥'} {cell.goal:.2f})"


def _line(x1, y1, x2, y2, colour, more=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{more}/>'


def _head(width, height, title, caption):
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="13">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="24" font-size="16">{html.escape(title)}</text>',
        f'<text x="10" y="44" fill="#555">{html.escape(caption)}</text>',
    ]


def _caption(facts, legend):
    return f"{facts['cpu']}, kernel {facts['kernel']}, commit {facts['commit']}, {facts['rounds']} rounds; {legend}"
