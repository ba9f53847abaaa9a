// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "calls/http/http_connection.hpp"
#include "calls/serve/protocol.hpp"
#include "calls/terms/option_checks.hpp"
#include "weft/detail/describe/json.hpp"
#include "weft/http.hpp"

namespace weft {

namespace detail::http {
namespace {

/// Methods that RequestParser reads, each with the space behind it.
constexpr std::string_view kMethods[] = {"GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "PATCH ", "OPTIONS "};

class HttpProtocol final : public Protocol {
 public:
  explicit HttpProtocol(HttpOptions options) : options_(std::move(options)) {}

  std::string_view name() const override { return "http/1.1"; }
  Status check() const override {
    std::vector<std::byte> nothing;
    if (Status no_json = from_json(*TypeDescription::parse("()"), "[]", nothing);
        no_json.code() == StatusCode::kUnimplemented) {
      return no_json.with_context("weft::http()");
    }
    Status status = check_above_zero({{"HttpOptions::request_timeout", options_.request_timeout},
                                      {"HttpOptions::idle_timeout", options_.idle_timeout}});
    if (status.ok()) {
      status = check_above_zero({{"HttpOptions::body_bytes_max", options_.body_bytes_max},
                                 {"HttpOptions::answer_bytes_max", options_.answer_bytes_max}});
    }
    return status;
  }
  Recognized recognizes(Bytes first) const override {
    const std::string_view begin = as_text(first);
    for (const std::string_view method : kMethods) {
      if (begin.starts_with(method)) return Recognized::kYes;
      if (method.starts_with(begin)) return Recognized::kMore;
    }
    return Recognized::kNo;
  }
  std::unique_ptr<ServedConnection> make(const ServedConnectionSetup& setup,
                                         std::unique_ptr<BaseCarrier> carrier) const override {
    if (setup.loop_state == nullptr) setup.loop_state = std::make_shared<HttpLoop>();
    return std::make_unique<HttpConnection>(setup, options_, *static_cast<HttpLoop*>(setup.loop_state.get()),
                                            std::move(carrier));
  }

 private:
  const HttpOptions options_;
};

}  // namespace
}  // namespace detail::http

std::shared_ptr<const detail::Protocol> http(HttpOptions options) {
  return std::make_shared<detail::http::HttpProtocol>(std::move(options));
}

}  // namespace weft
