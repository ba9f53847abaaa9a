# SPDX-License-Identifier: Apache-2.0
"""Each type, function and constant of namespace weft is in code of an example, of the guide or of README.md.

In a table it has a row of its own: what is only named in the row of something else is shown to nobody.

What no user is shown belongs into weft::detail, also what users meet without writing it, such as the type of an awaitable.
"""

import re
from collections.abc import Iterator

from project_files import cpp_files, project_files, read

# Comments, strings, characters and preprocessor lines say nothing about a class and may hold braces.
NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|(?<![0-9a-fA-F])\'(?:[^\'\\\n]|\\.)+\'|^[ \t]*#(?:\\\n|[^\n])*', re.DOTALL | re.MULTILINE
)
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")
TYPE = re.compile(r"(?:class|struct|enum class|concept|using)\s+(?:\[\[[^\]]*\]\]\s*)?(\w+)")
FUNCTION_OR_CONSTANT = re.compile(r"(\w+)\s*(?:\(|=|\{\}|$)")
TEMPLATE = re.compile(r"^template\s*<")
COMMENT = re.compile(r"//[^\n]*")
CODE_OF_PAGE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
# What a row of a table says behind its first cell is about something else.
REST_OF_ROW = re.compile(r"^(\|[^|\n]*\|)[^\n]*", re.MULTILINE)
ANGLES = re.compile(r"<[^<>]*>")


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


def without_requires(declaration: str) -> str:
    """What stands behind a requires clause in brackets, or behind the first word of one without: that has no call."""
    declaration = declaration.removeprefix("requires").lstrip()
    depth = 0
    for at, letter in enumerate(declaration if declaration.startswith("(") else ""):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            declaration = declaration[at + 1 :]
            break
    while ANGLES.search(declaration):
        declaration = ANGLES.sub("", declaration)
    return declaration


def declared_name(declaration: str) -> str | None:
    """The name that `declaration` gives; none for operators, members that are defined outside, and assertions."""
    declaration = without_template(declaration)
    if not declaration or declaration.startswith(("static_assert", "WEFT_", "extern template")):
        return None
    if declaration.startswith("requires"):
        declaration = without_requires(declaration)
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


def code_of_page(text: str) -> list[str]:
    return CODE_OF_PAGE.findall(REST_OF_ROW.sub(r"\1", text))


def shown_code() -> Iterator[str]:
    """Code of the examples, and code in the pages: a word of a sentence that happens to be a name shows nothing."""
    for path in project_files():
        if path.parts[0] == "examples" and path.suffix in (".cpp", ".hpp"):
            yield COMMENT.sub("", read(path))
        elif path.parts[:2] == ("docs", "guide") or path.as_posix() == "README.md":
            yield from code_of_page(read(path))


def unseen_names() -> dict[str, str]:
    shown = {word for code in shown_code() for word in re.findall(r"\w+", code)}
    return {name: path for name, path in public_names().items() if name not in shown}


def problems() -> Iterator[str]:
    for name, path in unseen_names().items():
        yield f"{path}: no example and no page of the guide names {name}; show it, or move it into weft::detail"


def main() -> None:
    print(f"{len(public_names())} names in namespace weft, {len(unseen_names())} of them in no example and no guide")


if __name__ == "__main__":
    main()
