// SPDX-License-Identifier: Apache-2.0
#include "transport/shared_memory/provider.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "transport/carrier_transport.hpp"
#include "transport/shared_memory/doorbell.hpp"
#include "transport/shared_memory/limits.hpp"
#include "transport/shared_memory/mapped_memory.hpp"
#include "transport/shared_memory/shared_memory_carrier.hpp"

namespace weft {

namespace detail::shared_memory {

namespace {

/// Version of the words, the rings and the doorbells; the whole of an offer.
constexpr char kVersion = 1;

/// The system shows this number for every user that has none in this user namespace.
constexpr std::uint32_t kUnknownUser = 65534;

}  // namespace

std::string Provider::offer() const {
  return {kVersion};
}

Status Provider::require() const {
  if (const auto memory = make_own_memory(options_.ring_bytes); !memory.ok()) return memory.status();
  return make_doorbell().status();
}

std::size_t Provider::descriptors_max() const {
  return kDescriptorsPassed;
}

Status Provider::check_user(const Identity& peer) const {
  if (peer.kind() != Identity::Kind::kUnixProcess) {
    return {StatusCode::kFailedPrecondition, Layer::kTransport,
            "the system does not say which user the peer runs as"};
  }
  const std::uint32_t user = peer.process().uid;
  const bool is_ours = user == ::geteuid() && user != kUnknownUser;
  if (is_ours || std::ranges::find(options_.users, user) != options_.users.end()) return {};
  return {StatusCode::kFailedPrecondition, Layer::kTransport, [=] {
            return "the peer runs as user " + std::to_string(user) + " and this side as user " +
                   std::to_string(::geteuid()) + ": to share memory, list it in SharedMemoryOptions::users";
          }};
}

Result<std::unique_ptr<CarrierEnd>> Provider::open(Loop& loop, CarrierEndOwner& owner,
                                                   std::string_view peer_offer) const {
  if (peer_offer.empty() || peer_offer[0] != kVersion) {
    return Status{StatusCode::kFailedPrecondition, Layer::kTransport,
                  "the peer speaks another version of Weft's shared memory"};
  }
  if (Status refused = check_user(owner.peer_identity()); !refused.ok()) return refused;
  auto carrier = std::make_unique<SharedMemoryCarrier>(loop, owner, options_.ring_bytes);
  if (!owner.connected_to().empty()) {
    if (Status none = carrier->make(); !none.ok()) return none;
  }
  return std::unique_ptr<CarrierEnd>{std::move(carrier)};
}

}  // namespace detail::shared_memory

Status check(const SharedMemoryOptions& options) {
  using namespace detail::shared_memory;
  if (std::has_single_bit(options.ring_bytes) && options.ring_bytes >= kRingBytesMin &&
      options.ring_bytes <= kRingBytesMax) {
    return {};
  }
  return {StatusCode::kInvalidArgument, Layer::kTransport,
          "SharedMemoryOptions::ring_bytes: powers of two from 4 KiB to 64 MiB are possible"};
}

namespace detail {

std::shared_ptr<const CarrierProvider> make_shared_memory_carriers(const SharedMemoryOptions& options) {
  return std::make_shared<shared_memory::Provider>(options);
}

std::unique_ptr<Transport> make_shared_memory_transport(std::unique_ptr<Transport> base,
                                                        const SharedMemoryOptions& options) {
  return make_carrier_transport(std::move(base), {.base_scheme = "unix",
                                                  .provider = make_shared_memory_carriers(options),
                                                  .connecting = options.connecting,
                                                  .listening = options.listening,
                                                  .bring_up_timeout = options.bring_up_timeout,
                                                  .misuse = check(options)});
}

}  // namespace detail

}  // namespace weft
