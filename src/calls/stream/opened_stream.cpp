// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/stream/opened_stream.hpp"

#include <utility>

#include "calls/call/calls_out.hpp"
#include "calls/stream/session_streams.hpp"
#include "weft/detail/runtime/late_end.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kHasMemory{StatusCode::kInvalidArgument, Layer::kRpc, Retry::kNever,
                                  "CallOptions: a stream is opened without attachment, landing and progress"};

}  // namespace

// Both change the state of the stream's items.
CallSentNews::CallSentNews() noexcept
    : Ready([](Ready* node) noexcept {
        static_cast<OpenedStream*>(static_cast<CallSentNews*>(node))->tell();
      }) {}
CallEndedNews::CallEndedNews() noexcept
    : Ready([](Ready* node) noexcept {
        static_cast<OpenedStream*>(static_cast<CallEndedNews*>(node))->tell();
      }) {}

// A stream has no timeout but its own.
OpenedStream::OpenedStream(CallTarget& target, const MethodKey& method, std::unique_ptr<CallDetails> details)
    : OwnedDetails{std::move(details)},
      PendingCall(target, method, OwnedDetails::details.get()),
      side_(target.loop()) {
  CallDetails& its = *OwnedDetails::details;
  if (its.options.timeout == Duration::zero()) its.options.timeout = kNoTimeout;
  its.keeps_body = false;
}

OpenedStream::~OpenedStream() {
  waits_.lose_stream(side_.loop());
}

Status OpenedStream::check_options(const CallOptions& options) noexcept {
  const bool has_memory =
      !options.attachment.empty() || !options.landing.empty() || options.progress != nullptr;
  return has_memory ? Status::of<kHasMemory>() : Status{};
}

Begun OpenedStream::open(std::size_t body_bytes) {
  if (Status misuse = check_options(request().details->options); !misuse.ok()) {
    return refuse(std::move(misuse));
  }
  set_waiter(static_cast<CallEndedNews*>(this));
  return begin(nullptr, body_bytes);
}

void OpenedStream::opened(const Begun& begun) noexcept {
  if (begun.needs_sent()) sent();
  shrink();
}

void OpenedStream::open_or_close() noexcept {
  if (done()) {
    side_.close(failure(), false);
  } else if (!side_.place().is_open()) {
    if (CallsOut* const calls = sent_on()) side_.open(calls->link().streams(), id(), false);
  }
}

const Status& OpenedStream::status() const noexcept {
  return failure().ok() ? side_.failure() : failure();
}

// What ends a call with details may destroy the stream, so the items are closed before.
void OpenedStream::on_cancel(CancelReason reason) noexcept {
  if (done() || is_reading()) return;
  const LateEnd::Guard guard;
  if (has_details()) {
    side_.close(to_status(reason), true);
    return PendingCall::on_cancel(reason);
  }
  PendingCall::on_cancel(reason);
  side_.close(failure(), true);
}

void OpenedStream::abandon(const Status& why) noexcept {
  const LateEnd::Guard guard;
  if (done() || is_reading()) return side().abandon(why);
  if (has_details()) {
    side_.close(why, true);
    return give_up(why);
  }
  give_up(why);
  side_.close(failure(), true);
}

void OpenedStream::on_sent() noexcept {
  side_.loop().schedule(static_cast<CallSentNews&>(*this));
}

void OpenedStream::shrink() noexcept {
  if (forget_details()) OwnedDetails::details.reset();
}

void OpenedStream::tell() noexcept {
  side().wake_writer();
  shrink();
  if (done() && end_waiter_ != nullptr) side_.loop().schedule(*std::exchange(end_waiter_, nullptr));
}

}  // namespace weft::detail
