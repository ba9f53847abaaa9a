// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "transport/memory/memory_link.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/transport/base_carrier.hpp"

namespace weft::detail::memory {

/// One end of a MemoryLink.
class MemoryCarrier final : public BaseCarrier {
 public:
  MemoryCarrier(Loop& loop, std::shared_ptr<MemoryLink> link, End end);
  ~MemoryCarrier() override;

  const Capabilities& capabilities() const override;
  std::string local_endpoint() const override { return link_->url().to_string(); }
  std::string remote_endpoint() const override { return link_->url().to_string(); }

  Moved receive(std::span<const iovec> into, std::span<const iovec> landing) override;
  Moved send(std::span<const iovec> from, std::size_t leased) override;
  void end_sending() override { link_->end_sending(end_); }
  void shut() override;

  /// Something happened on the link since the last time.
  void on_notified();

 private:
  struct DelayTimer final : weft::detail::Timer {
    explicit DelayTimer(MemoryCarrier& its) : carrier(its) {}
    void on_timer() override { carrier.on_delayed(); }
    MemoryCarrier& carrier;
  };
  struct Delayed {
    TimePoint at;
    Arrived arrived;
  };

  void on_delayed();
  void look();
  Arrived known() const;

  Loop& loop_;
  const std::shared_ptr<MemoryLink> link_;
  const End end_;
  const MemoryFaults& faults_;
  std::uint64_t received_ = 0;
  bool detached_ = false;
  // With a delay: the data that has arrived for us, and the data still in flight.
  Arrived visible_;
  std::deque<Delayed> delayed_;
  DelayTimer delay_timer_{*this};
};

}  // namespace weft::detail::memory
