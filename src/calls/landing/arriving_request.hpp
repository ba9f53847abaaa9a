// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "calls/terms/admission.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/memory/arriving_buffer.hpp"
#include "weft/detail/memory/local_budget.hpp"

namespace weft::detail {

/// Memory of the request that is arriving on a connection: a body larger than a chunk, and an attachment.
/// Only arrived bytes are charged; the announced size is only checked against the limits. When there is no
/// room for more, the rest is skipped, and the request is refused after its end has arrived. Thread: the
/// connection's loop.
class ArrivingRequest {
 public:
  /// Both outlive it.
  ArrivingRequest(const Admission& admission, LocalBudget& process)
      : admission_(admission), process_(process) {}
  ArrivingRequest(const ArrivingRequest&) = delete;
  ArrivingRequest& operator=(const ArrivingRequest&) = delete;
  ~ArrivingRequest() { drop(); }

  /// Charges `bytes`, the arrived part of the body of the request with this id. Returns false when there is
  /// no room: then nothing of it is charged any more, and the body is skipped.
  bool charge_body(std::uint64_t id, std::size_t bytes);
  /// A body is charged. Call release_body() when it has arrived completely: the holder of the body charges it
  /// from then on.
  bool has_body() const { return body_charged_ != 0; }
  std::size_t body_charged() const { return body_charged_; }
  void release_body();

  /// Says why the request with this id is refused.
  void refuse(std::uint64_t id, Refusal why) {
    refusal_ = std::move(why);
    id_ = id;
  }
  /// Returns true for the refused request; deferred requests may be taken before its end has arrived.
  bool refused(std::uint64_t id) const { return refusal_.has_value() && id_ == id; }
  /// Gives the reason, and forgets it.
  Refusal take_refusal();

  /// The attachment of the request with this id goes into `memory`, which counts in no budget yet.
  MutableBytes begin_attachment(std::uint64_t id, Buffer memory);
  /// `left` bytes of the attachment have not arrived yet. Returns false when there is no room for the arrived
  /// bytes: their memory is released, and the rest is skipped.
  bool charge_attachment(std::uint64_t left);
  /// Returns the attachment after all of it landed, charged until it is destroyed. Empty when it was refused.
  /// Errors: kResourceExhausted when memory is exhausted.
  Result<Buffer> take_attachment();
  /// Nothing is arriving any more.
  void drop();

 private:
  const Admission& admission_;
  LocalBudget& process_;
  std::size_t body_charged_ = 0;
  ArrivingBuffer attachment_;
  std::optional<Refusal> refusal_;
  /// The id of the request that is arriving, or is refused.
  std::uint64_t id_ = 0;
};

}  // namespace weft::detail
