# SPDX-License-Identifier: Apache-2.0
"""The code of the guide's page runs."""

import asyncio
import re
import textwrap
from pathlib import Path

import weft

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "python.md"


def test_one_range_of_nanobind_is_required() -> None:
    folder = PAGE.parents[2] / "python"
    ranges = [re.findall(r"nanobind([^\s\"]+)", (folder / name).read_text()) for name in ("pyproject.toml", "requirements.txt")]
    assert ranges[0] == ranges[1] and len(ranges[0]) == 1


def test_the_code_of_the_guide_runs(url: str, capsys) -> None:
    program, part = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(compile(program.replace("tcp://127.0.0.1:9000", url), str(PAGE), "exec"), {})
    assert capsys.readouterr().out.split() == ["3", *map(str, range(1, 11))]
    within = {"weft": weft}
    exec("async def within(client):\n" + textwrap.indent(part, "    "), within)

    async def main() -> None:
        async with weft.connect(url) as client:
            await within["within"](client)

    asyncio.run(main())
    assert capsys.readouterr().out == "45\n"
