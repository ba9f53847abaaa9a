// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "weft/detail/base/text_maker.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/runtime/deferred_log.hpp"
#include "weft/detail/verbs/device.hpp"
#include "weft/detail/verbs/device_events.hpp"

namespace weft::detail::verbs_carrier {

/// Receives a device's events on a loop, and logs the important ones, at most once a second. Thread: its
/// loop's.
class DeviceReports {
 public:
  DeviceReports(Loop& loop, std::shared_ptr<verbs::Device> device, Logger& logger) noexcept
      : loop_(loop), device_(std::move(device)), log_(loop, logger) {}

  /// Errors: the loop watches the device already, or the system gives nothing to watch it with.
  Status start(UniqueFunction<void(const verbs::DeviceEvent&)> on_event);
  /// Written from the loop, because the logger may end the connections that use the device.
  void log(const TextMaker& make_text) noexcept;

 private:
  Loop& loop_;
  const std::shared_ptr<verbs::Device> device_;
  DeferredLog log_;
  std::unique_ptr<verbs::DeviceEvents> events_;
  TimePoint quiet_until_{};
};

}  // namespace weft::detail::verbs_carrier
