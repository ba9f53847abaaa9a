// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/serve/reply_right.hpp"

#include "weft/detail/base/assert.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/post_surely.hpp"

namespace weft::detail {

ReplyRight::ReplyRight(ServedCall& call) : call_(&call) {
  // Made inside serve_record: on the loop, or on a worker while the loop leaves the record alone.
  call.hold();
}

// Uses the right up, on the call's loop: at once when that is the caller's. When there is no memory to hand
// it over to the loop, the right is not used.
template <typename Work>
void ReplyRight::finish(Work work) {
  if (Loop::current() != &call_->loop()) {
    call_->loop().post(std::move(work));
    call_ = nullptr;
  } else {
    call_ = nullptr;
    work();
  }
}

bool ReplyRight::make_answer(std::size_t bytes, AnswerBody& body) {
  WEFT_ASSERT(call_ != nullptr, "a Reply answers once");
  Status made = call_->make_answer(bytes, body);
  if (made.ok()) return true;
  fail(std::move(made));
  return false;
}

void ReplyRight::send(AnswerBody body) {
  WEFT_ASSERT(call_ != nullptr, "a Reply answers once");
  finish([call = call_, body = std::move(body)]() mutable { call->answer_late(std::move(body)); });
}

void ReplyRight::fail(Status failure) {
  WEFT_ASSERT(call_ != nullptr, "a Reply answers once");
  WEFT_ASSERT(!failure.ok(), "a Reply fails with a Status that is a failure; success is an answer");
  AnswerBody charge;
  failure = call_->carry_failure(std::move(failure), charge);
  finish([call = call_, failure = std::move(failure), charge = std::move(charge)]() mutable {
    charge.end_charge();  // on the loop the text has another
    call->fail_late(std::move(failure));
  });
}

void ReplyRight::drop() noexcept {
  ServedCall* call = std::exchange(call_, nullptr);
  if (call == nullptr) return;
  if (Loop::current() == &call->loop()) return call->let_go_unanswered();
  detail::post_surely(call->loop(), [call] { call->let_go_unanswered(); });
}

}  // namespace weft::detail
