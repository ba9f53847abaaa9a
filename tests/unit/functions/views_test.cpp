// SPDX-License-Identifier: Apache-2.0
// Which types look at memory of others, and which own some that a view could show.
#include "weft/detail/functions/views.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace looks {

struct Own {
  std::string text;
  int number = 0;
};
struct View {
  int number = 0;
  std::string_view text;
};
struct Deep {
  std::vector<std::map<int, View>> views;
};
struct Tree {
  std::string text;
  std::vector<Tree> children;
};
struct ViewTree {
  std::unique_ptr<ViewTree> next;
  std::string_view text;
};
struct Plain {
  int a = 0;
  double b = 0;
};
struct Digest {
  std::array<std::byte, 16> bytes{};
};
struct Mine {
  const char* at = nullptr;
};

}  // namespace looks

namespace weft {

using namespace weft::detail;

template <>
struct CodecTraits<looks::Mine> {
  using Wire = std::string_view;
  static Wire to_wire(const looks::Mine& mine) { return mine.at; }
  static looks::Mine from_wire(Wire wire) { return {wire.data()}; }
};
template <>
inline constexpr bool is_view<looks::Mine> = true;

namespace {

using detail::holds_view;
using detail::owns_memory;

template <typename... Ts>
constexpr bool all_hold_views = (holds_view<Ts> && ...);
template <typename... Ts>
constexpr bool any_holds_a_view = (holds_view<Ts> || ...);
template <typename... Ts>
constexpr bool all_own_memory = (owns_memory<Ts> && ...);
template <typename... Ts>
constexpr bool any_owns_memory = (owns_memory<Ts> || ...);

TEST(Views, AreFoundInWhateverHoldsThem) {
  EXPECT_TRUE((all_hold_views<std::string_view, std::span<const int>, const std::string_view&>));
  EXPECT_TRUE((all_hold_views<looks::View, looks::Deep, looks::ViewTree, looks::Mine>));
  EXPECT_TRUE((all_hold_views<std::optional<std::string_view>, std::array<std::string_view, 2>,
                              std::pair<int, looks::View>, std::variant<int, std::string_view>,
                              std::map<std::string_view, int>, Result<std::string_view>>));
}

TEST(Views, AreNotSeenWhereThereAreNone) {
  EXPECT_FALSE((any_holds_a_view<void, int, std::string, std::vector<std::string>, std::array<int, 4>,
                                 looks::Own, looks::Tree, looks::Plain, Result<void>, std::monostate>));
}

TEST(Memory, OfAValueIsWhatAViewCouldShow) {
  EXPECT_TRUE((all_own_memory<std::string, std::vector<int>, std::array<int, 4>, looks::Own, looks::Tree,
                              looks::Digest, std::unique_ptr<int>, std::optional<std::string>,
                              std::pair<std::string_view, std::string>,
                              std::map<std::string_view, Result<std::string>>>));
}

TEST(Memory, OfNumbersAndOfViewsIsNobodysToLookAt) {
  EXPECT_FALSE(
      (any_owns_memory<int, bool, std::chrono::seconds, looks::Plain, std::string_view,
                       std::span<const std::byte>, looks::View, std::vector<std::string_view>, looks::Deep,
                       looks::Mine, std::optional<int>, std::variant<int, std::string_view>>));
}

}  // namespace
}  // namespace weft
