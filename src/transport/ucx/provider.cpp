// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/provider.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "transport/carrier_transport.hpp"
#include "transport/ucx/limits.hpp"
#include "transport/ucx/ucx_carrier.hpp"
#include "weft/detail/ucx/library.hpp"
#include "weft/detail/ucx/status.hpp"

namespace weft {

namespace detail::ucx_carrier {

namespace {

// What follows the flag byte of the offer: the version of the messages, the error mode.
constexpr std::size_t kOfferBytes = 2;

/// Guests that have a place one after the other within a bring_up_timeout, while others wait.
constexpr Duration::rep kStays = 8;

constexpr const char* kLoopback = "lo";

/// Returns the transports that need no network device.
std::vector<std::string> within_host(const UcxOptions& options) {
  constexpr std::string_view kNames[] = {"self", "sm", "shm", "mm", "posix", "sysv", "xpmem", "cma", "knem"};
  std::vector<std::string> names;
  std::copy_if(options.transports.begin(), options.transports.end(), std::back_inserter(names),
               [&](const std::string& name) {
                 return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
               });
  return names;
}

/// Tells whether the transports alone see to it that no network device is used.
bool keeps_within_host(const UcxOptions& options) {
  const auto chooses_transports = [](const auto& setting) { return setting.first == "TLS"; };
  return !options.transports.empty() && within_host(options).size() == options.transports.size() &&
         std::none_of(options.settings.begin(), options.settings.end(), chooses_transports);
}

Status network_not_trusted(const std::string& option, const std::string& devices) {
  return {StatusCode::kInvalidArgument, Layer::kTransport, [&] {
            return option + ": on \"" + devices +
                   "\" UCX takes connections and messages from everybody who reaches it, before any hello; "
                   "if all "
                   "of them are trusted, set UcxOptions::trusted_network, else \"lo\" is the only device";
          }};
}

Status check_devices(const UcxOptions& options) {
  if (options.trusted_network) return {};
  for (const std::string& device : options.devices) {
    if (device != kLoopback) return network_not_trusted("UcxOptions::devices", device);
  }
  for (const auto& [name, value] : options.settings) {
    if (name == "NET_DEVICES" && value != kLoopback) {
      return network_not_trusted("UcxOptions::settings, NET_DEVICES", value);
    }
  }
  return {};
}

Status other_error_mode(UcxErrorMode ours) {
  const bool peer = ours == UcxErrorMode::kPeer;
  return {StatusCode::kFailedPrecondition, Layer::kTransport, [&] {
            return std::string{"this side uses UCX's error mode "} + (peer ? "peer" : "none") +
                   " and the other side mode " + (peer ? "none" : "peer") +
                   ": give both the same (UcxOptions::error_mode, --ucx-error-mode-none)";
          }};
}

}  // namespace

std::string Provider::offer() const {
  return {static_cast<char>(detail::kMessageVersion), static_cast<char>(options_.error_mode)};
}

Result<std::unique_ptr<detail::CarrierEnd>> Provider::open(Loop& loop, detail::CarrierEndOwner& owner,
                                                           std::string_view peer_offer) const {
  if (peer_offer.size() < kOfferBytes || peer_offer[0] != static_cast<char>(detail::kMessageVersion)) {
    return Status{StatusCode::kFailedPrecondition, Layer::kTransport,
                  "the peer speaks another version of Weft's messages over UCX"};
  }
  if (peer_offer[1] != static_cast<char>(options_.error_mode)) {
    return other_error_mode(options_.error_mode);
  }
  auto carrier = std::make_unique<UcxCarrier>(*this, loop, owner);
  if (!owner.connected_to().empty()) {
    if (Status none = carrier->get_worker(); !none.ok()) return none;
  }
  return std::unique_ptr<detail::CarrierEnd>{std::move(carrier)};
}

Result<std::shared_ptr<ucx::Context>> make_context(const UcxOptions& options) {
  ucx::ContextOptions of_context;
  of_context.features.active_messages = true;
  of_context.transports = options.transports;
  of_context.devices = options.devices;
  // Over UCX_NET_DEVICES of the environment, too. UCX would warn of a device that no transport uses.
  if (!options.trusted_network && !keeps_within_host(options)) {
    of_context.devices = {kLoopback};
  }
  of_context.settings = options.settings;
  of_context.shared_memory_element_bytes = kSharedMemoryElementBytes;
  of_context.tcp_segment_bytes = kTcpSegmentBytes;
  return ucx::Context::create(of_context);
}

Result<std::shared_ptr<ucx::Context>> Provider::context() const {
  if (context_ != nullptr) return context_;
  auto context = make_context(options_);
  if (context.ok()) context_ = *context;
  return context;
}

Status Provider::require() const {
  const std::lock_guard lock{mutex_};
  return context().status();
}

Status Provider::try_out() const {
  const std::lock_guard lock{mutex_};
  if (const auto of = context(); !of.ok()) return of.status();
  UcxOptions reachable_by_nobody = options_;
  reachable_by_nobody.transports = within_host(options_);
  if (options_.transports.empty()) reachable_by_nobody.transports = {"shm", "self"};
  if (reachable_by_nobody.transports.empty()) return {};
  reachable_by_nobody.devices = {};
  const auto of = make_context(reachable_by_nobody);
  if (!of.ok()) return of.status();
  ucp_worker_params_t params{};
  ucp_worker_h worker = nullptr;
  const ucs_status_t status = ucx::detail::library.ucp_worker_create((*of)->handle(), &params, &worker);
  if (status != UCS_OK) return ucx::to_setup_status(status, "making a UCX worker with UcxOptions");
  ucx::detail::library.ucp_worker_destroy(worker);
  return {};
}

Result<std::shared_ptr<SharedWorker>> Provider::worker_for(Loop& loop) const {
  const std::lock_guard lock{mutex_};
  const bool shared = options_.error_mode == UcxErrorMode::kPeer;
  std::erase_if(workers_, [](const auto& entry) { return entry.second.expired(); });
  if (shared) {
    const auto found = workers_.find(&loop);
    std::shared_ptr<SharedWorker> worker = found != workers_.end() ? found->second.lock() : nullptr;
    if (worker != nullptr && worker->alive()) return worker;
  }
  auto of = context();
  if (!of.ok()) return std::move(of).status();
  auto worker = SharedWorker::make(loop, *std::move(of), options_);
  if (worker.ok() && shared) workers_.insert_or_assign(&loop, *worker);
  return worker;
}

std::shared_ptr<BringUpRoom> Provider::room_for(Loop& loop) const {
  if (options_.error_mode == UcxErrorMode::kPeer) return nullptr;
  const std::lock_guard lock{mutex_};
  std::erase_if(rooms_, [](const auto& entry) { return entry.second.expired(); });
  const auto found = rooms_.find(&loop);
  std::shared_ptr<BringUpRoom> room = found != rooms_.end() ? found->second.lock() : nullptr;
  if (room != nullptr) return room;
  room = std::make_shared<BringUpRoom>(loop, options_.bring_ups_max, options_.bring_up_timeout / kStays);
  rooms_.insert_or_assign(&loop, room);
  return room;
}

}  // namespace detail::ucx_carrier

Status check(const UcxOptions& options) {
  const char* why = nullptr;
  if (options.window_bytes < detail::ucx_carrier::kWindowBytesMin ||
      options.window_bytes > detail::ucx_carrier::kWindowBytesMax) {
    why = "UcxOptions::window_bytes: from 64 KiB to 256 MiB are possible";
  } else if (options.message_bytes < 512 || options.message_bytes > options.window_bytes / 4) {
    why = "UcxOptions::message_bytes: from 512 bytes to a quarter of window_bytes are possible";
  } else if (options.rendezvous_bytes_min < 1024) {
    why = "UcxOptions::rendezvous_bytes_min: less than 1 KiB is faster copied; give 1024 or more";
  } else if (options.bring_ups_max == 0) {
    why = "UcxOptions::bring_ups_max: at least one peer at a time can be brought up";
  } else if (options.logger == nullptr) {
    why = "UcxOptions::logger: null; leave it out for stderr";
  }
  if (why == nullptr) return detail::ucx_carrier::check_devices(options);
  return {StatusCode::kInvalidArgument, Layer::kTransport, why};
}

namespace detail {

Result<UcxDescription> describe_ucx(const UcxOptions& options) {
  if (Status wrong = check(options); !wrong.ok()) return wrong;
  const auto context = ucx_carrier::make_context(options);
  if (!context.ok()) return context.status();
  return UcxDescription{(*context)->description(), (*context)->configuration()};
}

std::shared_ptr<const CarrierProvider> make_ucx_carriers(const UcxOptions& options) {
  return std::make_shared<ucx_carrier::Provider>(options);
}

std::unique_ptr<Transport> make_ucx_transport(std::unique_ptr<Transport> base, const UcxOptions& options) {
  return make_carrier_transport(std::move(base), {.scheme = "ucx",
                                                  .provider = make_ucx_carriers(options),
                                                  .connecting = options.connecting,
                                                  .listening = options.listening,
                                                  .bring_up_timeout = options.bring_up_timeout,
                                                  .misuse = check(options)});
}

}  // namespace detail

}  // namespace weft
