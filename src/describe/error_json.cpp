// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/describe/error_json.hpp"

#include <chrono>

#include "weft/detail/describe/json.hpp"

namespace weft::detail {

std::string error_json(const Status& failure) {
  std::string out = "{\"code\":";
  append_json_string(out, to_string(failure.code()));
  out += ",\"message\":";
  append_json_string(out, failure.message());
  out += ",\"retry\":";
  append_json_string(out, to_string(failure.retry()));
  if (const Duration wait = failure.retry_after(); wait > Duration::zero()) {
    out += ",\"retry_after_ms\":" +
           std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(wait).count());
  }
  out += failure.unprocessed() ? ",\"unprocessed\":true}" : ",\"unprocessed\":false}";
  return out;
}

}  // namespace weft::detail
