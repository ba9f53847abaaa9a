// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/look_up.hpp"

#include <new>

namespace weft::detail::tcp {

bool LookUp::begin(CancelScope* scope) {
  if (scope != nullptr && scope->cancelled()) {
    found_ = to_status(scope->reason());
    return false;
  }
  auto search = resolver_.search(host_, port_, waiter_);
  if (!search.ok()) {
    found_ = std::move(search).status();
    return false;
  }
  search_ = *std::move(search);
  if (!deadline_.is_infinite()) loop_.arm(*this, deadline_.at());
  if (scope != nullptr) scope->add(*this);
  return true;
}

void LookUp::on_found(const Addresses& found) noexcept {
  try {
    end(found);
  } catch (const std::bad_alloc&) {  // for a copy of its own
    end(Status::of<kNoMemoryForAddresses>());
  }
}

void LookUp::on_timer() {
  end(Status{StatusCode::kDeadlineExceeded, Layer::kTransport,
             [this] { return "look up \"" + host_ + "\": the system's resolver has not answered in time"; }});
}

void LookUp::end(Addresses found) noexcept {
  if (resumption_.is_scheduled()) return;
  found_ = std::move(found);
  leave();
  loop_.schedule(resumption_);
}

void LookUp::leave() noexcept {
  loop_.disarm(*this);
  stop_listening();
  if (const std::shared_ptr<Search> search = std::move(search_)) search->leave(waiter_);
}

}  // namespace weft::detail::tcp
