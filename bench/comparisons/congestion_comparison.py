# SPDX-License-Identifier: Apache-2.0
"""Comparisons of programs that warm up and choose TCP's congestion control."""
from . import loads
from .comparison import Comparison


class CongestionComparison(Comparison):
    """One whose programs have the flags of `weft raw` for both, and which names them among its facts."""

    def add_flags(self, parser):
        loads.add_warmup_flag(parser)
        parser.add_argument("--congestion", default="cubic", help="TCP congestion control of both sides (default cubic)")

    def complaint(self, arguments):
        return loads.complaint(arguments)

    def facts(self, arguments):
        return {"congestion": arguments.congestion, "warmup": arguments.warmup}

    @staticmethod
    def conditions(facts):
        return f"congestion control {facts['congestion']}; {facts['seconds']:g} s each after {facts['warmup']:g} s, "
