# SPDX-License-Identifier: Apache-2.0
"""Finds the places of a C++ source that can be mutated, and writes a source with switches at some of them.

A mutant is one small fault: a statement that is left out, a condition that is negated, a comparison or a boolean
operator that is exchanged, a constant result that is inverted. All chosen mutants are compiled into one program; a
number in the environment of the process turns one of them on.
"""

import dataclasses
import hashlib
import re

SWITCH = "::weft_mutation::is_on"

# A complete call, assignment, increment or decrement on a line of its own.
STATEMENT = re.compile(
    r"^(?P<indent>\s+)(?P<code>(?:\+\+|--)?[A-Za-z_][\w.\->:\[\]()*]*"
    r"(?:\((?:.*)\)|\s(?:[-+|&]?=)\s.*|\+\+|--));\s*(?://.*)?$"
)
CONDITION = re.compile(r"^(?P<before>\s+(?:\} else )?if \()(?P<code>.*)(?P<after>\)(?: \[\[(?:un)?likely\]\])?(?: \{| .*;)?)$")
RESULT = re.compile(r"^(?P<before>\s+(?:if \(.*\) )?return )(?P<code>true|false);$")
COMPARED = re.compile(r"^(?P<before>\s+return )(?P<code>[^;\"]*(?: [<>]=? | == | != | && | \|\| )[^;\"]*);$")
EXCHANGED = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " && ": " || ", " || ": " && "}

NOT_STATEMENTS = ("return", "co_", "using ", "static_assert", "delete ", "throw", "goto", "case ", "default", "new ")
# Asserts say what holds in any case, and a log line is text for people.
NOT_TESTED = ("WEFT_ASSERT", "assert(", ".log(", "logger", "prefetch", ".reserve(")


@dataclasses.dataclass(frozen=True)
class Site:
    """One place: `line` counts from 0."""

    path: str
    line: int
    kind: str
    code: str
    # How many sites of the same kind and code come before it in the file.
    nth: int = 0

    def number(self) -> int:
        """Depends on the identity alone, so the number stays when other mutants are listed as equivalent."""
        return int.from_bytes(hashlib.sha256(self.identity().encode()).digest()[:4], "big") >> 1

    def identity(self) -> str:
        """Stays the same while other lines of the file change."""
        return f"{self.path}: {self.kind}: {self.code.strip()}" + (f" #{self.nth + 1}" if self.nth else "")

    def text(self) -> str:
        return f"{self.path}:{self.line + 1}: {self.kind}: {self.code.strip()}"


def is_balanced(code: str) -> bool:
    depth = 0
    for letter in code:
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0:
            return False
    return depth == 0


def begins_statement(lines: list[str], at: int) -> bool:
    """Says whether the line before `at` ends a statement, a block or the head of a control statement."""
    before = at - 1
    while before >= 0 and (not lines[before].strip() or lines[before].strip().startswith("//")):
        before -= 1
    end = lines[before].split("//")[0].rstrip() if before >= 0 else ""
    return end.endswith((";", "{", "}", ":", "else")) and not end.endswith("::")


def in_function(lines: list[str], at: int) -> bool:
    """Says whether the line is indented below a line that opens a function's or a control statement's block."""
    indent = len(lines[at]) - len(lines[at].lstrip())
    for before in range(at - 1, -1, -1):
        line = lines[before]
        if line.strip() and len(line) - len(line.lstrip()) < indent and not line.strip().startswith("//"):
            head = line.strip()
            opens = re.search(r"\)(?: const| noexcept| override| final)*(?: :.*)? \{$|^\} else|^else|^if \(|^for \(|^while \(|^do \{", head)
            return bool(opens) and not re.match(r"(class|struct|enum|namespace|union)\b", head)
    return False


def kind_of(lines: list[str], at: int) -> tuple[str, str] | None:
    """Names the fault that fits the line, and the code that it changes."""
    line = lines[at]
    if any(word in line for word in NOT_TESTED) or line.strip().startswith(("//", "#", "*")) or line.rstrip().endswith("\\"):
        return None
    condition = CONDITION.match(line)
    if condition and is_balanced(condition["code"]) and not re.search(r";|constexpr|(?<![=!<>])= ", condition["code"]):
        return "negated condition", condition["code"]
    if not begins_statement(lines, at):
        return None
    result = RESULT.match(line)
    if result:
        return "inverted result", result["code"]
    compared = COMPARED.match(line)
    if compared and is_balanced(compared["code"]):
        return "exchanged operator", compared["code"]
    statement = STATEMENT.match(line)
    if statement and is_balanced(statement["code"]) and not line.strip().startswith(NOT_STATEMENTS) and in_function(lines, at):
        return "statement left out", statement["code"]
    return None


def find_sites(path: str, text: str) -> list[Site]:
    lines = text.splitlines()
    found: list[Site] = []
    for at in range(len(lines)):
        fault = kind_of(lines, at)
        if fault:
            nth = sum((each.kind, each.code.strip()) == (fault[0], fault[1].strip()) for each in found)
            found.append(Site(path, at, *fault, nth))
    return found


def exchange(code: str) -> str:
    """The same expression with its first operator exchanged."""
    places = [(code.index(old), old) for old in EXCHANGED if old in code]
    if places:
        at, old = min(places)
        return code[:at] + EXCHANGED[old] + code[at + len(old) :]
    if " == " in code:
        return code.replace(" == ", " != ", 1)
    return code.replace(" != ", " == ", 1)


def mutated_line(line: str, site: Site, number: int) -> str:
    is_on = f"{SWITCH}({number})"
    if site.kind == "negated condition":
        return line.replace(site.code, f"{is_on} != static_cast<bool>({site.code})", 1)
    if site.kind == "inverted result":
        return line.replace(f"return {site.code}", f"return {is_on} != {site.code}", 1)
    if site.kind == "exchanged operator":
        return line.replace(site.code, f"{is_on} ? ({exchange(site.code)}) : ({site.code})", 1)
    indent = line[: len(line) - len(line.lstrip())]
    return f"{indent}do {{ if (!{is_on}) {{ {site.code}; }} }} while (false);"


def mutate(text: str, sites: dict[int, Site], include: str) -> str:
    """The text with a switch at each of the sites, which are of one file and numbered.

    `include` takes the place of the first line, a comment, so that the numbers of lines stay.
    """
    lines = text.splitlines()
    assert lines[0].startswith("//")
    lines[0] = include
    for number, site in sites.items():
        lines[site.line] = mutated_line(lines[site.line], site, number)
    return "\n".join(lines) + "\n"
