# SPDX-License-Identifier: Apache-2.0
"""check_compile_fail.py finds files that compile, that fail for another reason, and that fail either way.

check_compile_fail_test.py <compiler>
"""

import pathlib
import sys
import tempfile
import unittest

import check_compile_fail

COMPILER = ""
TAKES = "// EXPECT: cannot convert|no viable conversion\n#include <string>\n"
WRONG = "\n#ifdef WEFT_COMPILE_FAIL_CONTROL\nint value = 1;\n#else\n{}\n#endif\n"


class CheckCompileFail(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def failures(self, **texts: str) -> list[str]:
        sources = []
        for name, text in texts.items():
            sources.append(self.folder / f"{name}.cpp")
            sources[-1].write_text(text)
        return check_compile_fail.failures(sources, [COMPILER, "-std=c++20", "-fsyntax-only"])

    def test_what_fails_as_it_says_is_fine(self) -> None:
        wrong = TAKES + WRONG.format("int value = std::string();")
        self.assertEqual(self.failures(one=wrong, other=wrong), [])

    def test_what_compiles_is_found_beside_what_fails(self) -> None:
        found = self.failures(fails=TAKES + WRONG.format("int value = std::string();"), compiles=TAKES)
        self.assertEqual(len(found), 1)
        self.assertIn("compiles.cpp compiles, and must not", found[0])

    def test_what_fails_for_another_reason_is_found(self) -> None:
        found = self.failures(
            fails=TAKES + WRONG.format("int value = std::string();"), other=TAKES + WRONG.format("int value = nothing;")
        )
        self.assertEqual(len(found), 1)
        self.assertIn("other.cpp fails, but says nothing like", found[0])

    def test_what_fails_with_the_control_is_found(self) -> None:
        found = self.failures(either=TAKES + "int value = std::string();\n")
        self.assertEqual(len(found), 1)
        self.assertIn("must compile, and do not", found[0])

    def test_a_file_without_an_expectation_is_found(self) -> None:
        found = self.failures(silent="int value = nothing;\n#ifndef WEFT_COMPILE_FAIL_CONTROL\n#endif\n")
        self.assertTrue(any("is missing" in failure for failure in found))

    def test_an_error_of_a_template_is_found_in_each_file(self) -> None:
        # In a joined source an instantiation that fails is reported to the first of two files only.
        header = self.folder / "checked.hpp"
        header.write_text("#pragma once\ntemplate <class T>\nstruct Checked {\n  static_assert(sizeof(T) > 64, \"too small\");\n};\n")
        wrong = f'// EXPECT: too small\n#include "{header}"' + WRONG.format("int value = sizeof(Checked<char>);")
        self.assertEqual(self.failures(one=wrong, other=wrong), [])

    def test_an_error_before_the_expected_one_is_found_unless_allowed(self) -> None:
        wrong = TAKES + WRONG.format("int before = nothing;\nint value = std::string();")
        found = self.failures(later=wrong, allowed="// LATER: a reason\n" + wrong)
        self.assertEqual(len(found), 1)
        self.assertIn("later.cpp: the first error is not", found[0])

    def test_too_many_lines_are_found_although_each_file_says_the_same(self) -> None:
        wrong = TAKES + WRONG.format("int value = std::string();\n" + "#warning this is a line\n" * 30)
        found = self.failures(one="// LATER: warnings come first\n" + wrong, other="// LATER: warnings come first\n" + wrong)
        self.assertEqual(len(found), 2)
        self.assertIn("and at most 30 are wanted", found[0])


if __name__ == "__main__":
    COMPILER = sys.argv.pop(1)
    unittest.main()
