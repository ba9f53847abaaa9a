// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "weft/detail/base/status.hpp"
#include "weft/detail/verbs/address_info.hpp"
#include "weft/detail/verbs/device.hpp"

namespace weft::verbs {

struct ConnectOptions;
struct QueuePairOptions;
struct Transition;
class Way;

namespace detail {

/// Queue pair as its device has it: makes, addresses, connects and destroys it. Posts nothing to it.
///
///   choose_address() --> make() --connect()--> connected, or failed by fail() --> destroy()
///
/// Thread: its loop's.
class DeviceQueuePair {
 public:
  DeviceQueuePair(std::shared_ptr<ProtectionDomain> domain, std::uint8_t port) noexcept
      : domain_(std::move(domain)), port_(port) {}

  const std::shared_ptr<ProtectionDomain>& domain() const noexcept { return domain_; }
  /// Null until it is made.
  ibv_qp* handle() const noexcept { return handle_; }
  std::uint8_t port() const noexcept { return port_; }
  const AddressInfo& address() const noexcept { return address_; }
  std::size_t inline_bytes_max() const noexcept { return inline_bytes_max_; }
  ibv_mtu mtu() const noexcept { return mtu_; }
  bool is_connected() const noexcept { return connected_; }

  /// Errors: kUnavailable when the port is not active, kInvalidArgument for a GID that it does not have.
  Status choose_address(const QueuePairOptions& options);
  /// Makes it, with room for `receives_max` of its own, so that receives can be posted. Errors: the device's.
  Status make(const QueuePairOptions& options, ibv_cq* completions, std::size_t receives_max);
  /// These do as the steps of QueuePair that have their names.
  Status connect(const AddressInfo& peer, const ConnectOptions& options);
  Way way_to(const AddressInfo& peer, const ConnectOptions& options) const;
  Status prepare(const Transition& initialised);
  Status connect(const Transition& to_receive, const Transition& to_send, const ConnectOptions& options);
  Way way_by(const Transition& to_receive) const;
  Status fail();
  /// It was made; the device touches nothing for it afterwards.
  void destroy() noexcept;

 private:
  Status create(const QueuePairOptions& options, ibv_cq* completions, std::size_t receives_max);
  Status initialise(const QueuePairOptions& options);
  ibv_ah_attr route_to(const AddressInfo& peer, const ConnectOptions& options) const;
  Status to_ready_to_receive(const AddressInfo& peer, const ConnectOptions& options);
  Status to_ready_to_send(const ConnectOptions& options);
  Status move_to(ibv_qp_state state, Transition by, const char* what);
  void note_gid(const ibv_ah_attr& way);

  const std::shared_ptr<ProtectionDomain> domain_;
  const std::uint8_t port_;
  std::uint8_t gid_index_ = 0;
  bool connected_ = false;
  ibv_qp* handle_ = nullptr;
  std::size_t inline_bytes_max_ = 0;
  AddressInfo address_;
  ibv_mtu mtu_ = IBV_MTU_256;
};

}  // namespace detail

}  // namespace weft::verbs
