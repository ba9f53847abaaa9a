// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/terms/kept_body.hpp"
#include "weft/detail/memory/chunk_pool.hpp"
#include "weft/detail/memory/local_budget.hpp"
#include "weft/detail/transport/frame_sink.hpp"

namespace weft::detail {

/// Requests that were received while the outbox was full, with the frames after them in their batch;
/// processed when it has drained. Only requests wait, and only while the peer owes us no answer: see
/// may_put_off() in session.cpp. Thread: the connection's loop.
class RequestsPutOff {
 public:
  /// Keeps `frames`, which are in `chunk`, one of the pool `chunks`; a large chunk is charged in `memory`,
  /// which outlives this. Null when there is no memory for them.
  static std::unique_ptr<RequestsPutOff> make(std::span<const Frame> frames, const ChunkRef& chunk,
                                              const ChunkPool& chunks, LocalBudget& memory,
                                              TimePoint now) noexcept;

  std::span<const Frame> frames() const noexcept { return frames_; }
  const ChunkRef& chunk() const noexcept { return chunk_; }
  /// Returns the time at which the requests were put off.
  TimePoint since() const noexcept { return since_; }
  /// Releases the charge: the next holder of the chunk is charged for it.
  void release_charge() noexcept { charge_.reset(); }

 private:
  RequestsPutOff(std::vector<Frame> frames, ChunkRef chunk, KeptBody charge, TimePoint since) noexcept
      : frames_(std::move(frames)),
        chunk_(std::move(chunk)),
        charge_(std::in_place, std::move(charge)),
        since_(since) {}

  std::vector<Frame> frames_;
  ChunkRef chunk_;
  std::optional<KeptBody> charge_;
  TimePoint since_;
};

}  // namespace weft::detail
