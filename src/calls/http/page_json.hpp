// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "calls/http/page.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/describe/json.hpp"

namespace weft::detail::http {

/// Writes an object or an array of JSON, field by field.
class Json {
 public:
  explicit Json(std::string& out) : out_(out) {}

  Json& begin(char bracket) {
    separate();
    out_ += bracket;
    is_first_ = true;
    return *this;
  }
  Json& end(char bracket) {
    out_ += bracket;
    is_first_ = false;
    return *this;
  }
  Json& name(std::string_view name) {
    separate();
    append_json_string(out_, name);
    out_ += ':';
    is_first_ = true;
    return *this;
  }
  Json& number(std::uint64_t value) {
    separate();
    out_ += std::to_string(value);
    return *this;
  }
  Json& field(std::string_view its_name, std::uint64_t value) { return name(its_name).number(value); }
  Json& flag(std::string_view its_name, bool value) {
    name(its_name);
    separate();
    out_ += value ? "true" : "false";
    return *this;
  }
  Json& text(std::string_view its_name, std::string_view value) {
    name(its_name);
    separate();
    append_json_string(out_, value);
    return *this;
  }
  /// Microseconds; null for a time without a bound. A sum that another thread is changing may be negative for
  /// a moment, and counts as zero then.
  Json& time(std::string_view its_name, Duration value) {
    if (value != Duration::max()) {
      value = std::max(value, Duration::zero());
      return field(its_name, static_cast<std::uint64_t>(value / std::chrono::microseconds{1}));
    }
    name(its_name);
    separate();
    out_ += "null";
    return *this;
  }

 private:
  void separate() {
    if (!is_first_) out_ += ',';
    is_first_ = false;
  }

  std::string& out_;
  bool is_first_ = true;
};

/// Returns a page with the object of JSON that `write` writes.
template <typename Write>
PageContent json_page(const Write& write) {
  PageContent page;
  Json json{page.text};
  json.begin('{');
  write(json);
  json.end('}');
  page.text += '\n';
  return page;
}

}  // namespace weft::detail::http
