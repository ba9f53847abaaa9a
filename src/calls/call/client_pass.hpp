// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/call/call_details.hpp"
#include "weft/detail/calls/call/call_request.hpp"
#include "weft/detail/calls/gate/client_gate.hpp"
#include "weft/detail/calls/terms/call_objects.hpp"
#include "weft/detail/coro/frame_pool.hpp"

namespace weft::detail {

/// The passage of one call through a ClientGate: the interceptors that it has passed and that are notified of
/// its end, and the data that they have attached. Belongs to the details of its call, and owns these for a
/// call that was begun without. Deletes itself at the end of the call. Thread: the loop of its target.
class ClientPass {
 public:
  /// Takes the call behind `request`, with its deadline set, through `gate`, and creates details for a call
  /// without. A failure refuses the call, and ends the pass. `carried` is the metadata of a call that was
  /// given none.
  static Status begin(const ClientGate& gate, Loop& loop, CallRequest& request, MetadataView carried,
                      std::size_t body_bytes) noexcept;
  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* block, std::size_t size) noexcept { release_frame(block, size); }

  void answered(std::size_t body_bytes) noexcept { answer_bytes_ = body_bytes; }
  /// The call ended with `outcome` and `metadata` of its answer: notifies the interceptors. Destroys this,
  /// and the details that it created for the call.
  void end(const Status& outcome, const AnswerMetadata& metadata) noexcept;

 private:
  ClientPass(const ClientGate& gate, Loop& loop, const CallRequest& request, std::size_t body_bytes);
  Status ask(CallRequest& request, MetadataView carried);

  const ClientGate& gate_;
  Loop& loop_;
  std::string_view method_;
  CallObjects objects_;
  Metadata metadata_;
  TimePoint began_;
  std::uint64_t request_bytes_;
  std::uint64_t answer_bytes_ = 0;
  std::size_t asked_ = 0;
  CallDetails own_{CallOptions{}, false};
};

}  // namespace weft::detail
