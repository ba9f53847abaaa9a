// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "load/options.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/terms/call_options.hpp"
#include "weft/detail/coro/task.hpp"

namespace weft::services {

enum class Question { kList, kDescribe, kCall, kPing, kHealth };

struct Options {
  std::string url;
  /// Name of a function, a service, a message or a method.
  std::string name;
  /// The request; "-": standard input. None when it was not given.
  std::optional<std::string> json{};
  /// KEY=VALUE each, for the call.
  std::vector<std::string> metadata{};
  /// Seconds for connecting and for each call: ten unless they are given. A stream has none unless it is.
  std::optional<double> seconds{};
  /// Print JSON, failures too.
  bool as_json = false;
  /// List names only, one in each line.
  bool names_only = false;
  /// Round trips of a ping.
  unsigned count = 5;
  load::TlsFlags tls = {};
  load::TokenFlags token{};
};

/// Connects, asks and disconnects; returns the text to print. Errors: the call's; kUnimplemented for a server
/// that describes nothing; kNotFound for an unknown name, with a name that is close to it.
Result<std::string> blocking_ask(Question question, const Options& options);

/// Returns the request that was given, or standard input for "-"; `otherwise` if none was given.
std::string request_of(const Options& options, const char* otherwise);
Duration duration_of(double seconds);

}  // namespace weft::services
