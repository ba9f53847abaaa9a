// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string_view>
#include <utility>

#include "calls/http/http_connection.hpp"
#include "calls/serve/protocol.hpp"
#include "calls/terms/option_checks.hpp"
#include "weft/http.hpp"

namespace weft {

namespace detail::http {
namespace {

/// Methods that RequestParser reads, each with the space behind it.
constexpr std::string_view kMethods[] = {"GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "PATCH ", "OPTIONS "};

class HttpProtocol final : public Protocol {
 public:
  explicit HttpProtocol(HttpOptions options) : shared_(std::make_shared<HttpShared>(std::move(options))) {}

  std::string_view name() const override { return "http/1.1"; }
  Status check() const override {
    const HttpOptions& options = shared_->options;
    Status status = check_above_zero({{"HttpOptions::request_timeout", options.request_timeout},
                                      {"HttpOptions::idle_timeout", options.idle_timeout}});
    if (status.ok()) {
      status = check_above_zero({{"HttpOptions::body_bytes_max", options.body_bytes_max},
                                 {"HttpOptions::answer_bytes_max", options.answer_bytes_max}});
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
    return std::make_unique<HttpConnection>(setup, shared_, std::move(carrier));
  }

 private:
  const std::shared_ptr<HttpShared> shared_;
};

}  // namespace
}  // namespace detail::http

std::shared_ptr<const detail::Protocol> http(HttpOptions options) {
  return std::make_shared<detail::http::HttpProtocol>(std::move(options));
}

}  // namespace weft
