# SPDX-License-Identifier: Apache-2.0
"""The rules of CONTRIBUTING.md that text can be checked for, one line of verdict per rule.

rules.py [--only RULE] [--list]

A line of C++ that breaks a rule for a good reason says so: `// allow(<rule>): <reason>`.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import awaitables
import awaited_options
import capabilities
import front_door
import layers
import plain_english
import public_names
import swept_options
import thread_rules
from project_files import cpp_files, project_files, read

LINES_MAX = 500
CPP_LINES_MAX = 800
SPDX = "SPDX-License-Identifier: Apache-2.0"
LINE_COMMENT = re.compile(r"//.*")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')

# rule: (pattern in a line without its comment and strings, the folders it holds for, what to say)
PATTERNS = {
    "no_std_function": (
        r"\bstd::function\b",
        ("include", "src", "tools", "bench"),
        "use UniqueFunction or a template parameter",
    ),
    "no_detach": (r"(?:\.|->)detach\(\)", None, "what outlives its expression belongs to a Scope or is joined"),
    "no_sleep": (
        r"\b(?:this_thread::sleep_\w+|usleep|nanosleep)\b|::sleep\(",
        ("include", "src", "tests"),
        "wait for the event itself, or drive a ManualClock",
    ),
    "no_await_in_condition": (
        r"\b(?:if|while)\s*\((?!(?:const )?[\w:<>*&]+\s+\w+\s*=[^=]).*\bco_await\b",
        None,
        "g++ 12 miscompiles some of these: await into a variable, which the condition may declare",
    ),
    "no_await_in_conditional_operator": (
        r"\?[^;]*\bco_await\b[^;]*:|\bco_await\b[^;]*\?[^;]*:[^:]",
        None,
        "g++ 12 miscompiles it: use if and else",
    ),
    "no_environment": (r"\b(?:secure_)?getenv\b", ("include", "src"), "options are typed and come from main()"),
    "no_thread_local_destructors": (
        r"(?<!constinit )\bthread_local\b",
        ("include", "src"),
        "constinit, and without a destructor: registering one ends the process when memory is out; use run_at_thread_end()",
    ),
    "no_unfinished_marks": (r"\b(?:TODO|FIXME|XXX)\b", None, "finish it, or file an issue"),
}


def code_lines(text: str, keep_comments: bool) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        yield number, line if keep_comments else LINE_COMMENT.sub("", STRING.sub('""', line))


def breaks(rule: str, expression: re.Pattern[str], line: str) -> bool:
    match = expression.search(line)
    if not match or rule != "no_await_in_condition":
        return match is not None
    # Only what lies between the parentheses of the condition counts, not the statement behind them.
    depth = 0
    for at in range(line.index("(", match.start()), len(line)):
        depth += (line[at] == "(") - (line[at] == ")")
        if depth == 0:
            return "co_await" in line[match.start() : at]
    return True


def pattern_problems(rule: str) -> Iterator[str]:
    pattern, folders, advice = PATTERNS[rule]
    expression = re.compile(pattern)
    for path in cpp_files():
        if folders and path.parts[0] not in folders:
            continue
        text = read(path)
        raw = text.splitlines()
        for number, line in code_lines(text, keep_comments=rule == "no_unfinished_marks"):
            if breaks(rule, expression, line) and f"allow({rule})" not in raw[number - 1]:
                yield f"{path}:{number}: {raw[number - 1].strip()}  ({advice})"


def licence_lines() -> Iterator[str]:
    for path in project_files():
        named = path.suffix in (".cpp", ".hpp", ".py", ".cmake", ".sh", ".in") or path.name == "CMakeLists.txt"
        text = read(path) if named or path.suffix == "" else ""
        first = text.splitlines()[:2]
        if (named or text.startswith("#!")) and not any(SPDX in line for line in first):
            yield f"{path}: the SPDX line is missing"


def small_files() -> Iterator[str]:
    for path in project_files():
        if path.suffix in (".cpp", ".hpp", ".py", ".cmake", ".sh") or path.name in ("CMakeLists.txt", "dev"):
            lines = read(path).count("\n")
            limit = CPP_LINES_MAX if path.suffix in (".cpp", ".hpp") else LINES_MAX
            if lines > limit:
                yield f"{path}: {lines} lines; split it by responsibility (at most {limit})"


def header_guards() -> Iterator[str]:
    for path in cpp_files():
        if path.suffix == ".hpp" and "#pragma once" not in read(path):
            yield f"{path}: #pragma once is missing"


def no_silent_catch_all() -> Iterator[str]:
    """A catch-all that does nothing says why."""
    silent = re.compile(r"catch \(\.\.\.\) \{\s*\}")
    for path in cpp_files():
        text = read(path)
        for match in silent.finditer(text):
            yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: catch (...) without a word on why"


CLAUSE_WORDS = """
    What Whatever Who Whoever Whom Whose Those How Why Where When Whenever While Until Till Unless Whether Which If Because Since Though Once
    Then Also Only About Above Across After Against Along Among Around As At Before Behind Below Beside Besides Between By During Except For
    From In Inside Into Like Near Of On Over Past Through To Toward Under Up Upon Via With Within Without
"""
CLAUSE = re.compile(r"^[ \t]*///[ \t]*(?:So many|So much|" + "|".join(CLAUSE_WORDS.split()) + r")\b(?![-()'_:.])")


def clauses_in_place_of_subjects(text: str) -> Iterator[int]:
    """The lines in which a doc comment begins with a clause or a phrase, counted from 1."""
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        if CLAUSE.match(line) and not before.lstrip().startswith("///"):
            yield number
        before = line


def doc_comments_have_subjects() -> Iterator[str]:
    """The first sentence of a doc comment begins with a noun or a verb, not with a clause or a phrase that lacks a subject."""
    for path in cpp_files():
        text = read(path)
        for number in clauses_in_place_of_subjects(text):
            line = text.splitlines()[number - 1].strip()
            yield f"{path}:{number}: begins with a clause; begin with a noun or a verb: {line[:80]}"


def no_machine_paths() -> Iterator[str]:
    # Written in pieces, so that this file does not break its own rule.
    expression = re.compile(r"(?<![\w./-])/(?:" + "|".join(("wo" + "rk/", "tmp/" + "plan", "tmp/" + "b/", "ho" + "me/")) + ")")
    for path in project_files():
        for number, line in enumerate(read(path).splitlines(), 1):
            if expression.search(line):
                yield f"{path}:{number}: names a folder of somebody's machine: {line.strip()[:80]}"


def test_names() -> Iterator[str]:
    """TEST(Subject, SaysWhatHolds): both in PascalCase, the second of several words, neither with a code in front."""
    macro = re.compile(r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST)\(\s*(\w+),\s*(\w+)\)")
    words = re.compile(r"(?!(?:Cr|Lg|Bu|Ux)[0-9])(?:[A-Z][a-z0-9]*)+")
    for path in cpp_files():
        for suite, name in macro.findall(read(path)) if path.parts[0] == "tests" else ():
            if not words.fullmatch(suite) or (suite.endswith("Test") and not suite.endswith("DeathTest")):
                yield f"{path}: the suite {suite} is not named after a subject, such as Timers or StatusDeathTest"
            if not words.fullmatch(name) or sum(letter.isupper() for letter in name) < 2:
                yield f"{path}: the test {suite}.{name} does not say in PascalCase what holds"


UNNAMED_SPACE = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
UNNAMED_NAME = re.compile(
    r"^(?![\s}#/]|static_assert).*?(?:\b(?:class|struct|enum class)\s+(\w+)|\b(k[A-Z]\w*)\s*(?:=|\{|$)|\b(\w+)\()",
    re.MULTILINE,
)


def names_in_unnamed_spaces(text: str) -> set[str]:
    return {next(filter(None, names)) for space in UNNAMED_SPACE.findall(text) for names in UNNAMED_NAME.findall(space)}


def unnamed_names() -> Iterator[str]:
    """All builds but debug, clang and lint join the sources of a folder, and with them their unnamed namespaces."""
    found: dict[tuple[Path, str], list[str]] = {}
    for path in cpp_files():
        if path.parts[0] == "src" and path.suffix == ".cpp":
            for name in names_in_unnamed_spaces(read(path)):
                found.setdefault((path.parent, name), []).append(path.name)
    for (folder, name), sources in found.items():
        if len(sources) > 1:
            yield f"{folder}: {' and '.join(sorted(sources))} both have a {name} of their own; rename one of them"


RULES = {
    "layers": layers.problems,
    "public_names": public_names.problems,
    "front_door": front_door.problems,
    "licence_lines": licence_lines,
    "small_files": small_files,
    "header_guards": header_guards,
    "no_silent_catch_all": no_silent_catch_all,
    "doc_comments_have_subjects": doc_comments_have_subjects,
    "plain_english": plain_english.problems,
    "no_machine_paths": no_machine_paths,
    "awaitables": awaitables.problems,
    "awaited_options": awaited_options.problems,
    "swept_options": swept_options.problems,
    "capabilities": capabilities.problems,
    "thread_rules": thread_rules.problems,
    "test_names": test_names,
    "unnamed_names": unnamed_names,
    **{rule: (lambda rule=rule: pattern_problems(rule)) for rule in PATTERNS},
}


def main(arguments: list[str]) -> int:
    if arguments == ["--list"]:
        print("\n".join(RULES))
        return 0
    chosen = [arguments[1]] if arguments[:1] == ["--only"] else list(RULES)
    failed = False
    for rule in chosen:
        found = sorted(RULES[rule]())
        for problem in found:
            print(problem)
        print(f"lint: {'FAIL' if found else 'PASS'} {rule}" + (f" ({len(found)} problems)" if found else ""))
        failed = failed or bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
