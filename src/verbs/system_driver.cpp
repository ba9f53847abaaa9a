// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "verbs/library.hpp"
#include "weft/detail/verbs/driver.hpp"

#ifdef WEFT_HAS_RDMACM
#include "verbs/system_cm_driver.hpp"
#endif

namespace weft::verbs {

namespace {

using detail::library;

/// Returns the number at `place` in a file of the kernel's; -1 when there is none.
int number_in(const char* path, int place) noexcept {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  std::array<char, 4096> text{};
  const auto size = ::read(file, text.data(), text.size());
  ::close(file);
  const char* at = text.data();
  const char* const end = at + (size > 0 ? size : 0);
  int number = -1;
  for (; place >= 0; --place) {
    while (at != end && (*at == ' ' || *at == '\n')) ++at;
    const auto [behind, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) return -1;
    at = behind;
  }
  return number;
}

class SystemDriver final : public Driver {
 public:
  Status load() noexcept override { return detail::load_library(); }

  ibv_device** get_device_list(int* count) noexcept override { return library.ibv_get_device_list(count); }
  void free_device_list(ibv_device** list) noexcept override { library.ibv_free_device_list(list); }
  ibv_context* open_device(ibv_device* device) noexcept override { return library.ibv_open_device(device); }
  int close_device(ibv_context* context) noexcept override { return library.ibv_close_device(context); }
  int query_device(ibv_context* context, ibv_device_attr* attributes) noexcept override {
    return library.ibv_query_device(context, attributes);
  }
  int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) noexcept override {
    // As the header's function does: the device's own, which knows all attributes, where it has one.
    const verbs_context* const device = verbs_get_ctx(context);
    const bool reaches_so_far =
        device != nullptr && device->sz >= sizeof *device - offsetof(verbs_context, query_port);
    if (reaches_so_far && device->query_port != nullptr) {
      return device->query_port(context, port, attributes, sizeof *attributes);
    }
    std::memset(attributes, 0, sizeof *attributes);
    // In parentheses it is not the header's macro of that name.
    return (library.ibv_query_port)(context, port, reinterpret_cast<_compat_ibv_port_attr*>(attributes));
  }
  int query_gid(ibv_context* context, std::uint8_t port, std::uint32_t index,
                ibv_gid_entry* entry) noexcept override {
    return library._ibv_query_gid_ex(context, port, index, entry, 0, sizeof *entry);
  }
  int numa_node(const char* device) noexcept override {
    std::array<char, 128> path{};
    std::snprintf(path.data(), path.size(), "/sys/class/infiniband/%s/device/numa_node", device);
    return number_in(path.data(), 0);
  }
  int current_numa_node() noexcept override {
    unsigned processor = 0;
    unsigned node = 0;
    return ::getcpu(&processor, &node) == 0 ? static_cast<int>(node) : -1;
  }
  int numa_distance(int from, int to) noexcept override {
    std::array<char, 64> path{};
    std::snprintf(path.data(), path.size(), "/sys/devices/system/node/node%d/distance", from);
    return number_in(path.data(), to);
  }
  int get_async_event(ibv_context* context, ibv_async_event* event) noexcept override {
    return library.ibv_get_async_event(context, event);
  }
  void ack_async_event(ibv_async_event* event) noexcept override { library.ibv_ack_async_event(event); }

  ibv_pd* alloc_pd(ibv_context* context) noexcept override { return library.ibv_alloc_pd(context); }
  int dealloc_pd(ibv_pd* domain) noexcept override { return library.ibv_dealloc_pd(domain); }
  ibv_mr* reg_mr(ibv_pd* domain, void* address, std::size_t bytes, int access) noexcept override {
    return library.ibv_reg_mr_iova2(domain, address, bytes, reinterpret_cast<std::uintptr_t>(address),
                                    static_cast<unsigned>(access));
  }
  int dereg_mr(ibv_mr* region) noexcept override { return library.ibv_dereg_mr(region); }

  ibv_ah* create_ah(ibv_pd* domain, ibv_ah_attr* attributes) noexcept override {
    return library.ibv_create_ah(domain, attributes);
  }
  int destroy_ah(ibv_ah* handle) noexcept override { return library.ibv_destroy_ah(handle); }

  ibv_comp_channel* create_comp_channel(ibv_context* context) noexcept override {
    return library.ibv_create_comp_channel(context);
  }
  int destroy_comp_channel(ibv_comp_channel* channel) noexcept override {
    return library.ibv_destroy_comp_channel(channel);
  }
  ibv_cq* create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel,
                    int vector) noexcept override {
    return library.ibv_create_cq(context, entries, cq_context, channel, vector);
  }
  int destroy_cq(ibv_cq* queue) noexcept override { return library.ibv_destroy_cq(queue); }
  int get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** cq_context) noexcept override {
    return library.ibv_get_cq_event(channel, queue, cq_context);
  }
  void ack_cq_events(ibv_cq* queue, unsigned count) noexcept override {
    library.ibv_ack_cq_events(queue, count);
  }

  ibv_srq* create_srq(ibv_pd* domain, ibv_srq_init_attr* attributes) noexcept override {
    return library.ibv_create_srq(domain, attributes);
  }
  int modify_srq(ibv_srq* queue, ibv_srq_attr* attributes, int mask) noexcept override {
    return library.ibv_modify_srq(queue, attributes, mask);
  }
  int destroy_srq(ibv_srq* queue) noexcept override { return library.ibv_destroy_srq(queue); }

  ibv_qp* create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) noexcept override {
    return library.ibv_create_qp(domain, attributes);
  }
  int modify_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask) noexcept override {
    return library.ibv_modify_qp(pair, attributes, mask);
  }
  int query_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask,
               ibv_qp_init_attr* made_with) noexcept override {
    return library.ibv_query_qp(pair, attributes, mask, made_with);
  }
  int destroy_qp(ibv_qp* pair) noexcept override { return library.ibv_destroy_qp(pair); }

#ifdef WEFT_HAS_RDMACM
  CmDriver* cm() noexcept override { return &system_cm_driver(); }
#endif
};

}  // namespace

Driver& system_driver() noexcept {
  static SystemDriver driver;
  return driver;
}

}  // namespace weft::verbs
