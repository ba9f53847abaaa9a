// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/poller_chain.hpp"

#include <algorithm>
#include <utility>

#include "runtime/added_poller.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

PollerChain::PollerChain() noexcept = default;
PollerChain::~PollerChain() = default;

Result<void> PollerChain::add(Poller& poller, Loop& loop) {
  auto added = std::make_unique<AddedPoller>(poller);
  if (poller.descriptor() >= 0) {
    Result<void> watched = loop.watch(*added, poller.descriptor());
    if (!watched.ok()) return watched;
  }
  all_.push_back(std::move(added));
  chain();
  brought_ = 1;
  return {};
}

void PollerChain::remove(Poller& poller, Loop& loop) noexcept {
  for (auto& added : all_) {
    if (!added->is(poller)) continue;
    added->remove();
    loop.unwatch(*added);
    removed_ = true;
  }
}

void PollerChain::forget_removed() {
  std::erase_if(all_, [](const auto& added) { return added->removed(); });
  chain();
  removed_ = false;
}

// A partial read may not make the descriptors readable again, so the loop does not sleep on them.
bool PollerChain::arm(Duration& at_most) {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (brought_ != 0 || !all_[i]->arm()) return false;
    at_most = std::min(at_most, all_[i]->patience());
  }
  return true;
}

void PollerChain::chain() noexcept {
  AddedPoller** place = &first_;
  for (auto& added : all_) {
    *place = added.get();
    place = &added->next;
  }
  *place = nullptr;
}

}  // namespace weft::detail
