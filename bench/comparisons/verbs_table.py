# SPDX-License-Identifier: Apache-2.0
"""The results of bench/compare verbs for people."""
from . import table

LATENCIES = ["cell", "2 x ib_send_lat us", "weft p50 us", "ratio", "spread", "goal", "", "RNR NAKs"]
RATES = ["cell", "ib_send_bw messages/s", "weft calls/s", "ratio", "spread", "RNR NAKs"]
BANDWIDTHS = ["cell", "ib_write_bw Gb/s", "registered", "ratio", "spread", "goal", "", "ib_read_bw", "ratio", "copied",
              "registered by copied", "spread", "RNR NAKs"]


def render(facts, results):
    lines = table.heading(facts, f"{facts['seconds']:g} s each, ", where=f"device {facts['device']}")
    for kind, headings, row in (("lat", LATENCIES, _latency), ("rate", RATES, _rate), ("bw", BANDWIDTHS, _bandwidth)):
        rows = [row(result) for result in results if result.cell.kind == kind]
        if rows:
            lines += ["", *table.aligned([headings, *rows])]
    return "\n".join([
        *lines, "",
        "Medians of the rounds; ratio: ours by theirs; spread: lowest and highest ratio of a round; events: both sleep,",
        "on processor 0; poll: both spin, the client on processor 1; RNR NAKs: by the device's count, in ours."])


def _begin(result):
    (ours, theirs), *_ = result.cell.pairs
    return [result.cell.name, table.number(result.median(theirs)), table.number(result.median(ours)),
            *table.ratio(result, ours, theirs)]


def _naks(result, *sides):
    return str(result.total("not_ready_naks", *sides))


def _latency(result):
    return [*_begin(result), *table.goal(result, "weft", "ib_send_lat"), _naks(result, "weft")]


def _rate(result):
    return [*_begin(result), _naks(result, "weft")]


def _bandwidth(result):
    return [*_begin(result), *table.goal(result, "registered", "ib_write_bw"), table.number(result.median("ib_read_bw")),
            table.ratio(result, "registered", "ib_read_bw")[0], table.number(result.median("copied")),
            *table.ratio(result, "registered", "copied"), _naks(result, "registered", "copied")]
