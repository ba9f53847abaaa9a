// SPDX-License-Identifier: Apache-2.0
#include "calls/serve/late_answer.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "calls/terms/call_status.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/leaving_memory.hpp"

namespace weft::detail {

Status shortened(const Status& failure) noexcept {
  Status shorter{failure.code(), failure.layer(), failure.message().substr(0, kShortTextBytes),
                 failure.native(), failure.retry()};
  shorter.set_retry_after(failure.retry_after());
  return shorter;
}

std::size_t charged_text(const Status& failure) noexcept {
  const std::size_t text = failure.message().size() + failure.details().size();
  return text > kShortTextBytes ? text : 0;
}

Status keep_failure(ServedCall& call, Status failure) noexcept {
  return call.keep_answer(charged_text(failure)).ok() ? std::move(failure) : shortened(failure);
}

namespace {

/// An encoded answer that is one long run.
class LeavingBody final : public LeavingMemory {
 public:
  explicit LeavingBody(AnswerBody body) noexcept : body_(std::move(body)) {}
  Bytes bytes() const noexcept { return body_.bytes(); }
  AnswerBody take() noexcept { return std::move(body_); }

 private:
  AnswerBody body_;
};

/// Answers with `body` without a copy, and keeps it until it was sent. Returns false, with nothing answered
/// and `body` unchanged, when the body has to be copied.
bool send_leaving(ServedCall& call, AnswerBody& body) {
  ChunkPool* const chunks = call.lending_chunks();
  if (chunks == nullptr || body.bytes().size() < LentRuns::kRunBytesMin) return false;
  std::unique_ptr<LeavingBody> kept{new (std::nothrow) LeavingBody{std::move(body)}};
  if (kept == nullptr) return false;
  const Bytes bytes = kept->bytes();
  const ChunkRef chunk = LeavingMemory::lend(kept, bytes.size(), *chunks);
  if (!chunk) {
    body = kept->take();
    return false;
  }
  LentRuns run;
  run.offer(bytes);
  const RunsInChunk lent{run, chunk};
  std::byte* const to = call.begin_answer(bytes.size(), &lent);
  if (to == nullptr) return true;
  const Bytes end = bytes.subspan(run.place(bytes, to));
  std::copy(end.begin(), end.end(), to);
  call.end_answer(&lent);
  return true;
}

}  // namespace

LateAnswer::LateAnswer(ServedCall& call) noexcept
    : Ready([](Ready* self) noexcept { static_cast<LateAnswer*>(self)->send_and_end(); }),
      RoomWaiter(static_cast<Ready&>(*this)),
      call_(call) {}

bool LateAnswer::keep(ServedCall& call, AnswerBody& body, Status& failure) noexcept {
  if (call.answered() || call.has_room()) return false;
  auto* const late = new (std::nothrow) LateAnswer(call);
  if (late == nullptr) return false;
  if (!failure.ok()) {
    late->failure_ = keep_failure(call, std::move(failure));
  } else if (Status charged = call.keep_answer(body.bytes().size()); charged.ok()) {
    late->body_ = std::move(body);
  } else {
    late->failure_ = std::move(charged);
  }
  call.when_room(*late);
  return true;
}

// The end of a call wakes the next waiter for room. When the call goes on, because the handler still runs
// after its Reply was used, the next waiter is woken here.
void LateAnswer::send_and_end() {
  AnswerSink* const sink = call_.sink();
  send(call_, std::move(body_), failure_);
  if (!call_.let_go() && sink != nullptr) sink->wake_room_waiter();
  delete this;
}

void LateAnswer::send(ServedCall& call, AnswerBody body, const Status& failure) {
  if (!failure.ok()) return call.fail(failure);
  if (send_leaving(call, body)) return;
  std::byte* const to = call.begin_answer(body.bytes().size());
  if (to == nullptr) return;
  if (!body.bytes().empty()) std::memcpy(to, body.data(), body.bytes().size());
  call.end_answer();
}

}  // namespace weft::detail
