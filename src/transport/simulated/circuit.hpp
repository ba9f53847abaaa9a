// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "transport/simulated/direction.hpp"
#include "transport/simulated/network.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/transport/carrier.hpp"

namespace weft::detail::simulated {

class Circuit;
class SimulatedCarrier;

/// Name of an end of a connection. An end sends in the direction of its own number.
enum class End : std::uint8_t { kClient = 0, kServer = 1 };
constexpr End other(End end) {
  return end == End::kClient ? End::kServer : End::kClient;
}

/// An end's place in the list of its host.
class CircuitEnd : public ListHook<EndOfHostTag> {
 public:
  CircuitEnd(Circuit& its, End its_end) : circuit(its), end(its_end) {}

  Circuit& circuit;
  const End end;
  SimulatedCarrier* carrier = nullptr;
  int error = 0;          // of sending and receiving from now on
  bool gone = false;      // this end no longer receives
  bool readable = false;  // to be told to the carrier
  bool writable = false;
};

/// A connection of the network: two directions and two ends, and one timer for all of it. Each end's carrier
/// owns it together with the other's.
class Circuit final : public std::enable_shared_from_this<Circuit>, private Timer {
 public:
  Circuit(std::shared_ptr<Network> network, Host& client, Host& server, const std::string& url);
  ~Circuit();

  /// Returns it as a URL, for people.
  const std::string& url() const { return url_; }

  void attach(End end, SimulatedCarrier& carrier);
  /// The end sends and receives no more: the peer finds its end, or a reset when something was not read.
  void detach(End end);

  Moved send(End end, std::span<const iovec> from);
  Moved receive(End end, std::span<const iovec> into);
  /// Answers as Carrier::arrived_by().
  TimePoint arrived_by(End end, TimePoint now) const {
    return std::min(now, directions_[index(other(end))].arrived_by());
  }
  void end_sending(End end);

  /// The end's program has died. Its peer gets a reset if it is `told`.
  void crash(End end, bool told);
  /// The end's host goes on after it was stopped.
  void resume(End end);

 private:
  static std::size_t index(End end) { return static_cast<std::size_t>(end); }
  CircuitEnd& at(End end) { return ends_[index(end)]; }
  Direction& from(End end) { return directions_[index(end)]; }
  Direction& to(End end) { return directions_[index(other(end))]; }

  void on_timer() override;
  void run(End sender);
  void tell(End end);
  bool has_to_tell(const CircuitEnd& end, const Direction& sending) const;
  void arm_next();

  const std::shared_ptr<Network> network_;
  const std::string& url_;  // of the place, which stays
  const std::uint64_t number_;
  Direction directions_[2];
  CircuitEnd ends_[2];
};

}  // namespace weft::detail::simulated
