# SPDX-License-Identifier: Apache-2.0
"""What the comparisons of bench/compare share: flags, and what becomes of the results."""
import argparse
import json
import pathlib

from . import machine, plot


class Comparison:
    """One of those that bench/compare has. A subclass says what is in it, how it is measured and how it is shown."""
    name = ""  # the word behind bench/compare
    about = ""  # for --help
    examples = ""
    rounds = 5
    seconds = 1.0
    cells = ()  # those that --cells may name; without any there is no such flag
    title = ""  # of the plot

    def add_flags(self, parser):
        """Flags of this comparison alone."""

    def complaint(self, arguments):
        """What is wrong with the flags; None when nothing is."""

    def facts(self, arguments):
        """What a reader must know besides what is known of the machine."""
        return {}

    def results(self, arguments):
        """Measures, and yields a CellResult when a cell is done."""
        raise NotImplementedError

    def render(self, facts, results):
        """The results for people."""
        raise NotImplementedError

    def picture(self, facts, results):
        """The results as SVG, for --plot."""
        return plot.bars(self.title, facts, results)

    def run(self, arguments):
        facts = machine.facts(arguments) | self.facts(arguments)
        results = []
        try:
            for result in self.results(arguments):
                results.append(result)
                # A run may take long: whatever becomes of the rest, this is kept.
                if arguments.json:
                    record = {"machine": facts, "cells": [each.to_json() for each in results]}
                    arguments.json.write_text(json.dumps(record, indent=2) + "\n")
        finally:
            if results:
                print(self.render(facts, results), flush=True)
        if arguments.plot:
            arguments.plot.write_text(self.picture(facts, results))

    def parse(self, words):
        parser = argparse.ArgumentParser(
            prog=f"bench/compare {self.name}", description=self.about, epilog=self.examples,
            formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("build_dir", type=pathlib.Path, help="where the project was built, such as build/release")
        parser.add_argument("--rounds", type=int, default=self.rounds,
                            help=f"measurements of each side (default {self.rounds})")
        parser.add_argument("--seconds", type=float, default=self.seconds,
                            help=f"about how long one takes on a quiet machine (default {self.seconds:g})")
        if self.cells:
            parser.add_argument("--cells", metavar="NAME,...",
                                help="only these, or patterns such as '1x*'; known: " + ", ".join(cell.name for cell in self.cells))
        self.add_flags(parser)
        parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="write everything that was measured")
        parser.add_argument("--plot", metavar="FILE.svg", type=pathlib.Path, help="draw the ratios")
        arguments = parser.parse_args(words)
        wrong = self.complaint(arguments)
        if arguments.rounds < 1 or arguments.seconds <= 0:
            wrong = "--rounds must be at least 1, --seconds more than 0"
        if wrong:
            parser.error(wrong)
        return arguments
