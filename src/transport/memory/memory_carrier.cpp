// SPDX-License-Identifier: Apache-2.0
#include "transport/memory/memory_carrier.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "weft/detail/base/saturated.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::memory {

namespace {

constexpr Capabilities kMemory{.name = "memory",
                               .lease_bytes_min = 16 * 1024,
                               .peer_may_vanish = false,
                               .gathers = true,
                               .lends_runs = true};
constexpr Capabilities kNetwork{.name = "memory",
                                .lease_bytes_min = 16 * 1024,
                                .peer_may_vanish = true,
                                .gathers = true,
                                .lends_runs = true};

}  // namespace

MemoryCarrier::MemoryCarrier(Loop& loop, std::shared_ptr<MemoryLink> link, End end)
    : loop_(loop), link_(std::move(link)), end_(end), faults_(link_->faults_to(end)) {
  link_->attach(end_, loop, *this);
  look();
}

MemoryCarrier::~MemoryCarrier() {
  shut();
}

const Capabilities& MemoryCarrier::capabilities() const {
  return link_->peer_may_vanish() ? kNetwork : kMemory;
}

void MemoryCarrier::shut() {
  if (!std::exchange(detached_, true)) link_->detach(end_);
  loop_.disarm(delay_timer_);
}

// Records data in flight, and its time of arrival.
void MemoryCarrier::look() {
  if (faults_.delay <= Duration::zero()) return;
  const Arrived now = link_->arrived(end_);
  if (now == (delayed_.empty() ? visible_ : delayed_.back().arrived)) return;
  delayed_.push_back({saturated_sum(loop_.now(), faults_.delay), now});
  if (!delay_timer_.armed()) loop_.arm(delay_timer_, delayed_.front().at);
}

void MemoryCarrier::on_notified() {
  look();
  owner().on_readable();
  if (!detached_) owner().on_writable();
}

void MemoryCarrier::on_delayed() {
  while (!delayed_.empty() && delayed_.front().at <= loop_.now()) {
    visible_ = delayed_.front().arrived;
    delayed_.pop_front();
  }
  if (!delayed_.empty()) loop_.arm(delay_timer_, delayed_.front().at);
  owner().on_readable();
}

Arrived MemoryCarrier::known() const {
  return faults_.delay > Duration::zero() ? visible_ : link_->arrived(end_);
}

Moved MemoryCarrier::receive(std::span<const iovec> into, std::span<const iovec>) {
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

Moved MemoryCarrier::send(std::span<const iovec> from, std::size_t) {
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

}  // namespace weft::detail::memory
