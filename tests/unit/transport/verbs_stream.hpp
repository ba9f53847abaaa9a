// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "support/pattern.hpp"
#include "unit/transport/verbs_pair.hpp"

namespace weft::verbs_carrier_testing {

inline std::span<std::byte> all_of(std::vector<std::byte>& bytes) {
  return {bytes.data(), bytes.size()};
}

/// Plays the connection for one end of a carrier, in the direction that this side sends: its queue, and where
/// things land at the other end.
class Stream {
 public:
  enum class Landing : std::uint8_t {
    kNone,
    kPlain,
    kRegistered,
    kRuns,            ///< blocks with gaps between them, of one registration
    kRunsOfTwo,       ///< the same, of two
    kFirstRunsKnown,  ///< the same, of which only the first half is registered
  };
  /// Bytes of a block, and of the gap behind it: not a divisor of anything.
  static constexpr std::size_t kRun = 3001;
  /// The same where a list is sent.
  static constexpr std::size_t kRunSent = 2600;

  Stream(World& world, End& from, End& to) : world_(world), from_(from), to_(to) {}

  /// Bytes that are the carrier's own business.
  void say(std::vector<std::byte> bytes) { add({std::move(bytes), false, Landing::kNone, false}); }
  void attach(std::vector<std::byte> bytes, bool registered, Landing landing) {
    add({std::move(bytes), true, landing, registered});
  }
  /// The same, out of blocks with gaps between them.
  void attach_blocks(std::vector<std::byte> bytes, bool registered, Landing landing) {
    add({std::move(bytes), true, landing, registered, true});
  }
  void send() {
    for (;;) {
      std::vector<iovec> pieces;
      for (std::size_t i = sent_items_; i < items_.size() && pieces.size() < kWindow; ++i) {
        Item& item = *items_[i];
        std::size_t at = i == sent_items_ ? sent_bytes_ : 0;
        for (; at < item.expected.size() && pieces.size() < kWindow; at += pieces.back().iov_len) {
          const std::size_t rest = item.expected.size() - at;
          pieces.push_back({&item.bytes[item.sent_in_runs ? place_of(at, kRunSent) : at],
                            item.sent_in_runs ? std::min(rest, kRunSent - at % kRunSent) : rest});
        }
      }
      if (pieces.empty()) return;
      const Moved moved =
          from_.carrier->send(pieces, items_[sent_items_]->leased ? pieces.front().iov_len : 0);
      if (moved.kind != Moved::Kind::kSome) return;
      left(moved.bytes);
    }
  }
  void left(std::size_t bytes) {
    sent_bytes_ += bytes;
    while (sent_items_ < items_.size() && sent_bytes_ >= items_[sent_items_]->expected.size()) {
      sent_bytes_ -= items_[sent_items_]->expected.size();
      // Who sent it may do with it what he likes now.
      std::ranges::fill(items_[sent_items_]->bytes, std::byte{0xDD});
      items_[sent_items_++]->lease = {};
    }
  }
  /// One look at what has come. False: there was nothing.
  bool receive() {
    if (received_items_ == items_.size()) return false;
    Item& item = *items_[received_items_];
    std::vector<iovec> places;
    std::size_t listed = 0;
    if (pending_.empty() && item.leased && item.landing != Landing::kNone) listed = list(item, places);
    const std::size_t landing = places.size();
    std::array<std::byte, 8 * 1024> room;
    if (item.arrived + listed == item.expected.size() || listed == 0) {
      places.push_back({room.data(), room.size()});
    }
    const Moved moved = to_.carrier->receive(places, std::span{places}.first(landing));
    if (moved.kind != Moved::Kind::kSome) return false;
    const std::size_t direct = std::min(moved.bytes, listed);
    item.arrived += direct;
    pending_.insert(pending_.end(), room.begin(),
                    room.begin() + static_cast<std::ptrdiff_t>(moved.bytes - direct));
    sort_in();
    return true;
  }
  void check_arrived() const {
    EXPECT_EQ(sent_items_, items_.size());
    EXPECT_EQ(received_items_, items_.size());
    EXPECT_TRUE(pending_.empty());
  }
  bool sent_nothing() const { return sent_items_ == 0 && sent_bytes_ == 0; }

 private:
  /// Number of pieces that a connection shows its carrier.
  static constexpr std::size_t kWindow = 64;
  static std::size_t place_of(std::size_t position, std::size_t run = kRun) {
    return position + position / run * run;
  }

  struct Item {
    std::vector<std::byte> bytes;
    bool leased = false;
    Landing landing = Landing::kNone;
    bool registered = false;
    bool sent_in_runs = false;
    std::vector<std::byte> expected{};
    std::vector<std::byte> landed{};
    std::size_t arrived = 0;
    MemoryLease lease{};
    std::vector<MemoryLease> landing_leases{};

    bool lands_in_runs() const { return landing >= Landing::kRuns; }
    std::byte* at(std::size_t position) {
      return landed.data() + (lands_in_runs() ? place_of(position) : position);
    }
    /// Bytes of the run that `position` lands in, from there on.
    std::size_t run_at(std::size_t position) const {
      const std::size_t rest = expected.size() - position;
      return lands_in_runs() ? std::min(rest, kRun - position % kRun) : rest;
    }
  };

  void add(Item item) {
    auto kept = std::make_unique<Item>(std::move(item));
    kept->expected = kept->bytes;
    const std::size_t size = kept->bytes.size();
    if (kept->sent_in_runs) {
      kept->bytes.assign(place_of(size, kRunSent), std::byte{0xCC});
      for (std::size_t at = 0; at < size; at += kRunSent) {
        const auto run = std::span{kept->expected}.subspan(at);
        std::ranges::copy(run.first(std::min(run.size(), kRunSent)), &kept->bytes[place_of(at, kRunSent)]);
      }
    }
    kept->landed.resize(kept->lands_in_runs() ? place_of(size) : size);
    if (kept->registered) kept->lease = world_.register_memory(from_is_here(), all_of(kept->bytes));
    register_landing(*kept);
    items_.push_back(std::move(kept));
  }
  void register_landing(Item& item) {
    const auto known = [&](std::span<std::byte> part) {
      item.landing_leases.push_back(world_.register_memory(!from_is_here(), part));
    };
    const std::span<std::byte> all = all_of(item.landed);
    const std::size_t half = place_of(item.expected.size() / (2 * kRun) * kRun);
    switch (item.landing) {
      case Landing::kRegistered:
      case Landing::kRuns:
        return known(all);
      case Landing::kRunsOfTwo:
        known(all.subspan(half));
        [[fallthrough]];
      case Landing::kFirstRunsKnown:
        if (half > 0) known(all.first(half));
        return;
      default:
        return;
    }
  }
  /// Lists them as a framer does: so many at a time.
  static std::size_t list(Item& item, std::vector<iovec>& places) {
    std::size_t at = item.arrived;
    for (; at < item.expected.size() && places.size() < 64; at += places.back().iov_len) {
      places.push_back({item.at(at), item.run_at(at)});
    }
    return at - item.arrived;
  }
  bool from_is_here() const { return from_.here; }
  void sort_in() {
    std::span<const std::byte> rest = pending_;
    while (received_items_ < items_.size()) {
      Item& item = *items_[received_items_];
      const std::size_t part = std::min(rest.size(), item.expected.size() - item.arrived);
      for (std::size_t left = part; left > 0;) {
        const std::size_t run = std::min(left, item.run_at(item.arrived));
        std::ranges::copy(rest.first(run), item.at(item.arrived));
        rest = rest.subspan(run);
        item.arrived += run;
        left -= run;
      }
      if (item.arrived < item.expected.size()) break;
      check(item);
      ++received_items_;
    }
    pending_.erase(pending_.begin(), pending_.end() - static_cast<std::ptrdiff_t>(rest.size()));
  }
  void check(Item& item) const {
    std::vector<std::byte> came;
    while (came.size() < item.expected.size()) {
      const std::byte* const from = item.at(came.size());
      came.insert(came.end(), from, from + item.run_at(came.size()));
    }
    EXPECT_TRUE(came == item.expected) << "item " << received_items_;
    for (std::size_t gap = kRun; item.lands_in_runs() && gap < item.landed.size(); gap += 2 * kRun) {
      const auto rest = std::span<const std::byte>{item.landed}.subspan(gap);
      const auto bytes = rest.first(std::min(kRun, rest.size()));
      EXPECT_TRUE(testing::all_are(bytes, std::byte{0})) << gap;
    }
  }

  World& world_;
  End& from_;
  End& to_;
  std::deque<std::unique_ptr<Item>> items_;
  std::size_t sent_items_ = 0;
  std::size_t sent_bytes_ = 0;
  std::size_t received_items_ = 0;
  std::vector<std::byte> pending_;
};

}  // namespace weft::verbs_carrier_testing
