// SPDX-License-Identifier: Apache-2.0
#include "transport/simulated/direction.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/detail/base/saturated.hpp"

namespace weft::detail::simulated {

Direction::Direction(Network& network, Host& from, Host& to, std::uint64_t number)
    : network_(network),
      from_(from),
      to_(to),
      number_(number),
      capacity_(std::max<std::size_t>(network.options().pipe_bytes, 1)) {}

std::size_t Direction::send(std::span<const iovec> from) {
  std::size_t offered = 0;
  for (const iovec& piece : from) offered += piece.iov_len;
  const std::size_t part = std::min<std::size_t>(offered, capacity_ - (reached_.sent - reached_.window));
  sender_waits_ = part < offered;
  if (part > 0) enqueue(Segment::of(from, part));
  return part;
}

void Direction::end() {
  if (std::exchange(ended_, true)) return;
  enqueue(Segment::of(Segment::Kind::kEnd));
}

void Direction::enqueue(std::unique_ptr<Segment> segment) {
  if (!outstanding()) progress_at_ = network_.now();
  reached_.sent += segment->positions();
  ++network_.counters().segments;
  network_.counters().bytes += segment->size;
  network_.note(Trace::Event::kSent, number_ + (segment->positions() << 32));
  // What a stopped program sends leaves when it goes on.
  if (from_.state == Host::State::kStopped) return stuck_.push_back(std::move(segment));
  if (stuck_.empty() && network_.passes(from_, to_)) return leave(std::move(segment));
  stuck_.push_back(std::move(segment));
  retry_later();
}

void Direction::leave(std::unique_ptr<Segment> segment) {
  segment->arrives = last_arrival_ = std::max(last_arrival_, network_.transmit(from_, to_, segment->size));
  flying_.push_back(std::move(segment));
}

void Direction::reset() {
  vanish();
  network_.note(Trace::Event::kReset, number_);
  if (!network_.passes(from_, to_)) return;
  auto segment = Segment::of(Segment::Kind::kReset);
  segment->arrives = last_arrival_ =
      std::max(last_arrival_, saturated_sum(network_.now(), network_.travel_time(from_, to_)));
  flying_.push_back(std::move(segment));
}

void Direction::vanish() {
  stuck_.clear();
  retry_.at = kNever;
  vanished_ = true;
}

std::size_t Direction::receive(std::span<const iovec> into) {
  std::size_t total = 0;
  for (const iovec& place : into) {
    auto* const begin = static_cast<std::byte*>(place.iov_base);
    std::size_t filled = 0;
    while (filled < place.iov_len && at(Segment::Kind::kBytes)) {
      Segment& segment = arrived_.front();
      const Bytes left = segment.left();
      const std::size_t part = std::min(left.size(), place.iov_len - filled);
      std::memcpy(begin + filled, left.data(), part);
      filled += part;
      segment.taken += static_cast<std::uint32_t>(part);
      if (part == left.size()) arrived_.pop_front();
    }
    total += filled;
    if (filled < place.iov_len) break;
  }
  reached_.consumed += total;
  return total;
}

bool Direction::drop_arrived() {
  bool bytes = false;
  while (!arrived_.empty()) bytes |= arrived_.pop_front()->kind == Segment::Kind::kBytes;
  reached_.consumed = reached_.delivered;
  return bytes;
}

TimePoint Direction::next() const {
  TimePoint earliest = retry_.at;
  if (!flying_.empty()) earliest = std::min(earliest, flying_.front().arrives);
  if (outstanding())
    earliest = std::min(earliest, saturated_sum(progress_at_, network_.options().give_up_after));
  return earliest;
}

Direction::Happened Direction::run() {
  Happened happened;
  const TimePoint now = network_.now();
  while (!flying_.empty() && flying_.front().arrives <= now) {
    if (!network_.passes(from_, to_)) {
      network_.note(Trace::Event::kLost, number_);
      if (vanished_) {
        flying_.clear();
      } else {
        stuck_.splice_front(flying_);
        retry_later();
      }
      break;
    }
    auto segment = flying_.pop_front();
    arrived_by_ = segment->arrives;
    // A reset is never acknowledged, because its receiver is gone.
    if (segment->kind == Segment::Kind::kReset) {
      reset_ = true;
    } else {
      reached_.delivered += segment->positions();
    }
    network_.note(Trace::Event::kArrived, number_ + (segment->positions() << 32));
    arrived_.push_back(std::move(segment));
    happened.arrived = true;
  }
  if (vanished_) return happened;
  if (outstanding() && now - progress_at_ >= network_.options().give_up_after) {
    network_.note(Trace::Event::kGivenUp, number_);
    vanish();
    flying_.clear();
    happened.given_up = true;
    return happened;
  }
  if (retry_.at <= now) {
    happened.room = try_again();
  } else {
    happened.room = acknowledge();
  }
  return happened;
}

bool Direction::acknowledge() {
  if (vanished_ || (reached_.acknowledged == reached_.delivered && reached_.window == reached_.consumed))
    return false;
  if (!network_.passes(to_, from_)) {
    retry_later();
    return false;
  }
  if (reached_.acknowledged != reached_.delivered) progress_at_ = network_.now();
  reached_.acknowledged = reached_.delivered;
  if (reached_.window == reached_.consumed) return false;
  reached_.window = reached_.consumed;
  return std::exchange(sender_waits_, false);
}

bool Direction::try_again() {
  const bool timed = std::exchange(retry_.at, kNever) <= network_.now();
  if (!unfinished()) return false;
  bool room = false;
  if (network_.passes(from_, to_) && from_.state != Host::State::kStopped) {
    if (timed && !stuck_.empty()) ++network_.counters().retransmissions;
    while (!stuck_.empty()) leave(stuck_.pop_front());
    room = acknowledge();
  }
  if (!unfinished()) return room;
  retry_.wait = timed ? std::min(2 * retry_.wait, network_.options().retransmit_max)
                      : network_.retransmit_wait(from_, to_);
  retry_.at = saturated_sum(network_.now(), retry_.wait);
  return room;
}

// The wait begins anew with each loss that follows a success.
void Direction::retry_later() {
  if (retry_.at != kNever) return;
  retry_.wait = network_.retransmit_wait(from_, to_);
  retry_.at = saturated_sum(network_.now(), retry_.wait);
}

}  // namespace weft::detail::simulated
