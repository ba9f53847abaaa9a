// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/late_end.hpp"

#include <typeinfo>

#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/mailbox.hpp"

namespace weft::detail {

LateEnd::Place::Place(LateEnd& its) noexcept
    : Ready([](Ready* node) noexcept { delete &static_cast<Place*>(node)->object; }),
      ExecutorLocal(typeid(LateEnd)),
      object(its) {
  set_object(&its);
}

// In a child of fork the turn is the parent's, and nothing runs this loop any more.
void LateEnd::destroy_late(Loop& loop) noexcept {
  if ((!loop.in_turn() && guards_ == 0) || loop.mailbox()->in_child()) {
    delete this;
    return;
  }
  loop.add_local(place_);
  loop.schedule_first(place_);
}

void LateEnd::destroy_all(Loop& loop) noexcept {
  while (void* const waiting = loop.find_local(typeid(LateEnd))) delete static_cast<LateEnd*>(waiting);
}

}  // namespace weft::detail
