// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/call_details.hpp"
#include "weft/detail/calls/call_objects.hpp"
#include "weft/detail/calls/call_request.hpp"
#include "weft/detail/calls/client_gate.hpp"
#include "weft/detail/coro/frame_pool.hpp"

namespace weft::detail {

/// One call's way through a ClientGate: which interceptors it has passed, which are told of its end, and what
/// they have added. Belongs to the details of its call, of which it has some for a call without. Deletes
/// itself at the end of the call. Thread: the loop of its target.
class ClientPass {
 public:
  /// Takes the call behind `request`, whose deadline is set, through `gate`, and gives it details if it has
  /// none. With a failure the call is to be refused, which ends the pass. `carried` is metadata that the call
  /// has if it is given none.
  static Status begin(const ClientGate& gate, Loop& loop, CallRequest& request, MetadataView carried,
                      std::size_t body_bytes) noexcept;
  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* block, std::size_t size) noexcept { release_frame(block, size); }

  void answered(std::size_t body_bytes) noexcept { answer_bytes_ = body_bytes; }
  /// The call ended with `outcome`: tells the interceptors. It is gone afterwards, and the details that it
  /// had for the call.
  void end(const Status& outcome) noexcept;

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
