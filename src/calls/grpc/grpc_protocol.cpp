// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string_view>
#include <utility>

#include "calls/grpc/grpc_connection.hpp"
#include "calls/serve/protocol.hpp"
#include "calls/terms/option_checks.hpp"
#include "weft/grpc.hpp"

namespace weft {

namespace detail::grpc {
namespace {

/// Bytes that each client of HTTP/2 sends first.
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
static_assert(kPreface.size() <= Protocol::kFirstBytesMax);

class GrpcProtocol final : public Protocol {
 public:
  explicit GrpcProtocol(GrpcOptions options) : options_(options) {}

  std::string_view name() const override { return "h2"; }
  Status check() const override {
    return check_above_zero({{"GrpcOptions::calls_in_flight_max", options_.calls_in_flight_max},
                             {"GrpcOptions::header_bytes_max", options_.header_bytes_max}});
  }
  Recognized recognizes(Bytes first) const override {
    const std::string_view begin = as_text(first);
    if (begin.starts_with(kPreface)) return Recognized::kYes;
    return kPreface.starts_with(begin) ? Recognized::kMore : Recognized::kNo;
  }
  std::unique_ptr<ServedConnection> make(const ServedConnectionSetup& setup,
                                         std::unique_ptr<BaseCarrier> carrier) const override {
    return std::make_unique<GrpcConnection>(setup, options_, std::move(carrier));
  }

 private:
  const GrpcOptions options_;
};

}  // namespace
}  // namespace detail::grpc

std::shared_ptr<const detail::Protocol> grpc(GrpcOptions options) {
  return std::make_shared<detail::grpc::GrpcProtocol>(options);
}

}  // namespace weft
