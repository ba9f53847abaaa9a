// SPDX-License-Identifier: Apache-2.0
#include "calls/peers/peer_index.hpp"

#include "weft/detail/calls/peers/peer_target.hpp"

namespace weft::detail {

void PeerIndex::move(const std::shared_ptr<PeerTarget>& peer, const std::string& tag) {
  std::shared_ptr<PeerTarget> old;
  const std::lock_guard lock(mutex_);
  if (!tag.empty()) {
    const auto named = tags_.try_emplace(tag).first;
    try {
      named->second.emplace(peer.get(), peer);
    } catch (...) {
      if (named->second.empty()) tags_.erase(named);
      throw;
    }
  }
  if (!peer->tag().empty()) take_out(*peer, old);
}

void PeerIndex::remove(const PeerTarget& peer) noexcept {
  std::shared_ptr<PeerTarget> gone;
  const std::lock_guard lock(mutex_);
  take_out(peer, gone);
}

void PeerIndex::take_out(const PeerTarget& peer, std::shared_ptr<PeerTarget>& taken) noexcept {
  const auto named = tags_.find(peer.tag());
  if (named == tags_.end()) return;
  const auto found = named->second.find(&peer);
  if (found == named->second.end()) return;
  taken = std::move(found->second);
  named->second.erase(found);
  if (named->second.empty()) tags_.erase(named);
}

void PeerIndex::find(std::string_view tag, std::vector<std::shared_ptr<PeerTarget>>& found) const {
  const std::lock_guard lock(mutex_);
  const auto named = tags_.find(tag);
  if (named == tags_.end()) return;
  for (const auto& [address, peer] : named->second) found.push_back(peer);
}

}  // namespace weft::detail
