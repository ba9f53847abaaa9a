// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/detail/codec/facts.hpp"
#include "weft/detail/codec/sizer.hpp"

namespace weft::detail {

/// Describes the structure of types as text, and hashes that text (FNV-1a, 64 bits). Works at compile time
/// when only the hash is wanted. Later additions (Compatible) are in the text but not in the hash.
class SchemaWriter {
 public:
  /// Appends to `text` as well, where there is one; it must outlive the writer.
  constexpr explicit SchemaWriter(std::string* text = nullptr) : text_(text) {}
  SchemaWriter(const SchemaWriter&) = delete;
  SchemaWriter& operator=(const SchemaWriter&) = delete;

  /// Appends the description of `T`.
  template <typename T>
  constexpr void type() {
    codec_detail::Codec<std::remove_cv_t<T>>::append_schema(*this);
  }
  constexpr void put(std::string_view words) {
    for (const char c : words) {
      if (silent_ == 0) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100'0000'01B3U;
    }
    if (silent_ == 0) written_ += words.size();
    if (text_ != nullptr) append_text(words);
  }
  constexpr void put_number(std::uint64_t number) {
    if (number >= 10) put_number(number / 10);
    const char digit = static_cast<char>('0' + number % 10);
    put({&digit, 1});
  }
  /// Appends `Ts` with ", " between them. Additions do not count for the hash, and neither do their commas.
  template <typename... Ts>
  constexpr void list() {
    Separator separator;
    (list_item<Ts>(*this, separator), ...);
  }
  /// Appends the types of the members of `T`: an aggregate, a tuple or a pair.
  template <typename T>
  constexpr void members() {
    list_members(codec_detail::members_of<T>{});
  }

  /// Begins the fields of the type that `tag` stands for. `in_braces`: the description of the type is in
  /// braces of its own. False when this type is being described already: then a reference to it was written,
  /// and leave() must not be called. A reference counts the braces around it, or, to a type without braces,
  /// the characters back to the beginning of its description.
  constexpr bool enter(std::uint64_t tag, bool in_braces) {
    std::size_t braces = 0;
    for (std::size_t up = 0; up < depth_; ++up) {
      const Level& level = inside_[depth_ - 1 - up];
      if (level.tag != tag) {
        braces += level.in_braces ? 1 : 0;
        continue;
      }
      const std::size_t back = in_braces ? braces : written_ - level.begins;
      put(in_braces ? "^" : "^@");
      put_number(back);
      return false;
    }
    if (depth_ == kNestingMax) return too_deep();
    inside_[depth_++] = {tag, written_, in_braces};
    return true;
  }
  constexpr void leave() { --depth_; }

  constexpr std::uint64_t hash() const { return hash_; }

 protected:
  struct Separator {
    bool first_in_hash = true;
    bool first_in_text = true;
  };

  /// Appends one item of a list, and its `name`, which does not count for the hash, if it has one. `self` is
  /// this writer, or the class that is derived from it.
  template <typename T, typename Self>
  constexpr void list_item(Self& self, Separator& separator, std::string_view name = {}) {
    constexpr bool kAddition = codec_detail::kind_of<std::remove_cv_t<T>> == codec_detail::Kind::kCompatible;
    std::string* const text = text_;
    if (kAddition) ++silent_;
    text_ = nullptr;
    if (!separator.first_in_hash) put(", ");
    text_ = text;
    if (text_ != nullptr && !separator.first_in_text) append_text(", ");
    if (!kAddition) separator.first_in_hash = false;
    separator.first_in_text = false;
    if (text_ != nullptr && !name.empty()) {
      append_text(name);
      append_text(": ");
    }
    self.template type<T>();
    if (kAddition) --silent_;
  }

 private:
  static constexpr std::size_t kNestingMax = 64;
  struct Level {
    std::uint64_t tag;
    std::size_t begins;
    bool in_braces;
  };

  template <typename... Ts>
  constexpr void list_members(codec_detail::Types<Ts...>) {
    list<Ts...>();
  }
  void append_text(std::string_view words);
  /// Not constexpr on purpose: types nested this deep do not compile.
  bool too_deep();

  std::string* text_;
  std::uint64_t hash_ = 0xCBF2'9CE4'8422'2325U;
  unsigned silent_ = 0;
  std::size_t depth_ = 0;
  /// Number of characters of the hash.
  std::size_t written_ = 0;
  Level inside_[kNestingMax] = {};
};

namespace codec_detail {

/// A number that stands for `T` while its fields are described, within one build only. The address of a
/// variable would do too, but g++ 12 compares addresses of templates in no constant expression when it checks
/// for undefined behaviour.
template <typename T>
constexpr std::uint64_t number_of_type() {
  std::uint64_t number = 0xcbf29ce484222325u;
  for (const char letter : std::string_view{__PRETTY_FUNCTION__}) {
    number = (number ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  }
  return number;
}
template <typename T>
inline constexpr std::uint64_t type_tag = number_of_type<T>();

}  // namespace codec_detail
}  // namespace weft::detail
