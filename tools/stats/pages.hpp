// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "load/options.hpp"
#include "weft/detail/base/result.hpp"

namespace weft::stats {

struct Options {
  std::string url;
  /// Seconds for connecting and for each page.
  double seconds = 10;
  bool as_json = false;
  load::TlsFlags tls = {};
  load::TokenFlags token{};
};

/// The pages of a server by their names, such as "methods": JSON.
using Pages = std::map<std::string, std::string>;

/// Reads the pages that `weft stats` prints, over HTTP on the port of Weft's own protocol. Blocks. Errors:
/// kUnavailable for a server that cannot be reached, kUnimplemented for one that does not speak HTTP or has
/// no pages for this connection, and those that the server answers.
Result<Pages> blocking_pages(const Options& options);

}  // namespace weft::stats
