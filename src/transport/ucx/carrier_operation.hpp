// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>

#include "transport/ucx/active_message.hpp"
#include "transport/ucx/conversation.hpp"
#include "weft/detail/base/time.hpp"

namespace weft::detail::ucx_carrier {

/// An operation that UCX may have, where UCX finds it again: it does not move while it flies().
class CarrierOperation {
 public:
  /// Decides how long an operation that UCX has finished stays active().
  enum class Ends : std::uint8_t {
    kByItself,     ///< not at all
    kWhenFetched,  ///< until fetch()
  };
  CarrierOperation(Conversation& conversation, Ends ends) noexcept
      : conversation_(conversation), ends_(ends) {}
  CarrierOperation(const CarrierOperation&) = delete;
  CarrierOperation& operator=(const CarrierOperation&) = delete;

  /// UCX may call the completion from now on. Its answer to the call follows, by answered().
  void begin(std::size_t bytes) noexcept;
  /// Records UCX's answer. Returns UCS_INPROGRESS while the operation is under way or its result must be
  /// fetched; otherwise UCX does not use its memory.
  ucs_status_t answered(ucs_status_ptr_t answer) noexcept;
  /// UCX is finished with it, or touches nothing of it any more.
  void complete(ucs_status_t status) noexcept;
  /// The same, if UCX had it.
  void give_up() noexcept {
    if (flies()) complete(UCS_ERR_CANCELED);
  }
  /// Returns the result once is_done().
  ucs_status_t fetch() noexcept;

  bool active() const noexcept { return active_; }
  bool is_done() const noexcept { return done_; }
  bool flies() const noexcept { return active_ && !done_; }
  std::size_t bytes() const noexcept { return bytes_; }
  /// Returns when it began, give or take a turn of the loop.
  TimePoint began() const noexcept { return began_; }

  /// The header of the message that it sends.
  std::byte* header() noexcept { return header_; }

  // Callbacks of UCX; `operation` is the user data.
  static void on_sent(void* request, ucs_status_t status, void* operation) noexcept;
  static void on_received(void* request, ucs_status_t status, std::size_t bytes, void* operation) noexcept;

 private:
  Conversation& conversation_;
  const Ends ends_;
  bool active_ = false;
  bool done_ = false;
  ucs_status_t status_ = UCS_OK;
  std::size_t bytes_ = 0;
  TimePoint began_{};
  alignas(8) std::byte header_[kActiveMessageHeaderBytes];
};

}  // namespace weft::detail::ucx_carrier
