# SPDX-License-Identifier: Apache-2.0
"""Tables for people, as all comparisons print them."""


def heading(facts, conditions="", where="server on processor 0, client on 1"):
    """What was measured on and how; `conditions` comes before the number of rounds."""
    return [
        f"{facts['cpu']}, {facts['cpus']} processors, kernel {facts['kernel']}, commit {facts['commit']}",
        f"{facts['date']}; {where}; {conditions}{facts['rounds']} interleaved rounds",
    ]


def aligned(rows, texts=()):
    """Lines of columns: those whose place is in `texts` begin at the left, the others end at the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [text.ljust(widths[i]) if i in texts else text.rjust(widths[i]) for i, text in enumerate(row)]
        yield "  ".join(cells).rstrip()
