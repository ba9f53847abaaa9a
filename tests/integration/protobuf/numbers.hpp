// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

#include "integration/protobuf/services_testing.hpp"
#include "streams.weft.hpp"

namespace weft::testing {

/// Serves methods of each kind.
class Numbers : public streams::NumbersServer {
 public:
  Task<Result<void>> Double(CallContext&, const streams::Number& request,
                            streams::Number& response) override {
    response.set_value(2 * request.value());
    co_return Result<void>{};
  }
  Task<Result<void>> Count(CallContext&, const streams::Number& request,
                           protobuf::Writer<streams::Number>& responses) override {
    const std::int64_t count = std::abs(request.value());
    streams::Number each;
    for (std::int64_t i = 0; i < count; ++i) {
      each.set_value(i);
      const bool written = co_await responses.write(each);
      if (!written) {
        stopped = responses.status();
        co_return stopped;
      }
    }
    if (request.value() < 0) co_return user_error(7, "no more of them");
    co_return Result<void>{};
  }
  Task<Result<void>> Sum(CallContext&, protobuf::Reader<streams::Number>& requests,
                         streams::Number& response) override {
    std::int64_t sum = 0;
    while (const auto* each = co_await requests.next()) sum += each->value();
    stopped = requests.status();
    if (!stopped.ok()) co_return stopped;
    if (!leaves_out) response.set_value(sum);
    co_return Result<void>{};
  }
  Task<Result<void>> Spell(CallContext& context, protobuf::Reader<streams::Number>& requests,
                           protobuf::Writer<streams::Text>& responses) override {
    tenant = context.metadata().find("tenant").value_or("none");
    streams::Text text;
    while (const auto* each = co_await requests.next()) {
      if (each->value() == 13) throw user_error(13, "bad luck");
      text.set_text(std::to_string(each->value()));
      const bool written = co_await responses.write(text);
      if (!written) co_return responses.status();
    }
    co_return requests.status();
  }

  Status stopped;
  std::string tenant;
  bool leaves_out = false;
};

}  // namespace weft::testing
