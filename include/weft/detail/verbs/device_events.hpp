// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "weft/detail/base/result.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/runtime/fd_watch.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/verbs/device.hpp"

namespace weft::verbs {

/// Something that happened to a device, not to a work request.
struct DeviceEvent {
  ibv_event_type type = IBV_EVENT_DEVICE_FATAL;
  /// Number of the port, of a port's events; else 0.
  std::uint8_t port = 0;
  /// Number of the queue pair, of its events; else 0.
  std::uint32_t queue_pair = 0;
  /// Handle of the completion queue or shared receive queue, of its events, only to be compared; else null.
  const void* queue = nullptr;

  /// Returns what libibverbs calls it.
  std::string_view to_string() const noexcept;
};

/// Receives a device's asynchronous events: ports that go down and up, queue pairs and completion queues that
/// fail. If several watch one opened Device, each event reaches one of them. Thread: its loop's.
class DeviceEvents final : private weft::detail::FdWatch {
  struct Private {
    explicit Private() = default;
  };

 public:
  /// `on_event` is called in turns of `loop`, until this ends, which it must not do itself.
  static Result<std::unique_ptr<DeviceEvents>> watch(
      Loop& loop, std::shared_ptr<Device> device,
      weft::detail::UniqueFunction<void(const DeviceEvent&)> on_event);
  DeviceEvents(Private, Loop& loop, std::shared_ptr<Device> device,
               weft::detail::UniqueFunction<void(const DeviceEvent&)> on_event) noexcept
      : loop_(loop), device_(std::move(device)), on_event_(std::move(on_event)) {}
  ~DeviceEvents();

 private:
  void on_ready(weft::detail::Readiness readiness) override;

  Loop& loop_;
  const std::shared_ptr<Device> device_;
  weft::detail::UniqueFunction<void(const DeviceEvent&)> on_event_;
};

}  // namespace weft::verbs
