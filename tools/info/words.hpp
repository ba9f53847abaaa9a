// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "info/options.hpp"
#include "weft/detail/transport/carrier_provider.hpp"
#include "weft/detail/wire/hello.hpp"

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

/// The carrier that the URL or a flag asks for; UCX when none does.
detail::wire::CarrierKind carrier_asked_for(const Options& options);

/// UcxOptions as this command line makes them, by their names.
std::vector<Word> effective_options(const Options& options);

/// VerbsOptions as this command line makes them, by their names.
std::vector<Word> effective_verbs_options(const Options& options);

}  // namespace weft::info
