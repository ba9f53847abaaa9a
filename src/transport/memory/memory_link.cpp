// SPDX-License-Identifier: Apache-2.0
#include "transport/memory/memory_link.hpp"

#include <algorithm>
#include <utility>

#include "transport/memory/memory_carrier.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/post_surely.hpp"

namespace weft::detail::memory {

MemoryLink::MemoryLink(const MemoryOptions& options, Url url)
    : url_(std::move(url)), peer_may_vanish_(options.peer_may_vanish) {
  pipe_from(End::kClient).faults = options.to_server;
  pipe_from(End::kServer).faults = options.to_client;
  for (Pipe& pipe : pipes_) pipe.ring.resize(std::max<std::size_t>(options.pipe_bytes, 1));
}

void MemoryLink::attach(End end, Loop& loop, MemoryCarrier& carrier) {
  const std::lock_guard lock{mutex_};
  sides_[index(end)].loop = &loop;
  sides_[index(end)].carrier = &carrier;
}

void MemoryLink::detach(End end) {
  const std::lock_guard lock{mutex_};
  sides_[index(end)].loop = nullptr;
  sides_[index(end)].carrier = nullptr;
  if (!pipe_from(end).silent) pipe_from(end).ended = true;
  pipe_to(end).receiver_gone = true;
  notify(other(end));
}

// Lets the end's loop look at the link, once for everything that happens until it does. The lock is held.
void MemoryLink::notify(End end) {
  Side& side = sides_[index(end)];
  if (side.loop == nullptr || std::exchange(side.notified, true)) return;
  detail::post_surely(*side.loop, [link = shared_from_this(), end] {
    MemoryCarrier* carrier = nullptr;
    {
      const std::lock_guard lock{link->mutex_};
      Side& its = link->sides_[index(end)];
      its.notified = false;
      carrier = its.carrier;
    }
    if (carrier != nullptr) carrier->on_notified();
  });
}

void MemoryLink::write(Pipe& pipe, Bytes bytes) {
  while (!bytes.empty()) {
    const auto at = static_cast<std::size_t>(pipe.written % pipe.ring.size());
    const std::size_t part = std::min(bytes.size(), pipe.ring.size() - at);
    std::memcpy(pipe.ring.data() + at, bytes.data(), part);
    pipe.written += part;
    bytes = bytes.subspan(part);
  }
}

std::int64_t MemoryLink::send(End end, Bytes bytes) {
  const std::lock_guard lock{mutex_};
  Pipe& pipe = pipe_from(end);
  const MemoryFaults& faults = pipe.faults;
  if (broken_ || (pipe.receiver_gone && !pipe.silent)) return -1;
  const std::uint64_t visible_end = std::min({faults.cut_after, faults.half_close_after, faults.drop_after});
  const std::uint64_t visible = visible_end - std::min(visible_end, pipe.accepted);
  std::size_t part = bytes.size();
  if (visible > 0) {
    const std::uint64_t room = pipe.ring.size() - (pipe.written - pipe.read);
    part = static_cast<std::size_t>(std::min({std::uint64_t{part}, visible, room}));
    write(pipe, bytes.first(part));
  }
  if (part == 0) {
    pipe.sender_waits = true;
    return 0;
  }
  pipe.accepted += part;
  if (pipe.accepted >= faults.cut_after) broken_ = true;
  if (pipe.accepted >= faults.half_close_after) pipe.ended = true;
  if (pipe.accepted >= faults.drop_after) pipe.silent = true;
  notify(other(end));
  if (broken_) notify(end);
  return static_cast<std::int64_t>(part);
}

void MemoryLink::end_sending(End end) {
  const std::lock_guard lock{mutex_};
  if (!pipe_from(end).silent) pipe_from(end).ended = true;
  notify(other(end));
}

Arrived MemoryLink::arrived(End end) {
  const std::lock_guard lock{mutex_};
  const Pipe& pipe = pipe_to(end);
  return {pipe.written, pipe.ended, broken_};
}

std::size_t MemoryLink::receive(End end, MutableBytes into, std::uint64_t limit) {
  const std::lock_guard lock{mutex_};
  Pipe& pipe = pipe_to(end);
  const std::uint64_t there = std::min(limit, pipe.written) - pipe.read;
  const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(there, into.size()));
  for (into = into.first(part); !into.empty();) {
    const auto at = static_cast<std::size_t>(pipe.read % pipe.ring.size());
    const std::size_t piece = std::min(into.size(), pipe.ring.size() - at);
    std::memcpy(into.data(), pipe.ring.data() + at, piece);
    pipe.read += piece;
    into = into.subspan(piece);
  }
  if (part > 0 && std::exchange(pipe.sender_waits, false)) notify(other(end));
  return part;
}

}  // namespace weft::detail::memory
