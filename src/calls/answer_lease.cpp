// SPDX-License-Identifier: Apache-2.0
#include "calls/answer_lease.hpp"

#include <new>
#include <utility>

namespace weft::detail {

namespace {

/// An answer's attachment, or only the wish to hear when everything before it has left, until the connection
/// is done with it. Its own operation record: nobody else owns it.
class AnswerLease final : public SendLease {
 public:
  AnswerLease(Buffer attachment, UniqueFunction<void(bool)> callback)
      : attachment_(std::move(attachment)), callback_(std::move(callback)) {}

  Bytes bytes() const { return attachment_.bytes(); }
  void on_released(bool sent) noexcept override {
    if (callback_) callback_(sent);
    delete this;
  }

 private:
  Buffer attachment_;
  UniqueFunction<void(bool)> callback_;
};

bool queue(Outbox& outbox, AnswerLease& lease) {
  const bool queued = outbox.append_leased(lease.bytes(), lease);
  if (!queued) lease.on_released(false);
  return queued;
}

}  // namespace

// The callback has a lease of its own behind everything: a small attachment is copied, and its lease is given
// back when that was done, not when it left.
bool queue_answer_attachment(Outbox& outbox, Buffer attachment, UniqueFunction<void(bool)> on_sent) {
  bool queued = true;
  if (!attachment.empty()) {
    auto* lease = new (std::nothrow) AnswerLease(std::move(attachment), {});
    queued = lease != nullptr && queue(outbox, *lease);
  }
  if (!on_sent) return queued;
  auto* lease = queued ? new (std::nothrow) AnswerLease({}, std::move(on_sent)) : nullptr;
  if (lease != nullptr) return queue(outbox, *lease);
  on_sent(false);  // NOLINT(bugprone-use-after-move): a record that has no memory takes nothing
  return false;
}

}  // namespace weft::detail
