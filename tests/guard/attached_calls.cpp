// SPDX-License-Identifier: Apache-2.0
#include "guard/attached_calls.hpp"

#include <span>
#include <utility>

namespace weft::guard {
namespace {

void echo_attached(CallContext& context) {
  context.set_attachment(context.take_attachment());
}

}  // namespace

void register_attached(Server& server) {
  server.register_handler<echo_attached>();
}

Task<void> call_with_attachment(Client* client, Progress* progress) {
  Payload payload{};
  Payload landing{};
  CallOptions options;
  options.attachment = Bytes{std::as_bytes(std::span{payload})};
  options.landing = MutableBytes{std::as_writable_bytes(std::span{landing})};
  while (progress->to_start > 0) {
    --progress->to_start;
    auto answer = co_await client->call<echo_attached>(options).with_attachment();
    progress->end_one(answer.ok() && answer->attachment_bytes == sizeof payload && landing == payload);
    ++payload[0];
  }
}

}  // namespace weft::guard
