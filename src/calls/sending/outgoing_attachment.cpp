// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/sending/outgoing_attachment.hpp"

#include <algorithm>
#include <utility>

#include "calls/sending/frame_output.hpp"
#include "weft/detail/base/assert.hpp"

namespace weft::detail {

namespace {

/// Length of the longest attachment that is copied where its runs could be gathered: copied, one of 8 KiB
/// took its caller more time.
constexpr std::size_t kCopiedWholeMax = 4 * 1024;

bool is_copied_whole(const LeasePolicy& policy, std::size_t bytes) noexcept {
  return policy.copies(bytes) && (bytes <= kCopiedWholeMax || !policy.gathers(bytes));
}

}  // namespace

void OutgoingAttachment::begin(AttachmentView memory) noexcept {
  WEFT_ASSERT(leases_ == 0, "an attachment begins when nothing of the last one is lent");
  memory_ = RunCursor<const std::byte>{memory};
  marks_ = nullptr;
  left_ = memory.bytes();
}

void OutgoingAttachment::put_runs_in(FrameOutput& output, const LentRuns& runs) noexcept {
  const auto leases = static_cast<std::uint32_t>(runs.runs().size());
  runs_bytes_ = runs.bytes();
  leases_ += leases;
  if (!output.end_around(runs, this, {}, left_ != 0)) leases_ -= leases;
}

// The attachment counts as lent meanwhile, because copied bytes are returned at once. After a failure its
// owner abandons it.
bool OutgoingAttachment::queue(Outbox& outbox, std::size_t bytes) noexcept {
  WEFT_ASSERT(bytes <= left_, "no more is queued than is there");
  ++leases_;
  const std::size_t whole = bytes;
  bool queued = true;
  if (bytes == left_ && bytes != 0 && is_copied_whole(outbox.lease_policy(), bytes)) {
    queued = outbox.append_copied(memory_, std::exchange(bytes, 0));
    if (queued) left_ = 0;
  } else if (is_copied_by(outbox)) {
    queued = copy(outbox, std::exchange(bytes, 0));
  }
  while (bytes > 0) {
    const Bytes rest = memory_.rest();
    std::size_t part = std::min(bytes, rest.size());
    ++leases_;
    if (outbox.lease_policy().gathers(memory_, bytes)) {
      part = outbox.append_gathered(memory_, bytes, *this);
    } else if (outbox.append_leased(rest.first(part), *this, part < bytes)) {
      memory_.pass(part);
    } else {
      part = 0;
    }
    if (part == 0) {
      --leases_;
      queued = false;
      break;
    }
    bytes -= part;
    left_ -= part;
  }
  if (queued && has_marks()) queued = marks_->append(outbox, whole);
  if (queued) {
    on_released(true);
  } else {
    --leases_;
  }
  return queued;
}

// In parts that the outbox copies.
bool OutgoingAttachment::copy(Outbox& outbox, std::size_t bytes) noexcept {
  while (bytes > 0) {
    const Bytes rest = memory_.rest();
    const std::size_t part = std::min({bytes, rest.size(), outbox.lease_policy().copied_max()});
    ++leases_;
    if (!outbox.append_leased(rest.first(part), *this, part < bytes)) {
      --leases_;
      return false;
    }
    memory_.pass(part);
    bytes -= part;
    left_ -= part;
  }
  return true;
}

bool OutgoingAttachment::take_over(Outbox& outbox) noexcept {
  left_ = 0;
  while (leases_ != 0) {
    if (!outbox.take_over(*this)) return false;
  }
  if (has_marks()) marks_->take_back(outbox);
  return true;
}

void OutgoingAttachment::on_released(bool sent) noexcept {
  --leases_;
  if (is_over()) on_returned(sent);
}

}  // namespace weft::detail
