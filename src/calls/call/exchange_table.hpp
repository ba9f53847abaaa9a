// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "weft/detail/calls/terms/exchange.hpp"
#include "weft/detail/memory/local_budget.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft::detail {

/// The exchanges that this side began on one connection, by their ids. An id consists of a slot and its
/// generation; the generation grows when an exchange leaves, so that a frame for an ended exchange finds
/// none. An exchange that ends before the peer ended it may leave its slot abandoned, until the peer ends it.
/// The table stores the position of each exchange's first byte in the byte stream, to distinguish exchanges
/// that the peer never saw.
class ExchangeTable {
 public:
  /// Slots that are not charged: about as much memory as a connection takes in any case.
  static constexpr std::size_t kUnchargedSlots = 1024;

  /// Charges its memory to `process`, which outlives it. Null: it charges nothing.
  explicit ExchangeTable(LocalBudget* process = nullptr) noexcept : process_(process) {}
  ~ExchangeTable() {
    if (process_ != nullptr) process_->release(charged_);
  }
  ExchangeTable(const ExchangeTable&) = delete;
  ExchangeTable& operator=(const ExchangeTable&) = delete;

  /// Makes room for one more, if there is none. Returns false when memory or its budget is exhausted.
  bool has_slot() noexcept { return first_free_ != kNoSlot || add_slot(); }
  /// Gives `exchange`, which begins at `position` of the byte stream, an id. has_slot() is asked before.
  std::uint64_t enter(Exchange& exchange, std::uint64_t position) {
    const std::uint32_t index = first_free_;
    Slot& slot = slots_[index];
    first_free_ = slot.next_free;
    slot.exchange = &exchange;
    slot.position = position;
    ++size_;
    ++entered_;
    return wire::make_id(index, slot.generation);
  }
  /// `id` was entered last, and counts as never entered.
  void take_back(std::uint64_t id) {
    leave(id);
    --entered_;
  }
  /// `id` is in the table.
  void leave(std::uint64_t id) { free(slots_[wire::slot_of(id)], wire::slot_of(id)); }
  /// The exchange leaves, and its slot stays until take() is called with its id.
  void abandon(std::uint64_t id) {
    Slot& slot = slots_[wire::slot_of(id)];
    slot.exchange = nullptr;
    slot.next_free = kAbandoned;
    --size_;
    ++abandoned_;
  }
  /// Null for an id that is not in the table, including one invented by the peer.
  Exchange* find(std::uint64_t id) const {
    const std::uint32_t index = wire::slot_of(id);
    if (index >= slots_.size() || slots_[index].generation != wire::generation_of(id)) return nullptr;
    return slots_[index].exchange;
  }
  /// find(), and the exchange has left; an abandoned slot is free again.
  Exchange* take(std::uint64_t id) {
    const std::uint32_t index = wire::slot_of(id);
    if (index >= slots_.size()) [[unlikely]] {
      return nullptr;
    }
    Slot& slot = slots_[index];
    Exchange* const exchange = slot.exchange;
    if (slot.generation != wire::generation_of(id) || exchange == nullptr) [[unlikely]] {
      if (slot.generation == wire::generation_of(id) && slot.next_free == kAbandoned)
        free_abandoned(slot, index);
      return nullptr;
    }
    free(slot, index);
    return exchange;
  }
  std::uint32_t size() const { return size_; }
  std::uint32_t abandoned() const { return abandoned_; }
  /// Exchanges that were entered so far.
  std::uint64_t entered() const { return entered_; }
  /// Exchanges that have ended by an answer, a late one too, or with the connection.
  std::uint64_t ended() const { return entered_ - size_ - abandoned_; }

  /// Removes up to `left` exchanges that begin at `position` or later from the table, starting at slot
  /// `index`. Passes each, with its position, to `visit`, which may enter new ones or let others leave.
  /// Advances `index` and decrements `left`. Returns false when slots are left.
  template <typename Visit>
  bool take_some(std::uint64_t position, std::uint32_t& index, std::size_t& left, Visit visit) {
    for (; index < slots_.size(); ++index) {
      Exchange* const exchange = slots_[index].exchange;
      const std::uint64_t begins = slots_[index].position;
      if (exchange == nullptr || begins < position) continue;
      if (left == 0) return false;
      --left;
      free(slots_[index], index);
      visit(*exchange, begins);
    }
    return true;
  }

 private:
  static constexpr std::uint32_t kNoSlot = 0xFFFFFFFF;
  static constexpr std::uint32_t kAbandoned = 0xFFFFFFFE;

  struct Slot {
    Exchange* exchange = nullptr;
    std::uint64_t position = 0;
    std::uint32_t generation = 0;
    /// Next free slot, if this one is free; kAbandoned if its exchange has left before the peer ended it.
    /// Nothing in a slot that is in use.
    std::uint32_t next_free = kNoSlot;
  };

  void free(Slot& slot, std::uint32_t index) {
    slot.exchange = nullptr;
    ++slot.generation;
    slot.next_free = first_free_;
    first_free_ = index;
    --size_;
  }
  [[gnu::cold]] void free_abandoned(Slot& slot, std::uint32_t index) noexcept;
  [[gnu::cold]] bool add_slot() noexcept;
  bool grow() noexcept;

  std::vector<Slot> slots_;
  LocalBudget* const process_;
  std::size_t charged_ = 0;
  std::uint32_t first_free_ = kNoSlot;
  std::uint32_t size_ = 0;
  std::uint32_t abandoned_ = 0;
  std::uint64_t entered_ = 0;
};

}  // namespace weft::detail
