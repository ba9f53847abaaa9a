# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks that compute something: names, the sources that a change concerns, how they are joined."""

import pathlib
import tempfile
import unittest

from awaitables import droppable
from awaited_options import awaited
from changed_sources import Change, change_of, choose, includers_of, said_something
from compiled_alone import complaint_about, concerned, source_whose_flags_fit
from front_door import inside
from joined_sources import AT_ONCE, batches, compiler_of, flags_of, halves, may_be_joined, write_joined
from layers import count_problems, judge_program, order_problems, unused_edges
from plain_english import comment_text, page_text, phrases_in
from project_files import project_files
from public_names import code_of_page, declarations, declared_name
from rules import clauses_in_place_of_subjects, names_in_unnamed_spaces
from thread_rules import problems_between, rules_of

UNNAMED = """
namespace weft {
namespace {

constexpr int kMost = 3;
constexpr Failure kGone{Code::kGone,
                        "gone"};
static_assert(kMost > 0);

class Helper final : public Base {
  int inside(int);
};

// What helps.
Status wrong(std::string_view why) {
  return make(why);
}

}  // namespace

Status kept(int kNotHere);
}  // namespace weft
"""


class UnnamedNames(unittest.TestCase):
    def test_those_that_joined_sources_would_share_are_found(self) -> None:
        self.assertEqual(names_in_unnamed_spaces(UNNAMED), {"kMost", "kGone", "Helper", "wrong"})


RULED = """
namespace weft {
namespace detail {
/// Of nobody. Thread: any.
class Inner {};
/// A base of the users'. Thread: its loop's.
class CallServer {
 public:
  /// Ends it. Thread: any.
  template <typename T>
  void stop(T grace);
};
}  // namespace detail

/// Thread: its loop's.
template <typename T>
class Box final : public Base<T>,
                  public Other {
 public:
  /// May be called on any thread.
  int size() const { return size_; }
  /// Without a rule.
  int other() const;

 private:
  /// Thread: any.
  int hidden();
};

/// Thread: the loop's.
Result<int> make_box(Loop& loop);
namespace ucx {
/// Thread: any.
void log_to(Logger* logger);
}
}  // namespace weft
"""


class ThreadRules(unittest.TestCase):
    def test_are_those_of_public_declarations(self) -> None:
        found = ["CallServer", "CallServer::stop", "Box", "Box::size", "make_box", "ucx::log_to"]
        self.assertEqual(list(rules_of(RULED)), found)

    def test_differ_from_a_list_that_lacks_one_or_has_one_too_many(self) -> None:
        reason = ("owner", "a value without a loop to compare with")
        self.assertEqual(list(problems_between({"Box": "box.hpp"}, {"Box": reason})), [])
        self.assertEqual(len(list(problems_between({"Box": "box.hpp"}, {"Gone": reason}))), 2)

    def test_name_a_test_that_exists_or_a_reason(self) -> None:
        test = "tests/unit/runtime/threads_test.cpp:Waiting.AStopReachesASleepingLoop"
        good = {"Loop": ("any", test)}
        self.assertEqual(list(problems_between({"Loop": ""}, good)), [])
        for outcome, rest in (("any", test + "Not"), ("dies", "tests/none.cpp:A.B"), ("owner", "why not"), ("maybe", test)):
            self.assertEqual(len(list(problems_between({"Loop": ""}, {"Loop": (outcome, rest)}))), 1, rest)


TAKERS = """
template <auto M, typename... Given>
Task<Result<int>> call(const CallOptions& options, Given&&... given);
auto broadcast(const BroadcastOptions& options = {}) { return 1; }
template <auto... Ms>
void register_handler(const HandlerOptions& options = {});
Result<Loop> create(LoopOptions options);
"""


class AwaitedOptions(unittest.TestCase):
    def test_are_those_of_functions_that_give_something_to_await(self) -> None:
        names = {"CallOptions", "BroadcastOptions", "HandlerOptions", "LoopOptions"}
        self.assertEqual(awaited(TAKERS, names), {"CallOptions", "BroadcastOptions"})


AWAITABLES = """
class [[nodiscard]] Kept : private Waiter {
  bool await_ready() { return false; }
};
class Dropped : private Waiter {
  class [[nodiscard("say so")]] Inside {
    bool await_ready();
  };
  struct Forgotten {
    void await_suspend() { if (true) {} }
    bool await_ready();
  };
  void other() {}
  void operator co_await() & = delete;
};
/// Not await_ready().
class Plain {};
"""


class Awaitables(unittest.TestCase):
    def test_that_the_compiler_lets_a_user_drop_are_found(self) -> None:
        self.assertEqual(droppable(AWAITABLES), {"Dropped", "Forgotten"})


COMMENTS = """
/// From the beginning to the end.
/// Time from the beginning to the end.
Duration whole;
  /// After this nothing is left.
  void end();
  /// Ends all.
  /// After this nothing is left.
  void end();
int one;  /// At most two.
"""


class DocComments(unittest.TestCase):
    def test_those_that_begin_with_a_preposition_or_a_clause_are_told_of(self) -> None:
        self.assertEqual(list(clauses_in_place_of_subjects(COMMENTS)), [2, 5])

    def test_each_word_of_the_list_is_told_of_and_no_longer_word_is(self) -> None:
        for word in ("In", "By", "From", "To", "After", "At", "On", "Until", "Where", "When", "If", "Why", "Without", "Once"):
            self.assertEqual(list(clauses_in_place_of_subjects(f"/// {word} it is so.")), [1], word)
            self.assertEqual(list(clauses_in_place_of_subjects(f"/// {word}x is so.")), [], word)

    def test_a_comma_hides_no_clause_and_a_name_is_no_clause(self) -> None:
        self.assertEqual(list(clauses_in_place_of_subjects("/// Once, before anything else.")), [1])
        self.assertEqual(list(clauses_in_place_of_subjects("/// On: the side is up.")), [])
        self.assertEqual(list(clauses_in_place_of_subjects("/// If() is a function.")), [])


class PlainEnglish(unittest.TestCase):
    def test_phrases_are_found_across_lines_of_comments_and_not_in_code(self) -> None:
        text = 'int somebody = 1;\n/// Bytes of\n/// which none is left, for ever.\nauto text = "so many";\n'
        self.assertEqual(phrases_in(comment_text(text)), ["of which", "for ever"])

    def test_phrases_of_pages_are_found_across_lines_and_not_in_code(self) -> None:
        text = "Bytes of\nwhich `so many` are\n\n```cpp\n// for ever\n```\nread, and nobody waits.\n"
        self.assertEqual(phrases_in(page_text(text)), ["of which", "nobody"])


HEADER = """
namespace weft {
namespace detail {
struct Hidden {};
}  // namespace detail
class Later;
template <typename T>
class [[nodiscard]] Shown final {
  int inside();
};
struct Outer::Inner {
  int value;
};
enum class Kind { kOne };
inline constexpr int kMost = 3;
using Short = Shown<int>;
template <typename T>
Task<T> run(Shown<T> what) {
  if (what.empty()) { return later(); }
  return now();
}
template <typename T>
  requires(sizeof(T) > 1 && std::is_class_v<T>)
Task<std::vector<T>> gather(T what) {
  return run(what);
}
template <typename T>
  requires std::is_enum_v<T> || std::is_arithmetic_v<T>
T load(const std::byte* from);
Status fail(int code);
bool operator==(Kind, Kind);
inline int Outer::first() { return 1; }
static_assert(kMost > 0);
}  // namespace weft
namespace weft::detail {
void hidden();
}
"""


class PublicNames(unittest.TestCase):
    def test_those_of_the_namespace_itself_are_found(self) -> None:
        names = [name for name in map(declared_name, declarations(HEADER)) if name]
        self.assertEqual(set(names), {"Later", "Shown", "Kind", "kMost", "Short", "run", "gather", "load", "fail", "Outer"})

    def test_a_table_shows_what_has_a_row(self) -> None:
        page = "A `Word` of a sentence.\n\n| name | what |\n|---|---|\n| `Row` | is not `Other` |\n\n```cpp\nCode c;\n```\n"
        self.assertEqual(code_of_page(page), ["`Word`", "`Row`", "```cpp\nCode c;\n```"])


class FrontDoor(unittest.TestCase):
    def test_headers_past_the_front_door_are_seen(self) -> None:
        text = '#include <weft/client.hpp>\n#include "weft/detail/base/status.hpp"\n# include <weft/wire/frame.hpp>\n#include <other/x/y.hpp>\n'
        self.assertEqual(list(inside(text)), ["detail/base/status.hpp", "wire/frame.hpp"])


class Layers(unittest.TestCase):
    def test_an_edge_that_nobody_uses_is_told(self) -> None:
        told = list(unused_edges({"calls": {"base", "wire"}, "base": set()}, {"calls": {"base"}}))
        self.assertEqual(told, ["tests/checks/layers.txt: nothing of calls includes wire; remove it from its line"])

    def test_a_layer_names_layers_above_its_line_only(self) -> None:
        told = list(order_problems({"base": set(), "calls": {"base", "weft"}, "weft": {"calls"}}))
        self.assertEqual(told, ["tests/checks/layers.txt: calls names weft, which does not stand above its line"])

    def test_the_number_of_upward_includes_only_shrinks(self) -> None:
        edge = ("calls/gate", "calls/session")
        self.assertEqual(list(count_problems({edge: 1}, {edge: 1})), [])
        self.assertIn("go down only", next(count_problems({edge: 1}, {edge: 2})))
        self.assertIn("lower its number", next(count_problems({edge: 1}, {})))

    def test_a_program_includes_its_own_headers_and_those_of_include_weft(self) -> None:
        edges = {"base": set(), "weft": set()}
        tool = pathlib.Path("tools/info/probe.cpp")
        for included in ("weft/detail/base/status.hpp", "weft/weft.hpp", "info/probe.hpp", "vector"):
            self.assertIsNone(judge_program(tool, included, edges))
        self.assertIn("private", judge_program(tool, "calls/session/session.hpp", edges) or "")
        self.assertIn("no layer", judge_program(tool, "weft/detail/gone/status.hpp", edges) or "")


class ChangedSources(unittest.TestCase):
    def test_a_changed_source_is_chosen_itself(self) -> None:
        self.assertEqual(choose({"src/base/status.cpp"}, project_files()), {"src/base/status.cpp"})

    def test_a_changed_header_brings_the_source_of_its_name(self) -> None:
        self.assertEqual(choose({"include/weft/detail/base/status.hpp"}, project_files()), {"src/base/status.cpp"})

    def test_each_header_behind_the_front_door_is_seen_through_some_source(self) -> None:
        files = project_files()
        includers = includers_of(path for path in files if path.suffix in (".hpp", ".cpp"))
        headers = {path.as_posix() for path in files if path.parts[:3] == ("include", "weft", "detail")}
        self.assertEqual(headers - includers.keys(), set())

    def test_each_public_header_is_compiled_as_some_source_is(self) -> None:
        files = project_files()
        includers = includers_of(path for path in files if path.suffix in (".hpp", ".cpp"))
        headers = [path.as_posix() for path in files if path.parts[:2] == ("include", "weft") and path.suffix == ".hpp"]
        self.assertEqual([header for header in headers if source_whose_flags_fit(header, includers, set()) is None], [])

    def test_a_file_that_only_includes_by_other_paths_has_not_changed(self) -> None:
        diff = ["--- a/src/a.cpp", "+++ b/src/a.cpp", '-#include "weft/a.hpp"', '+#include "weft/detail/a.hpp"',
                "--- a/src/b.cpp", "+++ b/src/b.cpp", '-#include "weft/b.hpp"', "+int b();", "--- a/src/c.cpp", "+++ /dev/null", "-"]
        self.assertEqual(said_something(diff), {"src/b.cpp"})

    def test_a_file_in_which_only_comments_changed_has_not_changed(self) -> None:
        diff = ["--- a/src/a.cpp", "+++ b/src/a.cpp", "-  // As it was.", "+  /// As it is.", "--- a/src/b.cpp", "+++ b/src/b.cpp",
                "-  // NOLINTNEXTLINE(performance-move-const-arg): it is.", "--- a/src/c.cpp", "+++ b/src/c.cpp", "+int c();  // New."]
        self.assertEqual(said_something(diff), {"src/b.cpp", "src/c.cpp"})

    def test_sources_that_include_a_header_which_includes_less_are_compiled_alone(self) -> None:
        includers = {"src/a.hpp": {"src/a.cpp", "src/b.hpp"}, "src/b.hpp": {"src/c.cpp"}}
        change = Change({"src/a.hpp", "src/b.hpp", "src/d.cpp", "README.md"}, {"src/a.hpp"})
        self.assertEqual(concerned(change, includers, ["src/a.cpp", "src/c.cpp", "src/d.cpp"]), {"src/a.cpp", "src/d.cpp"})

    def test_a_file_includes_less_when_an_include_went_and_did_not_come_back(self) -> None:
        diff = ["--- a/src/a.hpp", "+++ b/src/a.hpp", "-#include <new>", '-#include "b.hpp"', "+#include <new>", "--- a/src/b.hpp",
                "+++ b/src/b.hpp", "+#include <map>", "-#include <set>", "+#include <set>", "--- a/src/c.cpp", "+++ /dev/null", "-x",
                "--- a/src/d.cpp", "+++ b/src/d.cpp", "-// It was so.", "+// It is so."]
        self.assertEqual(change_of(diff), Change({"src/a.hpp", "src/b.hpp"}, {"src/a.hpp"}))

    def test_what_is_no_code_brings_nothing(self) -> None:
        self.assertEqual(choose({"README.md", "gone/away.cpp"}, project_files()), set())


def compiled(name: str, *flags: str) -> dict[str, str]:
    return {"file": name, "command": " ".join(("ccache clang++", *flags, "-o", name + ".o", "-c", name))}


class CompiledAlone(unittest.TestCase):
    def complaint(self, header: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "h.hpp").write_text(header)
            command = {"file": "a.cpp", "directory": folder, "command": "ccache g++ -Wall -o a.o -c a.cpp"}
            return complaint_about(command, f"{folder}/h.hpp")

    def test_a_header_that_includes_what_it_needs_is_fine(self) -> None:
        self.assertEqual(self.complaint("#pragma once\n#include <cstddef>\ninline std::size_t none() { return 0; }\n"), "")

    def test_a_header_that_lacks_an_include_is_told_of(self) -> None:
        self.assertIn("size_t", self.complaint("#pragma once\ninline std::size_t none() { return 0; }\n"))

    def test_a_header_that_may_be_included_once_only_is_told_of(self) -> None:
        self.assertIn("redefinition", self.complaint("inline int none() { return 0; }\n"))


class JoinedSources(unittest.TestCase):
    def test_sources_that_are_compiled_alike_are_joined_up_to_a_bound(self) -> None:
        alike = [compiled(f"src/a/{number}.cpp", "-O2") for number in range(AT_ONCE + 1)]
        other = compiled("src/b/x.cpp", "-O2", "-DONE")
        self.assertEqual(batches([other, *reversed(alike)]), [alike[:AT_ONCE], alike[AT_ONCE:], [other]])

    def test_halves_of_a_batch_are_the_batch(self) -> None:
        self.assertEqual(halves([1, 2, 3]), [[1, 2], [3]])
        self.assertEqual(halves([1, 2]), [[1], [2]])

    def test_a_joined_source_includes_each_and_is_compiled_as_they_are(self) -> None:
        batch = [compiled("/p/src/a/x.cpp", "-O2"), compiled("/p/src/b/y.cpp", "-O2")]
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(write_joined(batch, pathlib.Path(folder)).read_text(),
                             '#include "/p/src/a/x.cpp"\n#include "/p/src/b/y.cpp"\n')
        self.assertEqual(flags_of(batch[0]), ("-O2",))
        self.assertEqual(compiler_of(batch[0]), "clang++")

    def test_only_sources_that_another_check_compiles_alone_are_joined(self) -> None:
        self.assertTrue(may_be_joined("src/base/status.cpp", "using Name = int;\n"))
        self.assertFalse(may_be_joined("tools/main.cpp", ""))

    def test_a_source_with_what_is_told_of_in_main_files_only_is_not_joined(self) -> None:
        self.assertFalse(may_be_joined("src/a/x.cpp", "namespace a {\nusing b::Name;\n"))
        self.assertFalse(may_be_joined("src/a/x.cpp", "#include <string.h>\n"))
        self.assertFalse(may_be_joined("src/a/x.cpp", "constexpr std::size_t kMost = 3;\nint kMostOf();\n"))
        self.assertTrue(may_be_joined("src/a/x.cpp", "constexpr std::size_t kMost = 3;\nint all = kMost;\n"))


if __name__ == "__main__":
    unittest.main()
