# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks that compute something: sizes of classes, names, and the sources that a change concerns."""

import unittest

from changed_sources import choose, includers_of, said_something
from class_sizes import class_sizes
from front_door import inside
from layers import unused_edges
from project_files import project_files
from public_names import declarations, declared_name
from rules import names_in_unnamed_spaces

SHAPE = """
/// A comment with a { and a ; in it.
enum class Kind { kOne, kTwo };
template <typename T>
class Shape final : public Base<T> {
 public:
  explicit Shape(int sides) : sides_(sides), names_{"a;", "{"} {}
  Shape(const Shape&) = delete;
  bool operator==(const Shape& other) const { return sides_ == other.sides_; }
  virtual void draw() = 0;
  std::function<void(int)> hook;
  using Name = int;
  friend class Other;
  struct Inner {
    int one;
    int two() const;
  };

 private:
  static constexpr int kMost = 3;
  int sides_{4}, corners_ = 4;
  std::vector<std::pair<int, int>> edges_;
  std::size_t bytes_ = sizeof(int);
};
"""


class ClassSizes(unittest.TestCase):
    def test_functions_and_data_members_are_told_apart(self) -> None:
        sizes = {size.name: (size.functions, size.data) for size in class_sizes("shape.hpp", SHAPE)}
        self.assertEqual(sizes, {"Shape": (4, 5), "Inner": (1, 1)})

    def test_a_declaration_without_a_body_is_no_class(self) -> None:
        self.assertEqual(list(class_sizes("x.hpp", "class Later;\nstruct Also;\nvoid f(struct Also&) {}\n")), [])


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


class FrontDoor(unittest.TestCase):
    def test_headers_past_the_front_door_are_seen(self) -> None:
        text = '#include <weft/client.hpp>\n#include "weft/detail/base/status.hpp"\n# include <weft/wire/frame.hpp>\n#include <other/x/y.hpp>\n'
        self.assertEqual(list(inside(text)), ["detail/base/status.hpp", "wire/frame.hpp"])


class Layers(unittest.TestCase):
    def test_an_edge_that_nobody_uses_is_told(self) -> None:
        told = list(unused_edges({"calls": {"base", "wire"}, "base": set()}, {"calls": {"base"}}))
        self.assertEqual(told, ["tests/checks/layers.txt: nothing of calls includes wire; remove it from its line"])


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

    def test_a_file_that_only_includes_by_other_paths_has_not_changed(self) -> None:
        diff = ["--- a/src/a.cpp", "+++ b/src/a.cpp", '-#include "weft/a.hpp"', '+#include "weft/detail/a.hpp"',
                "--- a/src/b.cpp", "+++ b/src/b.cpp", '-#include "weft/b.hpp"', "+int b();", "--- a/src/c.cpp", "+++ /dev/null", "-"]
        self.assertEqual(said_something(diff), {"src/b.cpp"})

    def test_what_is_no_code_brings_nothing(self) -> None:
        self.assertEqual(choose({"README.md", "gone/away.cpp"}, project_files()), set())


if __name__ == "__main__":
    unittest.main()
