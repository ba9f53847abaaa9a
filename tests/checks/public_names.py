# SPDX-License-Identifier: Apache-2.0
"""Each type, function and constant of namespace weft is named by an example, by the guide or by README.md.

public_names.py [--write]

What no user is shown belongs into weft::detail. public_names.txt lists the names for which this is not so yet: those that
users meet without writing them, such as the type of a result, and those that wait for their page. A name goes from the list
when a page or an example shows it, and none may be added. --write leaves out of the list what does not belong there any more.
"""

import pathlib
import re
import sys
from collections.abc import Iterator

from class_sizes import NOISE
from project_files import ROOT, cpp_files, project_files, read

RATCHET = pathlib.Path(__file__).with_name("public_names.txt")
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")
TYPE = re.compile(r"(?:class|struct|enum class|concept|using)\s+(?:\[\[[^\]]*\]\]\s*)?(\w+)")
FUNCTION_OR_CONSTANT = re.compile(r"(\w+)\s*(?:\(|=|\{\}|$)")
TEMPLATE = re.compile(r"^template\s*<")


def declarations(text: str) -> Iterator[str]:
    """What a header declares in namespace weft itself, one text each, blocks in braces as `{}`."""
    scopes: list[str] = []
    declared = ""
    for token in re.split(r"([{};])", NOISE.sub(" ", text)):
        outside = not scopes or scopes == ["weft"]
        if token == "{":
            space = NAMESPACE.search(declared) if outside else None
            scopes.append(space.group(1) if space else "")
            declared = "" if space else declared + "{}" if outside else declared
        elif token == "}":
            opened = scopes.pop() if scopes else ""
            # The body of a function ends its declaration; behind that of a class comes a semicolon.
            if scopes == ["weft"] and not opened and "(" in without_template(declared.strip()):
                yield " ".join(declared.split())
                declared = ""
        elif token == ";" and outside:
            if scopes:
                yield " ".join(declared.split())
            declared = ""
        elif outside:
            declared += token


def without_template(declaration: str) -> str:
    while TEMPLATE.match(declaration):
        depth = 0
        for at, letter in enumerate(declaration):
            depth += (letter == "<") - (letter == ">" and declaration[at - 1] != "-")
            if letter == ">" and depth == 0:
                declaration = declaration[at + 1 :].lstrip()
                break
        else:
            return declaration
    return declaration


def declared_name(declaration: str) -> str | None:
    """The name that `declaration` gives; none for operators, members that are defined outside, and assertions."""
    declaration = without_template(declaration)
    if not declaration or declaration.startswith(("static_assert", "WEFT_", "extern template", "requires")):
        return None
    kind = TYPE.match(declaration)
    if kind:
        return kind.group(1)
    function = FUNCTION_OR_CONSTANT.search(declaration)
    if not function or "operator" in declaration or declaration[: function.start()].endswith("::") or function.group(1) == "true":
        return None
    return function.group(1)


def public_names() -> dict[str, str]:
    """Each name, and the header that declares it first."""
    names: dict[str, str] = {}
    for path in cpp_files():
        if path.parts[:2] == ("include", "weft"):
            for declaration in declarations(read(path)):
                name = declared_name(declaration)
                if name:
                    names.setdefault(name, path.as_posix())
    return names


def unseen_names() -> dict[str, str]:
    shown: set[str] = set()
    for path in project_files():
        if path.parts[0] == "examples" or path.parts[:2] == ("docs", "guide") or path.as_posix() == "README.md":
            shown.update(re.findall(r"\w+", read(path)))
    return {name: path for name, path in public_names().items() if name not in shown}


def listed() -> dict[str, str]:
    lines = (line.split() for line in RATCHET.read_text(encoding="utf-8").splitlines() if line and line[0] != "#")
    return {name: path for path, name in lines}


def problems() -> Iterator[str]:
    unseen, allowed = unseen_names(), listed()
    for name, path in unseen.items():
        if name not in allowed:
            yield f"{path}: no example and no page of the guide names {name}; show it, or move it into weft::detail"
    for name, path in allowed.items():
        if name not in unseen:
            yield f"{RATCHET.relative_to(ROOT)}: {name} of {path} is shown or gone; remove its line (public_names.py --write)"


def main() -> None:
    if sys.argv[1:] == ["--write"]:
        head = [line for line in RATCHET.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
        unseen, allowed = unseen_names(), listed()
        kept = sorted(f"{path} {name}" for name, path in unseen.items() if name in allowed)
        RATCHET.write_text("\n".join([*head, *kept, ""]), encoding="utf-8")
        return
    names = public_names()
    print(f"{len(names)} names in namespace weft, {len(unseen_names())} of them in no example and no guide")


if __name__ == "__main__":
    main()
