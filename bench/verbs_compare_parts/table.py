# SPDX-License-Identifier: Apache-2.0
"""The results for people."""
from compare_parts import text_table

LATENCIES = ["cell", "2 x ib_send_lat us", "weft p50 us", "ratio", "spread", "goal", "", "RNR NAKs"]
RATES = ["cell", "ib_send_bw messages/s", "weft calls/s", "ratio", "spread", "RNR NAKs"]
BANDWIDTHS = ["cell", "ib_write_bw Gb/s", "registered", "ratio", "spread", "goal", "", "ib_read_bw", "ratio", "copied",
              "registered by copied", "spread", "RNR NAKs"]
COUNTS = ["a call of", "doorbells", "completions", "signalled", "inline", "messages", "reads", "copied by payload",
          "RNR NAKs"]


def render(facts, results):
    lines = text_table.heading(facts, f"{facts['seconds']:g} s each, ", where=f"device {facts['device']}")
    for kind, headings, row in (("lat", LATENCIES, _latency), ("rate", RATES, _rate), ("bw", BANDWIDTHS, _bandwidth)):
        rows = [row(result) for result in results if result.cell.kind == kind]
        if rows:
            texts = {0, headings.index("")} if "" in headings else {0}
            lines += ["", *text_table.aligned([headings, *rows], texts)]
    return "\n".join([
        *lines, "",
        "Medians of the rounds; ratio: ours by theirs; spread: lowest and highest ratio of a round; events: both sleep,",
        "on processor 0; poll: both spin, the client on processor 1; RNR NAKs: by the device's count, in ours."])


def render_counts(counted):
    rows = [[kind, *(str(costs.get(heading, "-")) for heading in COUNTS[1:])] for kind, costs in counted.items()]
    return "\n".join([
        "", *text_table.aligned([COUNTS, *rows], {0}), "",
        "For each call, both sides together, on simulated devices. Doorbells: posts to a send queue; reads: by RDMA;",
        "copied by payload: bytes that the sender copied into messages, by those that it was given."])


def _ratio(result, side, by):
    rounds = result.round_ratios(side, by)
    return [f"{result.ratio(side, by):.2f}", f"{min(rounds):.2f}..{max(rounds):.2f}"]


def _verdict(result, side, by):
    cell = result.cell
    if cell.goal is None:
        return ["", ""]
    ratio = result.ratio(side, by)
    met = ratio <= cell.goal if cell.smaller_is_better else ratio >= cell.goal
    return [f"{'<=' if cell.smaller_is_better else '>='} {cell.goal:g}", "met" if met else "MISSED"]


def _latency(result):
    pair = ("weft", "ib_send_lat")
    return [result.cell.name, _number(result.median("ib_send_lat")), _number(result.median("weft")),
            *_ratio(result, *pair), *_verdict(result, *pair), str(result.not_ready_naks("weft"))]


def _rate(result):
    return [result.cell.name, _number(result.median("ib_send_bw")), _number(result.median("weft")),
            *_ratio(result, "weft", "ib_send_bw"), str(result.not_ready_naks("weft"))]


def _bandwidth(result):
    pair = ("registered", "ib_write_bw")
    return [result.cell.name, _number(result.median("ib_write_bw")), _number(result.median("registered")),
            *_ratio(result, *pair), *_verdict(result, *pair), _number(result.median("ib_read_bw")),
            _ratio(result, "registered", "ib_read_bw")[0], _number(result.median("copied")),
            *_ratio(result, "registered", "copied"),
            str(result.not_ready_naks("registered") + result.not_ready_naks("copied"))]


def _number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.3f}"
