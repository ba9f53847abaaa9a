// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <vector>

#include "weft/detail/verbs/driver.hpp"

namespace weft::testing {

/// Other devices, with a count of what was made on them through this and not destroyed: on a real device
/// nothing else says that a program leaks. Thread: any.
class CountedRdma final : public verbs::Driver {
 public:
  struct Objects {
    int contexts = 0;
    int domains = 0;
    int regions = 0;
    int address_handles = 0;
    int channels = 0;
    int completion_queues = 0;
    int receive_queues = 0;
    int queue_pairs = 0;
    std::size_t registered_bytes = 0;

    friend bool operator==(const Objects&, const Objects&) = default;
  };

  explicit CountedRdma(verbs::Driver& driver) : driver_(driver) {}

  Objects live() const {
    const std::lock_guard lock{mutex_};
    return live_;
  }
  /// Puts the oldest queue pair into error, as whoever administers the device may. False: there is none.
  bool force_error() {
    const std::lock_guard lock{mutex_};
    if (pairs_.empty()) return false;
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    return driver_.modify_qp(pairs_.front(), &attributes, IBV_QP_STATE) == 0;
  }

  ibv_device** get_device_list(int* count) noexcept override { return driver_.get_device_list(count); }
  void free_device_list(ibv_device** list) noexcept override { driver_.free_device_list(list); }
  ibv_context* open_device(ibv_device* device) noexcept override {
    return made(driver_.open_device(device), &Objects::contexts);
  }
  int close_device(ibv_context* context) noexcept override {
    return gone(driver_.close_device(context), &Objects::contexts);
  }
  int numa_node(const char* device) noexcept override { return driver_.numa_node(device); }
  int current_numa_node() noexcept override { return driver_.current_numa_node(); }
  int numa_distance(int from, int to) noexcept override { return driver_.numa_distance(from, to); }
  int query_device(ibv_context* context, ibv_device_attr* attributes) noexcept override {
    return driver_.query_device(context, attributes);
  }
  int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) noexcept override {
    return driver_.query_port(context, port, attributes);
  }
  int query_gid(ibv_context* context, std::uint8_t port, std::uint32_t index,
                ibv_gid_entry* entry) noexcept override {
    return driver_.query_gid(context, port, index, entry);
  }
  int get_async_event(ibv_context* context, ibv_async_event* event) noexcept override {
    return driver_.get_async_event(context, event);
  }
  void ack_async_event(ibv_async_event* event) noexcept override { driver_.ack_async_event(event); }

  ibv_pd* alloc_pd(ibv_context* context) noexcept override {
    return made(driver_.alloc_pd(context), &Objects::domains);
  }
  int dealloc_pd(ibv_pd* domain) noexcept override {
    return gone(driver_.dealloc_pd(domain), &Objects::domains);
  }
  ibv_mr* reg_mr(ibv_pd* domain, void* address, std::size_t bytes, int access) noexcept override {
    ibv_mr* const region = made(driver_.reg_mr(domain, address, bytes, access), &Objects::regions);
    const std::lock_guard lock{mutex_};
    if (region != nullptr) live_.registered_bytes += bytes;
    return region;
  }
  int dereg_mr(ibv_mr* region) noexcept override {
    const std::size_t bytes = region->length;
    const int error = gone(driver_.dereg_mr(region), &Objects::regions);
    const std::lock_guard lock{mutex_};
    if (error == 0) live_.registered_bytes -= bytes;
    return error;
  }

  ibv_ah* create_ah(ibv_pd* domain, ibv_ah_attr* attributes) noexcept override {
    return made(driver_.create_ah(domain, attributes), &Objects::address_handles);
  }
  int destroy_ah(ibv_ah* handle) noexcept override {
    return gone(driver_.destroy_ah(handle), &Objects::address_handles);
  }

  ibv_comp_channel* create_comp_channel(ibv_context* context) noexcept override {
    return made(driver_.create_comp_channel(context), &Objects::channels);
  }
  int destroy_comp_channel(ibv_comp_channel* channel) noexcept override {
    return gone(driver_.destroy_comp_channel(channel), &Objects::channels);
  }
  ibv_cq* create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel,
                    int vector) noexcept override {
    return made(driver_.create_cq(context, entries, cq_context, channel, vector),
                &Objects::completion_queues);
  }
  int destroy_cq(ibv_cq* queue) noexcept override {
    return gone(driver_.destroy_cq(queue), &Objects::completion_queues);
  }
  int get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** cq_context) noexcept override {
    return driver_.get_cq_event(channel, queue, cq_context);
  }
  void ack_cq_events(ibv_cq* queue, unsigned count) noexcept override { driver_.ack_cq_events(queue, count); }

  ibv_srq* create_srq(ibv_pd* domain, ibv_srq_init_attr* attributes) noexcept override {
    return made(driver_.create_srq(domain, attributes), &Objects::receive_queues);
  }
  int modify_srq(ibv_srq* queue, ibv_srq_attr* attributes, int mask) noexcept override {
    return driver_.modify_srq(queue, attributes, mask);
  }
  int destroy_srq(ibv_srq* queue) noexcept override {
    return gone(driver_.destroy_srq(queue), &Objects::receive_queues);
  }

  ibv_qp* create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) noexcept override {
    ibv_qp* const pair = made(driver_.create_qp(domain, attributes), &Objects::queue_pairs);
    const std::lock_guard lock{mutex_};
    if (pair != nullptr) pairs_.push_back(pair);
    return pair;
  }
  int modify_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask) noexcept override {
    return driver_.modify_qp(pair, attributes, mask);
  }
  int query_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask,
               ibv_qp_init_attr* made_with) noexcept override {
    return driver_.query_qp(pair, attributes, mask, made_with);
  }
  int destroy_qp(ibv_qp* pair) noexcept override {
    {
      const std::lock_guard lock{mutex_};
      std::erase(pairs_, pair);
    }
    return gone(driver_.destroy_qp(pair), &Objects::queue_pairs);
  }
  /// Not counted.
  Status load() noexcept override { return driver_.load(); }
  verbs::CmDriver* cm() noexcept override { return driver_.cm(); }

 private:
  template <typename Object>
  Object* made(Object* object, int Objects::* count) noexcept {
    const std::lock_guard lock{mutex_};
    if (object != nullptr) ++(live_.*count);
    return object;
  }
  int gone(int error, int Objects::* count) noexcept {
    const std::lock_guard lock{mutex_};
    if (error == 0) --(live_.*count);
    return error;
  }

  verbs::Driver& driver_;
  mutable std::mutex mutex_;
  Objects live_;
  std::vector<ibv_qp*> pairs_;
};

}  // namespace weft::testing
