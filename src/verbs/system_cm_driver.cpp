// SPDX-License-Identifier: Apache-2.0
#include "verbs/system_cm_driver.hpp"

#include <algorithm>
#include <cstring>

#include "verbs/cm_library.hpp"

namespace weft::verbs {

namespace {

const detail::CmLibrary& cm = detail::cm_library;

// The three-bit code 7 would mean an unlimited number of retries.
constexpr std::uint8_t kRetries = 6;

rdma_event_channel* of(CmChannel* channel) noexcept {
  return reinterpret_cast<rdma_event_channel*>(channel);
}
rdma_cm_id* of(CmId* id) noexcept {
  return reinterpret_cast<rdma_cm_id*>(id);
}
const rdma_cm_id* of(const CmId* id) noexcept {
  return reinterpret_cast<const rdma_cm_id*>(id);
}

CmEvent::Kind kind_of(rdma_cm_event_type type) noexcept {
  using enum CmEvent::Kind;
  switch (type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      return kAddressResolved;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      return kRouteResolved;
    case RDMA_CM_EVENT_CONNECT_REQUEST:
      return kRequest;
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      return kResponse;
    case RDMA_CM_EVENT_ESTABLISHED:
      return kEstablished;
    case RDMA_CM_EVENT_REJECTED:
      return kRejected;
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
      return kFailed;
    case RDMA_CM_EVENT_DISCONNECTED:
      return kDisconnected;
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return kDeviceGone;
    default:
      return kOther;
  }
}

CmParameters copied(const rdma_conn_param& from) noexcept {
  CmParameters made{.queue_pair = from.qp_num,
                    .reads_served = from.responder_resources,
                    .reads_asked = from.initiator_depth};
  if (from.private_data != nullptr) {
    made.private_bytes = std::min<std::size_t>(from.private_data_len, made.private_data.size());
    std::memcpy(made.private_data.data(), from.private_data, made.private_bytes);
  }
  return made;
}

rdma_conn_param param_of(const CmParameters& parameters) noexcept {
  rdma_conn_param param{};
  param.private_data = parameters.private_bytes != 0 ? parameters.private_data.data() : nullptr;
  param.private_data_len = static_cast<std::uint8_t>(parameters.private_bytes);
  param.responder_resources = parameters.reads_served;
  param.initiator_depth = parameters.reads_asked;
  param.flow_control = 1;
  param.retry_count = kRetries;
  param.rnr_retry_count = kRetries;
  param.srq = 1;
  param.qp_num = parameters.queue_pair;
  return param;
}

class SystemCmDriver final : public CmDriver {
 public:
  Status load() noexcept override { return detail::load_cm_library(); }

  CmChannel* create_event_channel() noexcept override {
    return reinterpret_cast<CmChannel*>(cm.rdma_create_event_channel());
  }
  void destroy_event_channel(CmChannel* channel) noexcept override {
    cm.rdma_destroy_event_channel(of(channel));
  }
  int fd(const CmChannel* channel) const noexcept override {
    return reinterpret_cast<const rdma_event_channel*>(channel)->fd;
  }
  int get_event(CmChannel* channel, CmEvent* event) noexcept override {
    rdma_cm_event* got = nullptr;
    if (cm.rdma_get_cm_event(of(channel), &got) != 0) return -1;
    *event = {.kind = kind_of(got->event),
              .id = reinterpret_cast<CmId*>(got->id),
              .status = got->status < 0 ? -got->status : got->status,
              .words = cm.rdma_event_str(got->event),
              .parameters = {}};
    if (event->kind == CmEvent::Kind::kRequest || event->kind == CmEvent::Kind::kResponse) {
      event->parameters = copied(got->param.conn);
    }
    return cm.rdma_ack_cm_event(got);
  }

  CmId* create_id(CmChannel* channel) noexcept override {
    rdma_cm_id* made = nullptr;
    if (cm.rdma_create_id(of(channel), &made, nullptr, RDMA_PS_TCP) != 0) return nullptr;
    return reinterpret_cast<CmId*>(made);
  }
  int destroy_id(CmId* id) noexcept override { return cm.rdma_destroy_id(of(id)); }
  int bind_addr(CmId* id, const sockaddr* address) noexcept override {
    return cm.rdma_bind_addr(of(id), const_cast<sockaddr*>(address));
  }
  int listen(CmId* id, int backlog) noexcept override { return cm.rdma_listen(of(id), backlog); }
  std::uint16_t source_port(CmId* id) const noexcept override { return ntohs(cm.rdma_get_src_port(of(id))); }
  int resolve_addr(CmId* id, const sockaddr* to, int timeout_ms) noexcept override {
    return cm.rdma_resolve_addr(of(id), nullptr, const_cast<sockaddr*>(to), timeout_ms);
  }
  int resolve_route(CmId* id, int timeout_ms) noexcept override {
    return cm.rdma_resolve_route(of(id), timeout_ms);
  }
  int connect(CmId* id, const CmParameters& parameters) noexcept override {
    rdma_conn_param param = param_of(parameters);
    return cm.rdma_connect(of(id), &param);
  }
  int accept(CmId* id, const CmParameters& parameters) noexcept override {
    rdma_conn_param param = param_of(parameters);
    return cm.rdma_accept(of(id), &param);
  }
  int refuse(CmId* id) noexcept override { return cm.rdma_reject(of(id), nullptr, 0); }
  int establish(CmId* id) noexcept override { return cm.rdma_establish(of(id)); }
  int init_qp_attr(CmId* id, ibv_qp_attr* attributes, int* mask) noexcept override {
    return cm.rdma_init_qp_attr(of(id), attributes, mask);
  }

  const char* device_name(const CmId* id) const noexcept override {
    return of(id)->verbs != nullptr ? of(id)->verbs->device->name : nullptr;
  }
  std::uint8_t port(const CmId* id) const noexcept override { return of(id)->port_num; }
};

}  // namespace

CmDriver& system_cm_driver() noexcept {
  static SystemCmDriver driver;
  return driver;
}

}  // namespace weft::verbs
