// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "weft/detail/base/log.hpp"
#include "weft/detail/base/text_maker.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/verbs/device.hpp"
#include "weft/detail/verbs/device_events.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {}

namespace weft::detail::verbs_carrier {

/// Receives a device's events on a loop, and logs the important ones, at most once a second. Thread: its
/// loop's.
class DeviceReports {
 public:
  DeviceReports(Loop& loop, std::shared_ptr<verbs::Device> device, Logger& logger) noexcept
      : loop_(loop), device_(std::move(device)), logger_(logger) {}

  /// Errors: the loop watches the device already, or the system gives nothing to watch it with.
  Status start(UniqueFunction<void(const verbs::DeviceEvent&)> on_event);
  /// A line less is written where there is no memory for it, or the logger throws.
  void log(const TextMaker& make_text) noexcept;

 private:
  Loop& loop_;
  const std::shared_ptr<verbs::Device> device_;
  Logger& logger_;
  std::unique_ptr<verbs::DeviceEvents> events_;
  TimePoint quiet_until_{};
};

}  // namespace weft::detail::verbs_carrier
