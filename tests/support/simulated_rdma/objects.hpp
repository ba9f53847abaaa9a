// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "support/simulated_rdma/description.hpp"

/// Objects behind the handles of libibverbs. Everything is guarded by the mutex of the network.
namespace weft::testing::simulated {

struct Network;
struct Device;
struct QueuePair;
struct CompletionQueue;

/// Owns objects whose addresses are handles.
template <class Object>
class Pool {
 public:
  Object* add(std::unique_ptr<Object> object) { return objects_.emplace_back(std::move(object)).get(); }
  bool has(const void* object) const { return find(object) != objects_.end(); }
  void remove(const Object* object) { objects_.erase(find(object)); }
  std::size_t size() const { return objects_.size(); }
  auto begin() const { return objects_.begin(); }
  auto end() const { return objects_.end(); }

 private:
  auto find(const void* object) const {
    return std::find_if(objects_.begin(), objects_.end(),
                        [&](const auto& owned) { return static_cast<const void*>(owned.get()) == object; });
  }

  std::vector<std::unique_ptr<Object>> objects_;
};

/// Events that a descriptor tells of: it is readable as long as there is one.
template <class Event>
class Events {
 public:
  Events() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)) {}
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events() { ::close(fd_); }

  int fd() const { return fd_; }
  bool blocks() const { return (::fcntl(fd_, F_GETFL) & O_NONBLOCK) == 0; }
  void add(Event event) {
    events_.push_back(event);
    ::eventfd_write(fd_, 1);
  }
  bool take(Event* event) {
    if (events_.empty()) return false;
    *event = events_.front();
    events_.pop_front();
    acknowledge(1);
    return true;
  }
  template <class Predicate>
  void drop_if(Predicate predicate) {
    acknowledge(std::erase_if(events_, predicate));
  }

 private:
  void acknowledge(std::size_t gone) {
    eventfd_t one;
    for (; gone != 0; --gone) ::eventfd_read(fd_, &one);
  }

  const int fd_;
  std::deque<Event> events_;
};

enum class Waits : std::uint8_t { kNo, kForReceive, kForPeer };

struct SendWork {
  /// The request without `sg_list` and `next`, which are the caller's.
  ibv_send_wr request{};
  std::vector<ibv_sge> pieces;
  std::vector<std::byte> inline_data;
  std::uint64_t sequence = 0;
  Waits waits = Waits::kNo;
  bool signalled = false;

  bool is_inline() const { return (request.send_flags & IBV_SEND_INLINE) != 0; }
};

struct ReceiveWork {
  std::uint64_t id = 0;
  std::vector<ibv_sge> pieces;
};

struct ReceiveQueue {
  ibv_pd* domain = nullptr;
  std::uint32_t slots = 0;
  /// A slot is free again when its completion was polled.
  std::uint32_t slots_used = 0;
  std::uint32_t pieces_max = 0;
  std::deque<ReceiveWork> posted;
};

struct Completion {
  ibv_wc wc{};
  /// Owner of the completion, and the slots that polling it frees: null, null and 0 once those are no more.
  QueuePair* pair = nullptr;
  ReceiveQueue* receives = nullptr;
  std::uint32_t send_slots = 0;
  bool solicited = false;
};

struct Domain : ibv_pd {
  std::size_t users = 0;
};

struct Region : ibv_mr {
  int access = 0;
};

struct Channel : ibv_comp_channel {
  Events<CompletionQueue*> events;
};

enum class Armed : std::uint8_t { kNo, kSolicited, kAny };

struct CompletionQueue : ibv_cq {
  std::deque<Completion> ready;
  std::deque<Completion> held;
  bool hold = false;
  bool overrun = false;
  Armed armed = Armed::kNo;
  std::size_t users = 0;
  /// Events that were got and not acknowledged.
  unsigned events_out = 0;
  unsigned async_events_out = 0;
};

struct SharedReceiveQueue : ibv_srq {
  ReceiveQueue queue;
  std::uint32_t limit = 0;
  std::size_t users = 0;
  unsigned async_events_out = 0;
};

struct InjectedStatus {
  ibv_wc_status status = IBV_WC_SUCCESS;
  std::uint64_t countdown = 0;
  bool after_effect = false;

  /// Counts one work request; true for the one that is to fail.
  bool due() { return countdown != 0 && --countdown == 0; }
};

struct QueuePair : ibv_qp {
  ibv_qp_state now = IBV_QPS_RESET;
  ibv_qp_attr attributes{};
  ibv_qp_init_attr made_with{};
  /// Its place among all queue pairs of the network.
  std::uint64_t order = 0;
  std::deque<SendWork> sends;
  /// Slots that are taken, and of those the ones of executed work that no completion covers yet.
  std::uint32_t send_slots_used = 0;
  std::uint32_t send_slots_unreported = 0;
  ReceiveQueue own_receives;
  bool hold = false;
  bool hold_completions = false;
  InjectedStatus send_fault;
  InjectedStatus receive_fault;
  unsigned async_events_out = 0;

  SharedReceiveQueue* shared() const { return static_cast<SharedReceiveQueue*>(srq); }
  ReceiveQueue& receives() { return srq ? shared()->queue : own_receives; }
};

struct Context : ibv_context {
  Network* network = nullptr;
  Events<ibv_async_event> events;
  Pool<Domain> domains;
  Pool<Region> regions;
  Pool<Channel> channels;
  Pool<CompletionQueue> completion_queues;
  Pool<SharedReceiveQueue> receive_queues;
  Pool<QueuePair> queue_pairs;

  Device& owner() const;
  std::size_t objects() const {
    return domains.size() + regions.size() + channels.size() + completion_queues.size() +
           receive_queues.size() + queue_pairs.size();
  }
};

struct Device : ibv_device {
  SimulatedDevice description;
  SimulatedRdmaCounters counters;
  Pool<Context> contexts;
  /// Queue pairs by number. Numbers start the same on every device, as they do on real ones.
  std::map<std::uint32_t, QueuePair*> pairs;
  std::uint32_t next_pair = 0x11;
  /// Regions by key without its last byte, which tells local keys from remote ones.
  std::map<std::uint32_t, Region*> regions;
  std::uint32_t next_region = 1;

  /// Null when there is no such port.
  SimulatedPort* port(unsigned number) {
    return number >= 1 && number <= description.ports.size() ? &description.ports[number - 1] : nullptr;
  }
};

inline Device& Context::owner() const {
  return *static_cast<Device*>(device);
}
inline Context& context_of(ibv_context* context) {
  return *static_cast<Context*>(context);
}
inline Device& device_of(const ibv_qp& pair) {
  return context_of(pair.context).owner();
}

inline constexpr std::uint32_t kLocalKey = 0x5a;
inline constexpr std::uint32_t kRemoteKey = 0xa5;

}  // namespace weft::testing::simulated
