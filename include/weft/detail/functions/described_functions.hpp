// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/functions/method.hpp"

namespace weft::detail {

class CallServer;

/// A function of a server, for callers that were not compiled with its declaration. The fields are a
/// description on the wire: change them only together with kDescribedFunctions.
struct DescribedFunction {
  std::string name;
  /// The types with the names of fields, for MethodDescription::parse().
  std::string types;
  /// MethodKey::schema.
  std::uint32_t schema = 0;
  /// Items of a stream follow the request, or come before the answer.
  bool takes_stream = false;
  bool gives_stream = false;
};

/// Returns the functions that the caller may call, sorted by name; only those called `name` unless it is
/// empty. Functions of one name and different types are listed one by one.
inline constexpr auto kDescribedFunctions =
    remote<"weft.functions.v1", std::vector<DescribedFunction>(std::string_view name)>;

/// Lets `server` describe its functions. Call it once, before start().
void describe_functions(CallServer& server);

}  // namespace weft::detail
