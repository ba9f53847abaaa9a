// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace weft::detail {

/// Spelling of a function by one compiler, converted to a common one: the names of methods, which are on the
/// wire, do not depend on the compiler of either side. g++ and clang spell these in different ways, and both
/// become the right column:
///
///     {anonymous}::f, (anonymous namespace)::f                (anonymous namespace)::f
///     std::__cxx11::basic_string<char>                        std::basic_string<char>
///     long unsigned int, unsigned long                        unsigned long
///     A<B<int> >, const char *, int [3], 3u                   A<B<int>>, const char*, int[3], 3
///
/// Inline namespaces are not covered: g++ names an inline namespace, clang does not, and neither marks it as
/// inline.
class NameWriter {
 public:
  constexpr explicit NameWriter(char* to) noexcept : to_(to) {}

  /// Room that a name needs.
  static constexpr std::size_t room(std::string_view name) noexcept { return 2 * name.size() + 32; }
  /// The name is written as the compiler spells it.
  static constexpr bool is_plain(std::string_view name) noexcept {
    for (const char letter : name) {
      if (!is_word(letter) && letter != ':') return false;
    }
    return true;
  }

  /// Writes `name` and returns its length.
  constexpr std::size_t write(std::string_view name) noexcept {
    while (!name.empty()) name.remove_prefix(step(name));
    return size_;
  }

 private:
  static constexpr std::string_view kInlineOfStd[] = {"__cxx11::", "_V2::", "__1::"};
  static constexpr std::string_view kNumberWords[] = {"unsigned", "signed", "long",     "short",
                                                      "int",      "char",   "__int128", "double"};

  static constexpr bool is_word(char letter) noexcept {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '$' ||
           static_cast<unsigned char>(letter) >= 0x80;
  }
  static constexpr std::size_t word_at(std::string_view text) noexcept {
    std::size_t size = 0;
    while (size < text.size() && is_word(text[size])) ++size;
    return size;
  }
  static constexpr bool is_number_word(std::string_view word) noexcept {
    for (const std::string_view each : kNumberWords) {
      if (word == each) return true;
    }
    return false;
  }

  constexpr void put(char letter) noexcept { to_[size_++] = letter; }
  constexpr void put(std::string_view text) noexcept {
    for (const char letter : text) put(letter);
  }
  constexpr char last() const noexcept { return size_ == 0 ? '\0' : to_[size_ - 1]; }

  /// Writes what `text` begins with, and returns how much of it that was.
  constexpr std::size_t step(std::string_view text) noexcept {
    constexpr std::string_view kOfGnu = "{anonymous}";
    if (text.starts_with(kOfGnu)) {
      put("(anonymous namespace)");
      return kOfGnu.size();
    }
    for (const std::string_view space : kInlineOfStd) {
      if (text.starts_with(space) && last() == ':') return space.size();
    }
    if (is_word(text.front())) return words(text);
    if (text.front() == ' ') {
      // Between two words, and behind a comma.
      if (text.size() > 1 && is_word(text[1]) && is_word(last())) put(' ');
      return 1;
    }
    // The address of a function as an argument, which g++ leaves out.
    if (text.front() == '&' && (last() == '<' || last() == ' ')) return 1;
    put(text.front());
    if (text.front() == ',') put(' ');
    return 1;
  }

  /// Writes a word, or the words of one type of number.
  constexpr std::size_t words(std::string_view text) noexcept {
    const std::size_t first = word_at(text);
    const std::string_view word = text.substr(0, first);
    if (!is_number_word(word)) {
      put(word.front() >= '0' && word.front() <= '9' ? without_suffix(word) : word);
      return first;
    }
    bool is_unsigned = false;
    bool is_signed = false;
    bool is_short = false;
    int longs = 0;
    std::string_view base = "int";
    std::size_t at = 0;
    for (;;) {
      const std::size_t size = word_at(text.substr(at));
      const std::string_view next = text.substr(at, size);
      if (next == "unsigned") {
        is_unsigned = true;
      } else if (next == "signed") {
        is_signed = true;
      } else if (next == "long") {
        ++longs;
      } else if (next == "short") {
        is_short = true;
      } else {
        base = next;
      }
      at += size;
      if (at + 1 >= text.size() || text[at] != ' ') break;
      const std::string_view behind = text.substr(at + 1);
      if (!is_number_word(behind.substr(0, word_at(behind)))) break;
      ++at;
    }
    put_number(is_unsigned, is_signed && base == "char", is_short, longs, base);
    return at;
  }
  constexpr void put_number(bool is_unsigned, bool is_signed, bool is_short, int longs,
                            std::string_view base) noexcept {
    if (is_unsigned) put("unsigned ");
    if (is_signed) put("signed ");
    if (is_short) put("short ");
    for (int i = 0; i < longs; ++i) put("long ");
    const bool implied = base == "int" && (is_short || longs != 0);
    if (implied) {
      --size_;
    } else {
      put(base);
    }
  }
  static constexpr std::string_view without_suffix(std::string_view number) noexcept {
    while (number.size() > 1 && std::string_view{"uUlL"}.find(number.back()) != std::string_view::npos)
      number.remove_suffix(1);
    return number;
  }

  char* to_;
  std::size_t size_ = 0;
};

/// Name without the template arguments of the function itself: clang never prints them, g++ only for free
/// functions. The schema distinguishes specialisations.
constexpr std::string_view without_arguments(std::string_view name) {
  if (name.empty() || name.back() != '>') return name;
  std::size_t depth = 0;
  for (std::size_t at = name.size(); at-- > 0;) {
    if (name[at] == '>') ++depth;
    if (name[at] == '<' && --depth == 0) return name.substr(0, at);
  }
  return name;
}

/// Spelling of a function in __PRETTY_FUNCTION__ without what only one compiler adds around it.
constexpr std::string_view trim_name(std::string_view pretty) {
  const auto begin = pretty.find("Function = ");
  pretty.remove_prefix(begin + 11);
  // g++ lists the aliases it used after a semicolon; clang closes with a bracket only.
  auto end = pretty.find(';');
  if (end == std::string_view::npos) end = pretty.rfind(']');
  pretty = pretty.substr(0, end);
  while (!pretty.empty() && (pretty.front() == '&' || pretty.front() == ' ')) pretty.remove_prefix(1);
  return without_arguments(pretty);
}

/// The name has a part without a name, or one that compilers spell in ways that are not made the same: a
/// value of a class, the address of a variable, a character that cannot be printed.
constexpr bool is_unsharable(std::string_view name) {
  for (const std::string_view part :
       {"<lambda", "(lambda", "<unnamed ", "(unnamed ", "(anonymous class)", "(anonymous struct)",
        "(anonymous union)", "(anonymous enum)", "'\\", "{"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

template <auto Function>
constexpr std::string_view raw_name() {
  return __PRETTY_FUNCTION__;
}

template <auto Function>
struct FunctionName {
  static constexpr std::string_view raw = trim_name(raw_name<Function>());
  static constexpr auto written = [] {
    std::array<char, NameWriter::room(raw)> text{};
    const std::size_t size = NameWriter{text.data()}.write(raw);
    return std::pair{text, size};
  }();
  static constexpr auto text = [] {
    std::array<char, written.second> exact{};
    for (std::size_t i = 0; i < exact.size(); ++i) exact[i] = written.first[i];
    return exact;
  }();
  static constexpr std::string_view name{text.data(), text.size()};
};

/// Name of a function, the same from g++ and clang, but for inline namespaces.
template <auto Function>
consteval std::string_view name_of_function() {
  constexpr std::string_view kRaw = trim_name(raw_name<Function>());
  if constexpr (NameWriter::is_plain(kRaw)) {
    return kRaw;
  } else {
    static_assert(
        !is_unsharable(FunctionName<Function>::name),
        "weft cannot name this function: it belongs to a lambda, to a class without a name or to a template "
        "with an argument that compilers spell in several ways, so other programs cannot know its name; give "
        "it one: weft::method<&f, \"name\">");
    return FunctionName<Function>::name;
  }
}
template <auto Function>
inline constexpr std::string_view function_name = name_of_function<Function>();

}  // namespace weft::detail
