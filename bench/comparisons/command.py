# SPDX-License-Identifier: Apache-2.0
"""bench/compare as a command: which comparison is meant."""
import sys

from .failure import Failure
from .fairness import Fairness
from .grid import Grid
from .http import Http
from .limit import Limit
from .memory import Memory
from .services import Services
from .streams import Streams
from .ucx import Ucx
from .verbs import Verbs

COMPARISONS = {comparison.name: comparison
               for comparison in (Limit(), Grid(), Fairness(), Memory(), Ucx(), Verbs(), Services(), Streams(), Http())}
DEFAULT = "limit"


def chosen(words):
    """The comparison that the first word names, or else the default, and the words that are left for it."""
    if words and words[0] in COMPARISONS:
        return COMPARISONS[words[0]], words[1:]
    return COMPARISONS[DEFAULT], words


def main(words):
    comparison, rest = chosen(words)
    try:
        comparison.run(comparison.parse(rest))
    except Failure as failure:
        sys.exit(f"bench/compare {comparison.name}: {failure}")
    except KeyboardInterrupt:
        sys.exit(f"bench/compare {comparison.name}: stopped")
