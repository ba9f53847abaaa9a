// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/provider.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>

#include "transport/carrier_transport.hpp"
#include "transport/message_header.hpp"
#include "transport/verbs/hello_end.hpp"
#include "transport/verbs/limits.hpp"
#include "transport/verbs/verbs_carrier.hpp"

namespace weft {

namespace detail::verbs_carrier {

namespace {

verbs::Driver& driver_of(const VerbsOptions& options) {
  return options.driver != nullptr ? *options.driver : verbs::system_driver();
}

/// The port that connections are to use, if it is active.
Result<verbs::Port> port_of(const verbs::Device& device, const VerbsOptions& options) {
  if (options.port == 0) return device.active_port();
  auto port = device.port(options.port);
  if (!port.ok() || port->active) return port;
  return Status{StatusCode::kUnavailable, Layer::kTransport, [&] {
                  return "port " + std::to_string(options.port) + " of " + std::string{device.name()} +
                         " is not active: is its network interface up?";
                }};
}

/// True also where rdma_cm chooses.
bool has_gid_wanted(const verbs::Port& port, const VerbsOptions& options) {
  if (!options.gid_index || options.connect_by == VerbsConnect::kRdmaCm) return true;
  return std::any_of(port.gids.begin(), port.gids.end(),
                     [&](const verbs::Gid& gid) { return gid.index == *options.gid_index; });
}

/// Registers `memory`. If exactly this memory is registered already, its registration is shared.
Result<std::shared_ptr<const Registration>> register_with(SharedDevice& device, MutableBytes memory) {
  auto known = Registrations::View{device.registrations()}.find(memory);
  const bool same = known != nullptr && known->peers_may_read() && known->bytes().data() == memory.data() &&
                    known->bytes().size() == memory.size();
  if (same) return known;
  return device.registrations().add(memory, {.remote_read = true});
}

constexpr char kOffersCm = 1;

Status no_carrier(std::string_view why) {
  return {StatusCode::kFailedPrecondition, Layer::kTransport, why};
}
template <typename MakeText>
  requires std::is_invocable_r_v<std::string, const MakeText&>
Status no_carrier(const MakeText& make_text) {
  return {StatusCode::kFailedPrecondition, Layer::kTransport, make_text};
}

}  // namespace

Provider::Provider(VerbsOptions options)
    : options_(std::move(options)), turns_(driver_of(options_), options_.device_choice) {}

// A byte after the version tells that this side accepts connections by rdma_cm, or wants to make one. A side
// that does neither sends only the version.
std::string Provider::offer() const {
  std::string offer{static_cast<char>(detail::kMessageVersion)};
  if (options_.connect_by == VerbsConnect::kRdmaCm) offer += kOffersCm;
  return offer;
}

// The side that connects chooses.
Result<std::unique_ptr<detail::CarrierEnd>> Provider::open(Loop& loop, detail::CarrierEndOwner& owner,
                                                           std::string_view peer_offer) const {
  if (peer_offer.empty() || peer_offer[0] != static_cast<char>(detail::kMessageVersion)) {
    return Status{StatusCode::kFailedPrecondition, Layer::kTransport,
                  "the peer speaks another version of Weft's messages over RDMA"};
  }
  const std::string connected_to = owner.connected_to();
  const bool ours = options_.connect_by == VerbsConnect::kRdmaCm;
  const bool theirs = peer_offer.size() > 1 && peer_offer[1] == kOffersCm;
  if (ours == theirs) return ours ? open_by_cm(loop, owner, connected_to) : open_by_hello(loop, owner);
  if (connected_to.empty() ? ours : theirs) return open_by_hello(loop, owner);
  return no_carrier(theirs ? "the peer connects by rdma_cm, and this side does not listen for that "
                             "(VerbsOptions::connect_by)"
                           : "the peer does not listen for rdma_cm (VerbsOptions::connect_by of the server)");
}

// A device that cannot be had now, because its port is down, is no reason to do without the others.
Result<std::unique_ptr<detail::CarrierEnd>> Provider::open_by_hello(Loop& loop,
                                                                    detail::CarrierEndOwner& owner) const {
  const auto devices = devices_in_turn();
  if (!devices.ok()) return devices.status();
  Status refused;
  for (const std::string& device : *devices) {
    auto loop_device = loop_device_for(loop, device);
    auto carrier = loop_device.ok() ? VerbsCarrier::make(*std::move(loop_device), owner)
                                    : std::move(loop_device).status();
    if (carrier.ok()) {
      return std::unique_ptr<detail::CarrierEnd>{std::make_unique<HelloEnd>(*std::move(carrier), owner)};
    }
    refused = std::move(carrier).status();
  }
  return refused;
}

Result<std::unique_ptr<detail::CarrierEnd>> Provider::open_by_cm(Loop& loop, detail::CarrierEndOwner& owner,
                                                                 const std::string& connected_to) const {
  auto hub = hub_for(loop);
  if (!hub.ok()) return std::move(hub).status();
  if (connected_to.empty()) return CmEnd::listening(*std::move(hub), *this, loop, owner, options_);
  return CmEnd::connecting_to(*std::move(hub), *this, loop, owner, options_, connected_to);
}

Status Provider::check_cm() const {
  if (options_.connect_by != VerbsConnect::kRdmaCm) return {};
  verbs::CmDriver* const manager = driver_of(options_).cm();
  if (manager == nullptr) {
    return no_carrier("this build has no rdma_cm: install librdmacm-dev and build again");
  }
  const Status loaded = manager->load();
  return loaded.ok() ? Status{} : no_carrier(loaded.message());
}

Result<std::shared_ptr<CmHub>> Provider::hub_for(Loop& loop) const {
  if (Status none = check_cm(); !none.ok()) return none;
  const std::lock_guard lock{mutex_};
  std::erase_if(hubs_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<CmHub>& known = hubs_[&loop];
  if (std::shared_ptr<CmHub> hub = known.lock()) return hub;
  auto hub = CmHub::make(loop, *driver_of(options_).cm());
  if (hub.ok()) known = *hub;
  return hub;
}

Result<std::shared_ptr<LoopDevice>> Provider::loop_device_of_route(Loop& loop, const std::string& device,
                                                                   std::uint8_t port) const {
  const std::vector<std::string>& named = options_.devices;
  if (!named.empty() && std::find(named.begin(), named.end(), device) == named.end()) {
    return no_carrier([&] {
      return "the way to the peer leads over " + device + ", which VerbsOptions::devices does not name";
    });
  }
  if (options_.port != 0 && options_.port != port) {
    return no_carrier([&] {
      return "the way to the peer leads over port " + std::to_string(port) + " of " + device +
             ", which is not VerbsOptions::port";
    });
  }
  return loop_device_for(loop, device);
}

Result<std::vector<std::string>> Provider::devices_in_turn() const {
  const std::lock_guard lock{mutex_};
  if (Status none = find_devices(); !none.ok()) return none;
  return turns_.next(devices_);
}

Status Provider::require() const {
  if (Status none = check_cm(); !none.ok()) return none;
  const std::lock_guard lock{mutex_};
  return find_devices();
}

Status Provider::try_out() const {
  if (Status none = check_cm(); !none.ok()) return none;
  for (const std::string& name : options_.devices) {
    const auto device = verbs::Device::open(name, driver_of(options_));
    if (!device.ok()) return no_carrier(device.status().message());
  }
  return {};
}

// Requires the lock. Returns the configured devices, which must all exist, or else all usable devices. If all
// ports are active, a configured local address that no port has is an error; otherwise the address may appear
// later.
Status Provider::find_devices() const {
  if (!devices_.empty()) return {};
  verbs::Driver& driver = driver_of(options_);
  const bool named = !options_.devices.empty();
  Result<std::vector<std::string>> names = options_.devices;
  if (!named) names = verbs::device_names(driver);
  if (!names.ok()) return names.status();
  std::vector<std::string> usable;
  std::string reason;
  std::string ports;
  bool any_has_gid = false;
  for (const std::string& name : *names) {
    const auto device = verbs::Device::open(name, driver);
    const auto port = device.ok() ? port_of(**device, options_) : Result<verbs::Port>{device.status()};
    if (port.ok()) {
      usable.push_back(name);
      ports += (ports.empty() ? "" : ", ") + name + " port " + std::to_string(port->number);
      any_has_gid = any_has_gid || has_gid_wanted(*port, options_);
    } else {
      (reason += reason.empty() ? "" : "; ") += port.status().message();
    }
    if (named && !device.ok()) return no_carrier(device.status().message());
  }
  if (usable.empty())
    return no_carrier(reason.empty() ? "this machine has no RDMA device" : std::string_view{reason});
  if (reason.empty() && !any_has_gid) {
    return no_carrier([&] {
      return "VerbsOptions::gid_index: there is no GID " + std::to_string(*options_.gid_index) + " at " +
             ports + " (weft info lists those that there are)";
    });
  }
  // Configured devices are kept even if their port is down: it may come up later.
  devices_ = named ? std::move(names).value() : std::move(usable);
  return {};
}

Result<std::shared_ptr<LoopDevice>> Provider::loop_device_for(Loop& loop, const std::string& device) const {
  const std::lock_guard lock{mutex_};
  std::erase_if(loop_devices_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<LoopDevice>& known = loop_devices_[{&loop, device}];
  if (std::shared_ptr<LoopDevice> loop_device = known.lock()) {
    if (!loop_device->broken()) return loop_device;
    // As long as it lives it hears of the device's events, and a loop can watch a device once.
    loop_device->device().mark_broken();
  }
  auto shared = shared_device(device);
  if (!shared.ok()) return std::move(shared).status();
  auto loop_device = LoopDevice::make(loop, *std::move(shared), options_, ways_);
  if (loop_device.ok()) known = *loop_device;
  return loop_device;
}

// Requires the lock. Memory registered with a failed device is copied from then on.
Result<std::shared_ptr<SharedDevice>> Provider::shared_device(const std::string& name) const {
  std::weak_ptr<SharedDevice>& known = shared_[name];
  if (std::shared_ptr<SharedDevice> device = known.lock(); device != nullptr && !device->broken())
    return device;
  auto device = SharedDevice::open(name, options_);
  if (device.ok()) known = *device;
  return device;
}

// Skips a device that cannot be opened now. If the device returns, carriers on it copy instead of using
// registrations.
std::vector<std::shared_ptr<SharedDevice>> Provider::open_devices() const {
  const std::lock_guard lock{mutex_};
  std::vector<std::shared_ptr<SharedDevice>> opened;
  if (!find_devices().ok()) return opened;
  for (const std::string& name : devices_) {
    if (auto device = shared_device(name); device.ok()) opened.push_back(*std::move(device));
  }
  return opened;
}

// Without the lock, which loops take to open carriers: pinning takes long.
Result<MemoryLease> Provider::register_memory(MutableBytes memory) const {
  MemoryLease lease;
  if (memory.empty()) return lease;
  for (auto& device : open_devices()) {
    auto registered = register_with(*device, memory);
    if (!registered.ok()) {
      return std::move(registered).status().with_context(device->protection()->device().name());
    }
    lease.add(std::move(*registered));
    lease.add(std::move(device));
  }
  return lease;
}

}  // namespace detail::verbs_carrier

Status check(const VerbsOptions& options) {
  using namespace detail::verbs_carrier;
  const char* why = nullptr;
  if (options.message_bytes < kMessageBytesMin || options.message_bytes > kMessageBytesMax) {
    why = "VerbsOptions::message_bytes: from 1 KiB to 1 MiB are possible";
  } else if (options.message_bytes % 64 != 0) {
    why = "VerbsOptions::message_bytes: a multiple of 64";
  } else if (options.block_bytes < options.message_bytes) {
    why = "VerbsOptions::block_bytes: at least message_bytes";
  } else if (options.credits_min < kCreditsMin || options.credits_max > kCreditsMax ||
             options.credits_min > options.credits_max) {
    why = "VerbsOptions: 4 <= credits_min <= credits_max <= 4096";
  } else if (options.sends_max < 2 || options.sends_max > kCreditsMax) {
    why = "VerbsOptions::sends_max: from 2 to 4096 are possible";
  } else if (options.connections_max == 0) {
    why = "VerbsOptions::connections_max: from 1 on is possible";
  } else if (options.receive_bytes_max <
                 std::max(options.credits_min * options.message_bytes, options.block_bytes) ||
             options.send_bytes_max < options.block_bytes) {
    why = "VerbsOptions: receive_bytes_max or send_bytes_max is too little for block_bytes and a connection";
  } else if (options.rendezvous_bytes_min < kRendezvousBytesMin) {
    why = "VerbsOptions::rendezvous_bytes_min: from 4 KiB on is possible";
  } else if (options.retries > 6) {
    why = "VerbsOptions::retries: up to 6; 7 would mean for ever";
  } else if (options.logger == nullptr) {
    why = "VerbsOptions::logger: null; leave it out for stderr";
  }
  if (why == nullptr) return {};
  return {StatusCode::kInvalidArgument, Layer::kTransport, why};
}

VerbsMemory verbs_memory(const VerbsOptions& options) {
  return {.receive_bytes_per_connection = options.credits_min * options.message_bytes,
          .receive_bytes_per_connection_max = options.credits_max * options.message_bytes,
          .send_bytes_per_connection_max = options.sends_max * options.message_bytes,
          .receive_bytes_max = options.receive_bytes_max,
          .send_bytes_max = options.send_bytes_max,
          .control_bytes_max = detail::verbs_carrier::kControlBlockBytes +
                               detail::verbs_carrier::kControlBytes *
                                   (detail::verbs_carrier::kControlSends + options.sends_max) *
                                   options.connections_max,
          .attachment_bytes_max = options.attachment_bytes_max};
}

namespace detail {

std::shared_ptr<const CarrierProvider> make_verbs_carriers(const VerbsOptions& options) {
  return std::make_shared<verbs_carrier::Provider>(options);
}

std::unique_ptr<Transport> make_verbs_transport(std::unique_ptr<Transport> base,
                                                const VerbsOptions& options) {
  return make_carrier_transport(std::move(base), {.scheme = "verbs",
                                                  .provider = make_verbs_carriers(options),
                                                  .connecting = options.connecting,
                                                  .listening = options.listening,
                                                  .bring_up_timeout = options.bring_up_timeout,
                                                  .misuse = check(options)});
}

}  // namespace detail

}  // namespace weft
