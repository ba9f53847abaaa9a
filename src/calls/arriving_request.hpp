// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "calls/admission.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/memory/arriving_buffer.hpp"
#include "weft/detail/memory/local_budget.hpp"

namespace weft::detail {

/// Memory of the request that is arriving on a connection: a body that is larger than a chunk, and an
/// attachment. Each is charged as far as it has arrived, and what the peer announced is only checked. When
/// there is no room for more, the rest is skipped and the request is refused once its end is there.
/// Thread: the connection's loop.
class ArrivingRequest {
 public:
  /// Both outlive it.
  ArrivingRequest(const Admission& admission, LocalBudget& process)
      : admission_(admission), process_(process) {}
  ArrivingRequest(const ArrivingRequest&) = delete;
  ArrivingRequest& operator=(const ArrivingRequest&) = delete;
  ~ArrivingRequest() { drop(); }

  /// Charges `bytes` of the body of the request with this id, all that has arrived of it. False when there is
  /// no room for them: nothing of it is charged any more, and the body is skipped.
  bool charge_body(std::uint64_t id, std::size_t bytes);
  /// A body is charged. Once it is whole, release_body() follows: whoever keeps it is charged for it.
  bool has_body() const { return body_charged_ != 0; }
  std::size_t body_charged() const { return body_charged_; }
  void release_body();

  /// Says why the request with this id is refused.
  void refuse(std::uint64_t id, Refusal why) {
    refusal_ = std::move(why);
    id_ = id;
  }
  /// True for the request that is refused; those that were put off may be taken before its end is there.
  bool refused(std::uint64_t id) const { return refusal_.has_value() && id_ == id; }
  /// Gives the reason, and forgets it.
  Refusal take_refusal();

  /// The attachment of the request with this id goes into `memory`, which counts in no budget yet.
  MutableBytes begin_attachment(std::uint64_t id, Buffer memory);
  /// `left` bytes of the attachment are to come. False when there is no room for those that came: it is
  /// given back, and the rest is skipped.
  bool charge_attachment(std::uint64_t left);
  /// Gives the attachment, all of which landed, charged until its end. Empty when it is refused. Errors:
  /// kResourceExhausted when memory is out.
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
