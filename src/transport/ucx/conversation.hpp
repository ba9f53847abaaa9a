// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include "transport/message_protocol.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::ucx_carrier {

/// The state that the parts of a carrier share: the credit for messages, and the failure. Events inside of
/// UCX are only recorded here; `told` runs in the loop soon after, and reports them.
class Conversation {
 public:
  /// `told` belongs to the carrier, and outlives this.
  Conversation(Loop& loop, Ready& told);

  MessageProtocol& protocol() noexcept { return protocol_; }
  const MessageProtocol& protocol() const noexcept { return protocol_; }
  Loop& loop() const noexcept { return loop_; }

  /// Schedules the report of events.
  void touch() noexcept {
    if (!over_ && !told_.is_scheduled()) loop_.schedule(told_);
  }
  /// Ends the conversation: nothing is reported afterwards.
  void end() noexcept;
  bool is_over() const noexcept { return over_; }

  void fail(ucs_status_t status) noexcept;
  void misbehaved(const char* what) noexcept;
  /// UCX has failed. The peer may have misbehaved beside that.
  bool has_failed() const noexcept { return failed_ != UCS_OK; }
  bool is_lost() const noexcept { return has_failed() || protocol_.misbehaves(); }
  /// Returns the end of the carrier, once it is lost.
  Status failure() const;

 private:
  Loop& loop_;
  Ready& told_;
  MessageProtocol protocol_;
  ucs_status_t failed_ = UCS_OK;
  bool over_ = false;
};

}  // namespace weft::detail::ucx_carrier
