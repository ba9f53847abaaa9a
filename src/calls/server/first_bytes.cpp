// SPDX-License-Identifier: Apache-2.0
#include "calls/server/first_bytes.hpp"

#include <algorithm>
#include <string_view>

#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

namespace {

constexpr std::string_view kWeftName = "weft";
constexpr FixedFailure kSilent{StatusCode::kUnavailable, Layer::kRpc, Retry::kReconnect,
                               "the peer sent nothing in time"};
constexpr FixedFailure kLeft{StatusCode::kUnavailable, Layer::kTransport, Retry::kReconnect,
                             "the peer left before it sent anything"};

}  // namespace

FirstBytes::FirstBytes(Loop& loop, FirstBytesOwner& owner,
                       std::span<const std::shared_ptr<const Protocol>> protocols,
                       std::unique_ptr<BaseCarrier> carrier, ConnectionOptions options, Duration timeout)
    : Ready([](Ready* node) noexcept { static_cast<FirstBytes*>(node)->run(); }),
      loop_(loop),
      owner_(owner),
      protocols_(protocols),
      carrier_(std::move(carrier)),
      options_(std::move(options)) {
  carrier_->report_to(*this);
  loop.arm(*this, Deadline::after(loop.now(), timeout).at());
  loop.schedule(*this);
}

void FirstBytes::abandon() noexcept {
  told();
  if (carrier_ != nullptr) carrier_->shut();
}

void FirstBytes::told() noexcept {
  state_ = State::kTold;
  loop_.disarm(*this);
  loop_.unschedule(*this);
}

void FirstBytes::run() noexcept {
  look();
  if (state_ != State::kKnown) return;
  told();
  owner_.on_protocol(*this, protocol_);
}

// A carrier of TLS reports here when its protocol is known, while it can still send before the peer's first
// bytes: a connection of Weft's sends its hello then.
void FirstBytes::on_writable() {
  if (state_ == State::kWaiting) decide_by_name();
}

void FirstBytes::look() {
  if (state_ != State::kWaiting) return;
  while (count_ < bytes_.size()) {
    const iovec room{bytes_.data() + count_, bytes_.size() - count_};
    const Moved moved = carrier_->receive({&room, 1}, {});
    if (decide_by_name()) return;
    if (moved.kind == Moved::Kind::kEnded) return leave(Status::of<kLeft>());
    if (moved.kind == Moved::Kind::kFailed) {
      return leave(connection_lost("receive from ", "a peer", moved.error));
    }
    if (moved.kind != Moved::Kind::kSome) return;
    count_ += moved.bytes;
    if (decide_by_bytes()) return;
  }
  decide(nullptr);
}

bool FirstBytes::decide_by_name() {
  const std::string_view name = carrier_->agreed_protocol();
  if (name.empty()) return false;
  if (name == kWeftName) {
    decide(nullptr);
    return true;
  }
  for (const auto& protocol : protocols_) {
    if (protocol->name() != name) continue;
    decide(protocol.get());
    return true;
  }
  return false;
}

bool FirstBytes::decide_by_bytes() {
  bool may_be_another = false;
  for (const auto& protocol : protocols_) {
    const Recognized recognized = protocol->recognizes(received());
    if (recognized == Recognized::kYes) {
      decide(protocol.get());
      return true;
    }
    may_be_another = may_be_another || recognized == Recognized::kMore;
  }
  if (may_be_another) return false;
  decide(nullptr);
  return true;
}

void FirstBytes::decide(const Protocol* protocol) {
  state_ = State::kKnown;
  protocol_ = protocol;
  loop_.disarm(*this);
  if (!is_scheduled()) loop_.schedule(*this);
}

void FirstBytes::leave(const Status& why) {
  if (state_ == State::kTold) return;
  told();
  owner_.on_no_protocol(*this, why);
}

// After a time in which the loop was away, the peer's bytes may be here already.
void FirstBytes::on_timer() {
  look();
  if (state_ == State::kWaiting) leave(Status::of<kSilent>());
}

}  // namespace weft::detail
