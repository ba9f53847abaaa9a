// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/transport/carrier_policy.hpp"
#include "weft/detail/transport/carrier_provider.hpp"
#include "weft/detail/transport/transport.hpp"

namespace weft {

/// Options for the use of shared memory by connections of unix:// URLs. Both sides must allow it, and run on
/// one machine under users that trust each other with it.
struct SharedMemoryOptions {
  /// Policy of a client.
  CarrierPolicy connecting = CarrierPolicy::kForbid;
  /// Policy of a listener.
  CarrierPolicy listening = CarrierPolicy::kForbid;
  /// Size of the ring that this side writes, a power of two from 4 KiB to 64 MiB. Each connection by shared
  /// memory takes these bytes and a page at each of its sides, from its beginning to its end.
  std::size_t ring_bytes = 128 * 1024;
  /// Numbers of users, beside the one of this process, whose processes may share memory with it. 65534, by
  /// which the system shows users of other user namespaces too, is refused unless it is listed.
  std::vector<std::uint32_t> users{};
  /// Time that bringing the memory up may take, from the peer's hello on.
  Duration bring_up_timeout = std::chrono::seconds{2};
};

/// Errors: kInvalidArgument says which option cannot be.
Status check(const SharedMemoryOptions& options);

namespace detail {

/// The carrier of connections that go by shared memory.
std::shared_ptr<const CarrierProvider> make_shared_memory_carriers(const SharedMemoryOptions& options = {});

/// A transport that handles what `base` handles, and whose connections of unix:// URLs move to shared memory
/// as the policies of `options` say. Impossible `options` fail listen() and connect() with the status of
/// check().
std::unique_ptr<Transport> make_shared_memory_transport(std::unique_ptr<Transport> base,
                                                        const SharedMemoryOptions& options = {});

}  // namespace detail

}  // namespace weft
