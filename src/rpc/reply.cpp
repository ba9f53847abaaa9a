// SPDX-License-Identifier: Apache-2.0
#include "weft/rpc/reply.hpp"

#include "rpc/call_status.hpp"
#include "weft/base/assert.hpp"
#include "weft/runtime/loop.hpp"

namespace weft::detail {

namespace {

/// Runs `finish` on the call's loop: at once when that is the caller's.
template <typename Finish>
void on_loop(ServedCall& call, Finish finish) {
  if (Loop::current() == &call.loop()) {
    finish();
  } else {
    call.loop().post(std::move(finish));
  }
}

}  // namespace

ReplyRight::ReplyRight(ServedCall& call) : call_(&call) {
  // Made inside serve_record: on the loop, or on a worker while the loop leaves the record alone.
  call.hold();
}

void ReplyRight::send(std::vector<std::byte> body) {
  WEFT_ASSERT(call_ != nullptr, "a Reply answers once");
  ServedCall* call = std::exchange(call_, nullptr);
  on_loop(*call, [call, body = std::move(body)] {
    call->answer_encoded(body);
    call->let_go();
  });
}

void ReplyRight::fail(Status failure) {
  WEFT_ASSERT(call_ != nullptr, "a Reply answers once");
  ServedCall* call = std::exchange(call_, nullptr);
  on_loop(*call, [call, failure = std::move(failure)] {
    call->fail(failure);
    call->let_go();
  });
}

std::size_t ReplyRight::body_bytes_max() const {
  WEFT_ASSERT(call_ != nullptr, "a Reply answers once");
  return call_->body_bytes_max();
}

void ReplyRight::fail_over_limit(std::size_t bytes) {
  fail(over_limit("the answer", bytes, body_bytes_max(), "the server's"));
}

void ReplyRight::drop() noexcept {
  if (call_ == nullptr) return;
  fail({StatusCode::kInternal, Layer::kRpc, "the handler dropped its Reply without an answer"});
}

}  // namespace weft::detail
