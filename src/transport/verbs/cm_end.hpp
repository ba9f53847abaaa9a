// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "transport/verbs/cm_hub.hpp"
#include "transport/verbs/verbs_carrier.hpp"

namespace weft::detail::verbs_carrier {

/// Access of an end to the provider that made it, which outlives it.
class CmSupport {
 public:
  /// Returns the LoopDevice that the carriers of `loop` over the device of that name share. Errors: the
  /// options exclude the device, or it cannot be opened.
  virtual Result<std::shared_ptr<LoopDevice>> loop_device_of_route(Loop& loop, const std::string& device,
                                                                   std::uint8_t port) const = 0;

 protected:
  ~CmSupport() = default;
};

/// One end of a carrier whose queue pair rdma_cm connects. The side that connected the base carrier also
/// starts the rdma_cm connection:
///
///   connecting side                                    listening side
///   kMade        address: terms           <-- base --> address: terms, port, token      kMade
///   kResolving   address, device, route                                                 kAwaiting
///   kRequested   request with the token   ---- cm ---> request                          kRequest
///   kSearching   looks for the route                   looks for the route              kSearching
///   kConnected   establish                <--- cm ---- accept                           kConnected
///
/// The device is known only when the system has resolved the route or the request has arrived; the queue pair
/// (`carrier_`) is created then. It belongs to the rdma_cm connection until the end. If that connection fails
/// or the device disappears, the carrier has failed. If the peer disconnects, the base carrier decides how to
/// treat it. In kFailed and kShut the owner receives no further notification.
class CmEnd final : public CarrierEnd, private CmHandler {
 public:
  /// The connecting side's. Errors: kInvalidArgument for an endpoint (tcp://10.0.0.7:9000) without an IP
  /// address.
  static Result<std::unique_ptr<CarrierEnd>> connecting_to(std::shared_ptr<CmHub> hub,
                                                           const CmSupport& support, Loop& loop,
                                                           CarrierEndOwner& owner,
                                                           const VerbsOptions& options,
                                                           const std::string& endpoint);
  /// The listening side's. Errors: the system does not let us listen.
  static Result<std::unique_ptr<CarrierEnd>> listening(std::shared_ptr<CmHub> hub, const CmSupport& support,
                                                       Loop& loop, CarrierEndOwner& owner,
                                                       const VerbsOptions& options);
  CmEnd(std::shared_ptr<CmHub> hub, const CmSupport& support, Loop& loop, CarrierEndOwner& owner,
        const VerbsOptions& options)
      : hub_(std::move(hub)), support_(support), loop_(loop), owner_(owner), options_(options) {}
  ~CmEnd() override { shut(); }

  std::string address() const override;
  Status connect(std::string_view peer_address) override;
  bool connecting() const override { return state_ != State::kConnected; }
  bool needs_peer_ready() const override { return true; }
  void on_peer_ready() override;
  Carrier& carrier() override { return *carrier_; }
  void shut() override;

 private:
  enum class State : std::uint8_t {
    kMade,
    kResolving,
    kAwaiting,
    kRequested,
    kRequest,
    kSearching,
    kConnected,
    kFailed,
    kShut
  };

  void on_cm_event(const verbs::CmEvent& event) override;
  void on_cm_request(CmConnection connection, const verbs::CmEvent& event) override;
  Status take(const verbs::CmEvent& event);
  Status resolve(std::uint16_t port);
  Status make_carrier();
  Status request();
  Status answer();
  Status look_for_way();
  Status connect_pair();
  Status finish();
  void found(const Status& way);
  void ended(const verbs::CmEvent& event);
  void fail(Status why);
  bool connects() const noexcept { return to_.ss_family != AF_UNSPEC; }

  const std::shared_ptr<CmHub> hub_;
  const CmSupport& support_;
  Loop& loop_;
  CarrierEndOwner& owner_;
  const VerbsOptions& options_;
  State state_ = State::kMade;
  /// The connecting side's: whom it connects to, without the port.
  sockaddr_storage to_{};
  /// The listening side's own; the connecting side's from the peer's address on.
  std::optional<CmListening> listening_;
  std::optional<CarrierTerms> peer_terms_;
  /// Parameters of the peer's request or response.
  verbs::CmParameters theirs_;
  bool peer_ready_ = false;
  std::unique_ptr<VerbsCarrier> carrier_;
  verbs::Transition to_receive_;
  WayFinder::Search search_;
  CmConnection connection_;
};

}  // namespace weft::detail::verbs_carrier
