// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/peers/call_peer.hpp"

#include <utility>

#include "calls/sending/session_link.hpp"
#include "calls/terms/wrong_thread.hpp"
#include "weft/detail/calls/peers/peer_target.hpp"

namespace weft::detail {

CallPeer::CallPeer(std::shared_ptr<PeerTarget> target) noexcept : peer_(std::move(target)) {
  set_target(*peer_);
}

CallPeer::CallPeer(const CallPeer& other) noexcept : Caller(), peer_(other.peer_) {
  set_target(*peer_);
}

CallPeer& CallPeer::operator=(const CallPeer& other) noexcept {
  if (this == &other) return *this;
  peer_ = other.peer_;
  set_target(*peer_);
  return *this;
}

CallPeer::~CallPeer() = default;

bool CallPeer::connected() const noexcept {
  return !peer_->is_over();
}

std::uint64_t CallPeer::connection_id() const noexcept {
  return peer_->connection_id();
}

const std::string& CallPeer::remote_endpoint() const noexcept {
  return peer_->remote_endpoint();
}

const std::string& CallPeer::tag() const noexcept {
  return peer_->tag();
}

void CallPeer::set_tag(std::string_view tag) {
  if (peer_->is_over()) return;
  check_thread(peer_->loop());
  peer_->set_tag(tag);
}

void CallPeer::close(std::string_view reason) {
  if (peer_->is_over()) return;
  check_thread(peer_->loop());
  if (SessionLink* const link = peer_->link()) {
    link->close_with_goaway({StatusCode::kCancelled, Layer::kRpc, reason});
  }
}

}  // namespace weft::detail
