// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/verbs/device_events.hpp"

#include <utility>

#include "verbs/library.hpp"

namespace weft::verbs {

namespace {

DeviceEvent describe(const ibv_async_event& event) {
  DeviceEvent made{.type = event.event_type};
  switch (event.event_type) {
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
      made.port = static_cast<std::uint8_t>(event.element.port_num);
      break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      made.queue_pair = event.element.qp->qp_num;
      break;
    case IBV_EVENT_CQ_ERR:
      made.queue = event.element.cq;
      break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      made.queue = event.element.srq;
      break;
    default:
      break;
  }
  return made;
}

}  // namespace

std::string_view DeviceEvent::to_string() const noexcept {
  if (!detail::load_library().ok()) return "an event of a device";
  return detail::library.ibv_event_type_str(type);
}

Result<std::unique_ptr<DeviceEvents>> DeviceEvents::watch(
    Loop& loop, std::shared_ptr<Device> device,
    weft::detail::UniqueFunction<void(const DeviceEvent&)> on_event) {
  const int descriptor = device->handle()->async_fd;
  auto events = std::make_unique<DeviceEvents>(Private{}, loop, std::move(device), std::move(on_event));
  if (auto watched = loop.watch(*events, descriptor); !watched.ok()) return std::move(watched).status();
  return events;
}

DeviceEvents::~DeviceEvents() {
  if (watched()) loop_.unwatch(*this);
}

// Each event is acknowledged before anyone is notified: destroying the queue pair in it waits for that.
void DeviceEvents::on_ready(weft::detail::Readiness) {
  Driver& driver = device_->driver();
  ibv_async_event event{};
  while (driver.get_async_event(device_->handle(), &event) == 0) {
    const DeviceEvent described = describe(event);
    driver.ack_async_event(&event);
    on_event_(described);
  }
}

}  // namespace weft::verbs
