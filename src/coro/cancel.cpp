// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/coro/cancel.hpp"

namespace weft {

std::string_view to_string(CancelReason reason) {
  switch (reason) {
    case CancelReason::kNone:
      return "not cancelled";
    case CancelReason::kRequested:
      return "cancelled on request";
    case CancelReason::kDeadline:
      return "the deadline passed";
    case CancelReason::kScopeClosed:
      return "its scope was closed";
    case CancelReason::kPeerCancelled:
      return "the peer cancelled it";
    case CancelReason::kPeerGone:
      return "the peer is gone";
    case CancelReason::kStopping:
      return "stopping";
  }
  return "unknown reason";
}

Status to_status(CancelReason reason) {
  WEFT_ASSERT(reason != CancelReason::kNone, "what is not cancelled has no status");
  const StatusCode code =
      reason == CancelReason::kDeadline ? StatusCode::kDeadlineExceeded : StatusCode::kCancelled;
  return Status{code, Layer::kRuntime, to_string(reason)};
}

CancelScope::CancelScope(CancelScope* parent) : parent_(parent) {
  if (parent_ == nullptr) return;
  reason_ = parent_->reason_;
  carried_ = parent_->carried_;
  parent_->children_.push_back(*this);
}

CancelScope::~CancelScope() {
  WEFT_ASSERT(children_.empty(), "a CancelScope outlives its children");
}

void CancelScope::cancel(CancelReason reason) noexcept {
  WEFT_ASSERT(reason != CancelReason::kNone, "a cancel has a reason");
  if (cancelled()) return;
  reason_ = reason;
  while (!listeners_.empty()) listeners_.pop_front().on_cancel(reason);
  // A listener may destroy child scopes. The one in hand is back in children_ before anything is called, and
  // those still to do leave the local list by themselves.
  detail::IntrusiveList<CancelScope, detail::CancelChildTag> pending;
  pending.splice_back(children_);
  while (!pending.empty()) {
    CancelScope& child = pending.pop_front();
    children_.push_back(child);
    child.cancel(reason);
  }
}

}  // namespace weft
