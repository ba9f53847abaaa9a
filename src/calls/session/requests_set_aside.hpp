// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "calls/terms/id_table.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/terms/chunk_keeping.hpp"
#include "weft/detail/calls/terms/id_table_node.hpp"
#include "weft/detail/calls/terms/kept_body.hpp"
#include "weft/detail/calls/terms/pace.hpp"
#include "weft/detail/memory/local_budget.hpp"
#include "weft/detail/transport/frame_sink.hpp"

namespace weft::detail {

struct RequestSetAsideTag;

/// A deferred request: its frame, with a copy of the body.
class RequestSetAside final : public IdTableNode<RequestSetAside>, public ListHook<RequestSetAsideTag> {
 public:
  /// `kept` has the frame's body.
  RequestSetAside(const Frame& frame, KeptBody kept, TimePoint since) noexcept;

  std::uint64_t id() const noexcept { return frame_.header.id; }
  const Frame& frame() const noexcept { return frame_; }
  TimePoint since() const noexcept { return since_; }
  /// Rate that its caller wants for the attachment of the answer; zero: none.
  std::uint64_t answer_rate() const noexcept { return answer_rate_; }
  void want_answer_rate(std::uint64_t bytes_per_second) noexcept {
    answer_rate_ = least_rate(answer_rate_, bytes_per_second);
  }

 private:
  KeptBody kept_;
  Frame frame_;
  const TimePoint since_;
  std::uint64_t answer_rate_ = 0;
};

/// Requests of one connection that may be answered with attachments, in order, deferred while too many
/// attachments of answers are queued to create further ones (OutgoingTransfers). Each is charged in the
/// memory of the process. The connection goes on receiving, so that other requests are served, and
/// cancellations from the peer arrive. Thread: the connection's loop.
class RequestsSetAside {
 public:
  /// Maximum number of requests; all of them may be taken in one turn.
  static constexpr std::size_t kMost = 1024;
  /// Maximum size of a body, which limits all of them together to some megabytes.
  static constexpr std::size_t kBodyMax = kCopiedBodyBytes;

  /// `memory` outlives it; `table_secret` is one of IdTable.
  RequestsSetAside(LocalBudget& memory, std::uint64_t table_secret) : memory_(memory), table_(table_secret) {}
  RequestsSetAside(const RequestsSetAside&) = delete;
  RequestsSetAside& operator=(const RequestsSetAside&) = delete;
  ~RequestsSetAside();

  bool empty() const noexcept { return table_.size() == 0; }
  /// Adds a request without an attachment, with a body of at most kBodyMax. Returns false, and changes
  /// nothing, when memory is exhausted, when the list is full, or when it has a request with the same id.
  bool add(const Frame& frame, TimePoint now) noexcept;
  /// Removes and returns the first request, and releases its charge; null when there is none.
  std::unique_ptr<RequestSetAside> take_first() noexcept;
  /// Removes and returns the request `id`, and releases its charge; null when it is not here.
  std::unique_ptr<RequestSetAside> take(std::uint64_t id) noexcept;
  /// The caller of `id` wants the answer's attachment at no more than this rate. Returns false when the
  /// request is not here.
  bool want_answer_rate(std::uint64_t id, std::uint64_t bytes_per_second) noexcept;

 private:
  LocalBudget& memory_;
  IdTable<RequestSetAside> table_;
  IntrusiveList<RequestSetAside, RequestSetAsideTag> in_order_;
};

}  // namespace weft::detail
