// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "info/options.hpp"
#include "weft/transport/data_path.hpp"
#include "weft/transport/ucx.hpp"

namespace weft::info {

/// An option and its value: for people, and, where it is one, as a number of bytes or milliseconds.
struct Word {
  std::string name;
  std::string value;
  std::optional<std::uint64_t> number = {};
};

/// "forbid", "prefer" or "require".
std::string policy_name(PathPolicy policy);

/// UcxOptions as this command line makes them.
UcxOptions ucx_options(const Options& options);

/// The same by the names of UcxOptions.
std::vector<Word> effective_options(const Options& options);

}  // namespace weft::info
