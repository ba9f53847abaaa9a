// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/time.hpp"
#include "weft/detail/transport/carrier_policy.hpp"

namespace weft::info {

/// An option and its value: for people, and, where it is one, as a number of bytes or milliseconds.
struct Word {
  std::string name;
  std::string value;
  std::optional<std::uint64_t> number = {};
  /// A remark for people; empty for most.
  std::string note = {};
};

/// "forbid", "prefer" or "require".
std::string policy_name(CarrierPolicy policy);

/// The words for a count, a size in bytes, a time, and a policy ("connecting" or "listening"), which URLs
/// that begin with `scheme` override.
Word count_word(std::string name, std::size_t count);
Word size_word(std::string name, std::size_t bytes);
Word milliseconds_word(std::string name, Duration time);
Word policy_word(std::string name, CarrierPolicy policy, std::string_view scheme);

/// The names with commas between them, or `when_empty`.
std::string joined(const std::vector<std::string>& names, std::string_view when_empty);

/// The lines that the text for people is made of: a name and a value, many of those, and what stands above
/// some.
std::string row(std::string name, std::string_view value);
std::string words_text(const std::vector<Word>& words);
std::string heading(std::string_view words);

}  // namespace weft::info
