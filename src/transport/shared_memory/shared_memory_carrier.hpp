// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "transport/shared_memory/loop_rings.hpp"
#include "transport/shared_memory/mapped_memory.hpp"
#include "transport/shared_memory/peer_bell.hpp"
#include "transport/shared_memory/ring_reader.hpp"
#include "transport/shared_memory/ring_writer.hpp"
#include "transport/shared_memory/side_words.hpp"
#include "transport/shared_memory/wake_rules.hpp"
#include "weft/detail/base/descriptor.hpp"
#include "weft/detail/base/fork_mark.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/fd_watch.hpp"
#include "weft/detail/transport/carrier_end.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail::shared_memory {

/// One end of a connection's path through memory that two processes share. Each side has memory of its own,
/// with its words and the ring that it writes; the other side maps that to read. Each side has a doorbell,
/// which the other rings.
///
///   this side                                    the peer
///   own memory:  words, ring  ---- maps ---->    RingReader
///   RingReader                <--- maps -----    its memory: words, ring
///   doorbell, watched         <--- rings ----
///                             ---- rings --->    its doorbell, watched
///
/// The connecting side makes its memory at once and passes it with its address. The accepting side makes its
/// own when that memory has arrived and is in order, so strangers cost no memory.
///
///   made --connect()--> mapped --the peer has mapped ours--> up --shut()--> shut
///
///   awake: the loop looks into the peer's words in each turn
///   asleep: announced in our words; the doorbell wakes
///
/// Nothing is reported from inside a look: it schedules `report_`.
class SharedMemoryCarrier final : public CarrierEnd,
                                  public Carrier,
                                  private FdWatch,
                                  private LoopRings::Member {
 public:
  SharedMemoryCarrier(Loop& loop, CarrierEndOwner& owner, std::size_t ring_bytes);
  ~SharedMemoryCarrier() override;

  /// Makes this side's memory and doorbell, so that there is an address. Errors: kResourceExhausted when
  /// memory or descriptors are exhausted, kUnavailable when the system lacks a seal.
  Status make();

  bool has_address() const override { return static_cast<bool>(own_); }
  std::string address() const override;
  Descriptors descriptors() override;
  Status take_descriptors(Descriptors theirs) override;
  Status connect(std::string_view peer_address) override;
  Carrier& carrier() override { return *this; }

  const Capabilities& capabilities() const override;
  std::string description() const override;
  Moved receive(std::span<const iovec> into, std::span<const iovec> landing) override;
  std::size_t skip(std::size_t bytes) override;
  Moved send(std::span<const iovec> from, std::size_t leased) override;
  void end_sending() override;
  void shut() override;

 private:
  struct Report final : Ready {
    explicit Report(SharedMemoryCarrier& its) noexcept
        : Ready([](Ready* node) noexcept { static_cast<Report*>(node)->carrier.report(); }), carrier(its) {}
    SharedMemoryCarrier& carrier;
  };

  void on_ready(Readiness readiness) override;
  bool look() noexcept override;
  bool try_sleep() noexcept override;

  /// Returns true if the rings may be used: not before connect(), and not in a child of fork, whose parent
  /// uses them.
  bool is_usable() const noexcept { return reader_.has_value() && !made_in_.in_child(); }
  void wake() noexcept;
  void report();

  Loop& loop_;
  /// Owner until the peer is heard.
  CarrierEndOwner* bring_up_;
  const std::size_t ring_bytes_;
  const ForkMark made_in_;
  Report report_{*this};
  std::shared_ptr<LoopRings> rings_;
  MappedMemory own_;
  MappedMemory peer_;
  Descriptor doorbell_;
  Descriptor peer_doorbell_;
  /// Descriptors of memory, until they are passed or mapped.
  Descriptor own_file_;
  Descriptor peer_file_;
  std::optional<SleepRule<SideWords>> sleep_;
  std::optional<PeerBell> bell_;
  std::optional<RingWriter> writer_;
  std::optional<RingReader> reader_;
  /// A send found the ring full.
  bool wants_room_ = false;
  bool readable_ = false;
  bool writable_ = false;
  /// The peer lied, and the owner knows it.
  bool failed_ = false;
  bool over_ = false;
};

}  // namespace weft::detail::shared_memory
