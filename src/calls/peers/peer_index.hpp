// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace weft::detail {

class PeerTarget;

/// Peers of one loop by the tags that the user gave them. The lock is taken when a tag is given, looked up,
/// or goes with its peer, and by no call. Thread: any for find(), the loop's for the rest.
class PeerIndex {
 public:
  PeerIndex() = default;
  PeerIndex(const PeerIndex&) = delete;
  PeerIndex& operator=(const PeerIndex&) = delete;

  /// Replaces the tag of `peer` by `tag`; empty: none. Throws std::bad_alloc, without a change.
  void move(const std::shared_ptr<PeerTarget>& peer, const std::string& tag);
  /// `peer` has a tag, and goes.
  void remove(const PeerTarget& peer) noexcept;
  /// Adds all peers with `tag` to `found`. Throws std::bad_alloc.
  void find(std::string_view tag, std::vector<std::shared_ptr<PeerTarget>>& found) const;

 private:
  using Peers = std::map<const PeerTarget*, std::shared_ptr<PeerTarget>>;

  /// `taken` is what there was, to end without the lock.
  void take_out(const PeerTarget& peer, std::shared_ptr<PeerTarget>& taken) noexcept;

  mutable std::mutex mutex_;
  std::map<std::string, Peers, std::less<>> tags_;
};

}  // namespace weft::detail
