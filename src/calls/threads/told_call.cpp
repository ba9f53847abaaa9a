// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/threads/told_call.hpp"

namespace weft::detail {

// The Told may release its part of the record while this thread is still inside send(), which uses the
// record, and the mailbox that the record keeps.
void ToldCall::send_for(Told& who) noexcept {
  right_.give_to(who);
  hold();
  send();
  release();
}

bool ToldCall::give_up(CancelReason reason) noexcept {
  const bool is_over = !borrows() && right_.claim();
  cancel(reason);
  return is_over;
}

bool ToldCall::is_waited_for_in_vain() const noexcept {
  const Mailbox* mailbox = door().mailbox().get();
  return mailbox != nullptr && (mailbox->in_child() || mailbox->use().is_run_here());
}

}  // namespace weft::detail
