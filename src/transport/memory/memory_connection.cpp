// SPDX-License-Identifier: Apache-2.0
#include "transport/memory/memory_connection.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace weft::memory {

namespace {

constexpr Capabilities kMemory{.name = "memory", .lease_bytes_min = 16 * 1024, .peer_may_vanish = false};
constexpr Capabilities kNetwork{.name = "memory", .lease_bytes_min = 16 * 1024, .peer_may_vanish = true};

}  // namespace

MemoryConnection::MemoryConnection(Loop& loop, std::shared_ptr<MemoryLink> link, End end,
                                   const ConnectionOptions& options)
    : StreamConnection(loop, options, link->peer_may_vanish() ? kNetwork : kMemory),
      link_(std::move(link)),
      end_(end),
      faults_(link_->faults_to(end)) {
  link_->attach(end_, loop, *this);
  look();
}

MemoryConnection::~MemoryConnection() {
  shut();
}

void MemoryConnection::shut() {
  if (!std::exchange(detached_, true)) link_->detach(end_);
  loop().disarm(delay_timer_);
}

// Notes what is on its way, and when it arrives.
void MemoryConnection::look() {
  if (faults_.delay <= Duration::zero()) return;
  const Arrived now = link_->arrived(end_);
  if (now == (delayed_.empty() ? visible_ : delayed_.back().arrived)) return;
  delayed_.push_back({loop().now() + faults_.delay, now});
  if (!delay_timer_.armed()) loop().arm(delay_timer_, delayed_.front().at);
}

void MemoryConnection::on_notified() {
  look();
  readable();
  if (!detached_) writable();
}

void MemoryConnection::on_delayed() {
  while (!delayed_.empty() && delayed_.front().at <= loop().now()) {
    visible_ = delayed_.front().arrived;
    delayed_.pop_front();
  }
  if (!delayed_.empty()) loop().arm(delay_timer_, delayed_.front().at);
  readable();
}

Arrived MemoryConnection::known() const {
  return faults_.delay > Duration::zero() ? visible_ : link_->arrived(end_);
}

Moved MemoryConnection::receive(std::span<const iovec> into) {
  const Arrived there = known();
  std::uint64_t limit = there.bytes;
  if (faults_.receive_bytes_max > 0) limit = std::min(limit, received_ + faults_.receive_bytes_max);
  std::size_t total = 0;
  for (const iovec& place : into) {
    total += link_->receive(end_, {static_cast<std::byte*>(place.iov_base), place.iov_len}, limit);
  }
  received_ += total;
  if (total > 0) return Moved::some(total, false);
  if (there.broken) return Moved::failed(ECONNRESET);
  return there.ended ? Moved::ended() : Moved::blocked();
}

Moved MemoryConnection::send(std::span<const iovec> from) {
  std::size_t total = 0;
  for (const iovec& piece : from) {
    const std::int64_t sent =
        link_->send(end_, {static_cast<const std::byte*>(piece.iov_base), piece.iov_len});
    if (sent < 0 && total == 0) return Moved::failed(EPIPE);
    if (sent > 0) total += static_cast<std::size_t>(sent);
    if (sent < static_cast<std::int64_t>(piece.iov_len)) break;
  }
  return total > 0 ? Moved::some(total, false) : Moved::blocked();
}

}  // namespace weft::memory
