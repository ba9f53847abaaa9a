// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/device_reports.hpp"

#include <string>
#include <utility>

namespace weft::detail::verbs_carrier {

namespace {

constexpr Duration kLogInterval = std::chrono::seconds{1};

}  // namespace

// All loops are notified of an event of the device, after the first of them has logged it. An event of a
// queue pair is not logged here: the loop that owns the pair logs it, and knows more.
Status DeviceReports::start(UniqueFunction<void(const verbs::DeviceEvent&)> on_event) {
  auto events = verbs::DeviceEvents::watch(
      loop_, device_, [this, on_event = std::move(on_event)](const verbs::DeviceEvent& event) mutable {
        const auto text = [&] { return std::string{event.to_string()}; };
        if (event.queue_pair == 0) log(TextMaker{text});
        on_event(event);
      });
  if (!events.ok()) return std::move(events).status();
  events_ = *std::move(events);
  return {};
}

void DeviceReports::log(const TextMaker& make_text) noexcept {
  const TimePoint now = loop_.clock().now();
  if (now < quiet_until_) return;
  quiet_until_ = now + kLogInterval;
  log_.write(LogLevel::kWarning, [&] {
    return std::string{"verbs: "}.append(device_->name()).append(" reports: ").append(make_text());
  });
}

}  // namespace weft::detail::verbs_carrier
