// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "weft/detail/verbs/cm_driver.hpp"

namespace weft::testing {

namespace simulated {
struct Network;
struct CmState;
}  // namespace simulated

/// The connection manager of simulated devices. Every address leads from one device to another (route()), and
/// the port alone says which listener is meant. Nothing takes time, unless the test holds it.
///
/// Its calls fail as those of the devices do (SimulatedRdma::fail()). Thread: any.
class SimulatedCm final : public verbs::CmDriver {
 public:
  using Kind = verbs::CmEvent::Kind;

  explicit SimulatedCm(simulated::Network& network);
  ~SimulatedCm() override;

  /// Sends connection requests out by the device `from` and in by the device `to`. At first these are the
  /// first and the last device.
  void route(std::string_view from, std::string_view to);
  /// The next event of this kind becomes another one.
  void turn(Kind kind, Kind into, int status);
  /// The next event of this kind never comes.
  void lose(Kind kind);
  /// No event comes any more, until release().
  void hold();
  void release();
  /// The oldest event that is held comes. False: there is none.
  bool step();
  /// Every id that is connected, or on the way to it, gets this event, with no other effect.
  void raise(Kind kind);
  /// Returns where somebody listens; 0 when nobody does.
  std::uint16_t listening_port() const;
  std::size_t channels() const;
  std::size_t ids() const;

  // CmDriver

  verbs::CmChannel* create_event_channel() noexcept override;
  void destroy_event_channel(verbs::CmChannel* channel) noexcept override;
  int fd(const verbs::CmChannel* channel) const noexcept override;
  int get_event(verbs::CmChannel* channel, verbs::CmEvent* event) noexcept override;
  verbs::CmId* create_id(verbs::CmChannel* channel) noexcept override;
  int destroy_id(verbs::CmId* id) noexcept override;
  int bind_addr(verbs::CmId* id, const sockaddr* address) noexcept override;
  int listen(verbs::CmId* id, int backlog) noexcept override;
  std::uint16_t source_port(verbs::CmId* id) const noexcept override;
  int resolve_addr(verbs::CmId* id, const sockaddr* to, int timeout_ms) noexcept override;
  int resolve_route(verbs::CmId* id, int timeout_ms) noexcept override;
  int connect(verbs::CmId* id, const verbs::CmParameters& parameters) noexcept override;
  int accept(verbs::CmId* id, const verbs::CmParameters& parameters) noexcept override;
  int refuse(verbs::CmId* id) noexcept override;
  int establish(verbs::CmId* id) noexcept override;
  int init_qp_attr(verbs::CmId* id, ibv_qp_attr* attributes, int* mask) noexcept override;
  const char* device_name(const verbs::CmId* id) const noexcept override;
  std::uint8_t port(const verbs::CmId* id) const noexcept override;

 private:
  simulated::Network& network_;
  const std::unique_ptr<simulated::CmState> state_;
};

}  // namespace weft::testing
