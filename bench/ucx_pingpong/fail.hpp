// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "weft/detail/base/result.hpp"

namespace weft::bench {

/// A benchmark that cannot go on says why and ends.
[[noreturn]] inline void fail(const std::string& why) {
  std::fprintf(stderr, "ucx_pingpong: %s\n", why.c_str());
  std::exit(1);
}

template <typename T>
void require(const Result<T>& result) {
  if (!result.ok()) [[unlikely]] {
    fail(result.status().to_string());
  }
}

template <typename T>
T must(Result<T> result) {
  require(result);
  return std::move(result).value();
}

}  // namespace weft::bench
