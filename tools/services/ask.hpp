// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "load/options.hpp"
#include "weft/detail/base/result.hpp"

namespace weft::services {

enum class Question { kList, kDescribe, kCall };

struct Options {
  std::string url;
  /// A service's, message's or method's name.
  std::string name;
  /// The request; "-": standard input. None when it was not given.
  std::optional<std::string> json{};
  /// KEY=VALUE each, for the call.
  std::vector<std::string> metadata{};
  /// Seconds for connecting and for each call: ten unless they are given. A stream has none unless it is.
  std::optional<double> seconds{};
  load::TlsFlags tls = {};
  load::TokenFlags token{};
};

/// Connects, asks and disconnects; returns the text to print. Errors: the call's; kUnimplemented in a build
/// without protobuf, or for a server without reflection.
Result<std::string> blocking_ask(Question question, const Options& options);

}  // namespace weft::services
