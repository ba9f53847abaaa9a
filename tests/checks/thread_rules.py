# SPDX-License-Identifier: Apache-2.0
"""tests/checks/thread_rules.txt lists each public declaration whose comment has a rule about threads, with its test.

thread_rules.py [--list|--table]   says where headers, list and guide differ; or prints the headers' declarations, or
the rows of the guide's table.

A rule is a comment with "Thread:" or the like before a declaration in namespace weft, or in one of the classes of
weft::detail that users call through. The list says for each what happens on a wrong thread:

  any     every thread may call it
  dies    the process ends with a message that says what to write instead
  fails   it returns kFailedPrecondition with a message
  owner   one thread at a time by contract, which nothing checks
  open    a check or a test is missing

A line of the first three names a test as path:Suite.Name, and that file contains the declaration's name. A line of
`owner` or `open` gives the reason instead. The page docs/guide/threads.md has a table with the same names.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from project_files import ROOT, project_files, read

LIST = Path("tests/checks/thread_rules.txt")
PAGE = Path("docs/guide/threads.md")
# The first cell of each outcome's row in the table of the page.
ROWS = {
    "any": "Any thread may call it",
    "dies": "The process ends with a message",
    "fails": "`kFailedPrecondition`",
    "owner": "Nothing checks it",
    "open": "Not checked or not tested yet",
}
TESTED = ("any", "dies", "fails")
# Bases in weft::detail whose functions users call.
BASES = ("CallClient", "CallPool", "CallServer")
RULE = re.compile(r"\bThreads?(?: and \w+)?:|\b[Aa]ny (?:other )?thread\b")
TEMPLATE = re.compile(r"\btemplate\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>\s*(?:requires\s+[^{;]*?(?=\b(?:class|struct|auto)\b))?")
TYPE = re.compile(r"^\s*(class|struct)\s+(?:\[\[[^\]]*\]\]\s*)*(\w+)")
FUNCTION = re.compile(r"(~?\w+|operator\W+?)\s*\(")
SPACE = re.compile(r"^\s*(?:inline\s+)?namespace\s*([\w:]*)\s*$")
LABEL = re.compile(r"^\s*(public|private|protected)\s*:")
NOISE = re.compile(r'//.*|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'|^\s*#.*')


@dataclass
class Scope:
    name: str
    kind: str
    hidden: bool = False


def scope_of(head: str) -> Scope:
    """The scope that the brace behind `head` opens."""
    if space := SPACE.match(head):
        return Scope(space.group(1), "namespace")
    if type_ := TYPE.match(head):
        return Scope(type_.group(2), "type", type_.group(1) == "class")
    return Scope("", "block")


def name_of(scopes: list[Scope], head: str) -> str:
    """The name of the public declaration that begins with `head`; empty if it is none that users call."""
    if any(scope.kind == "block" or scope.hidden for scope in scopes):
        return ""
    type_ = TYPE.match(head)
    function = FUNCTION.search(head)
    name = type_.group(2) if type_ else function.group(1) if function else ""
    spaces = [part for scope in scopes if scope.kind == "namespace" for part in scope.name.split("::")]
    types = [scope.name for scope in scopes if scope.kind == "type"]
    if not name or not spaces or spaces[0] != "weft":
        return ""
    if "detail" in spaces and [*types, name][0] not in BASES:
        return ""
    return "::".join([*(space for space in spaces[1:] if space != "detail"), *types, name])


def rules_of(text: str) -> Iterator[str]:
    """Names of the public declarations of one header that have a rule."""
    scopes: list[Scope] = []
    comment = head = ""
    for line in text.splitlines():
        if line.strip().startswith("///"):
            comment += line.strip()[3:] + "\n"
            continue
        code = NOISE.sub("", line)
        if label := LABEL.match(code):
            scopes[-1].hidden = label.group(1) != "public"
            code = code[label.end() :]
        if not code.strip() and not head.strip():
            comment = ""
        for token in re.split(r"([{};])", code):
            if token not in ("{", "}", ";"):
                head += token + " "
                continue
            declared = TEMPLATE.sub("", head).strip()
            if token != "}" and declared:
                name = name_of(scopes, declared) if RULE.search(" ".join(comment.split())) else ""
                if name:
                    yield name
                comment = ""
            if token == "{":
                scopes.append(scope_of(declared))
            elif token == "}" and scopes:
                scopes.pop()
            head = ""


def declared_rules() -> dict[str, str]:
    found: dict[str, str] = {}
    for path in project_files():
        if path.parts[:2] == ("include", "weft") and path.suffix == ".hpp":
            for name in rules_of(read(path)):
                found.setdefault(name, path.as_posix())
    return found


def listed_rules() -> dict[str, tuple[str, str]]:
    """Outcome, and test or reason, of each line of the list."""
    listed = {}
    for line in read(LIST).splitlines():
        if line and not line.startswith("#"):
            name, outcome, rest = line.split(maxsplit=2)
            listed[name] = (outcome, rest)
    return listed


def problems_of_test(name: str, test: str) -> Iterator[str]:
    path, _, case = test.partition(":")
    if not (ROOT / path).is_file():
        yield f"{LIST}: {name}: there is no {path}"
        return
    text = read(Path(path))
    suite, _, its_name = case.partition(".")
    if not re.search(rf"\bTEST(?:_F|_P)?\(\s*{re.escape(suite)},\s*{re.escape(its_name)}\)", text):
        yield f"{LIST}: {name}: {path} has no test {case}"
    if not re.search(rf"\b{re.escape(name.rsplit('::', 1)[-1].lstrip('~'))}", text):
        yield f"{LIST}: {name}: {path} does not name it"


def problems_between(declared: dict[str, str], listed: dict[str, tuple[str, str]]) -> Iterator[str]:
    for name in sorted(declared.keys() - listed.keys()):
        yield f"{declared[name]}: {name} has a rule about threads, and no line in {LIST}: test it and add one"
    for name in sorted(listed.keys() - declared.keys()):
        yield f"{LIST}: no header has a rule about threads for {name}"
    for name, (outcome, rest) in listed.items():
        if outcome in TESTED:
            yield from problems_of_test(name, rest)
        elif outcome not in ROWS:
            yield f"{LIST}: {name}: '{outcome}' is none of {', '.join(ROWS)}"
        elif len(rest.split()) < 4:
            yield f"{LIST}: {name}: '{outcome}' takes the reason why it is not checked or tested"


def rows_of(listed: dict[str, tuple[str, str]]) -> list[str]:
    """The rows of the page's table that have names."""
    names = {row: [f"`{name}`" for name, (outcome, _) in sorted(listed.items()) if outcome == row] for row in ROWS}
    return [f"| {cell} | {', '.join(names[row])} |" for row, cell in ROWS.items() if names[row]]


def problems() -> Iterator[str]:
    listed = listed_rules()
    yield from problems_between(declared_rules(), listed)
    lines = read(PAGE).splitlines()
    for row in rows_of(listed):
        if row not in lines:
            yield f"{PAGE}: this row is missing, of thread_rules.py --table: {row[:80]}"


def main(arguments: list[str]) -> int:
    if arguments == ["--list"]:
        for name, header in sorted(declared_rules().items()):
            print(name, header)
        return 0
    if arguments == ["--table"]:
        print("\n".join(rows_of(listed_rules())))
        return 0
    found = list(problems())
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
