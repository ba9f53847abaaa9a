// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/simulated_rdma/objects.hpp"

namespace weft::testing::simulated {

struct CallFailure {
  int error = 0;
  /// Calls until the one that fails; 0: every call.
  std::uint64_t countdown = 0;
  /// Null: of any device.
  const Device* device = nullptr;
};

/// All devices and what is on its way between them. Every function but the constructor is called with the
/// mutex held.
struct Network {
  std::mutex mutex;
  std::vector<std::unique_ptr<Device>> devices;
  std::size_t device_lists = 0;
  std::size_t address_handles = 0;
  /// Calls that belong to no device.
  SimulatedRdmaCounters counters;
  std::vector<std::string> faults;
  std::array<CallFailure, kCalls> failures;
  std::size_t registered_bytes = 0;
  std::size_t pinned_bytes = 0;
  std::size_t pinned_bytes_max = SIZE_MAX;
  int node_of_threads = -1;
  std::vector<std::vector<int>> distances;
  bool hold = false;
  /// Number of the work request that is refused, of those that are posted to send queues, counting down; 0:
  /// none.
  std::uint64_t refuse_in = 0;
  bool wait_for_peers = false;
  bool impatient = false;
  bool keep_completions = true;
  std::uint64_t next_sequence = 1;
  std::uint64_t next_order = 1;
  /// Queue pairs with work in their send queue, ordered, so that every run is alike.
  std::map<std::uint64_t, QueuePair*> busy;

  // network.cpp
  /// Counts a call. The errno that it has to fail with, or 0.
  int enter(Call call, Device* device);
  int enter(ibv_context* context, Call call) { return enter(call, &context_of(context).owner()); }
  void fault(std::string what) { faults.push_back(std::move(what)); }
  /// All of this name, or all.
  std::vector<Device*> named(std::string_view name) const;
  /// The region of this key, if it covers the bytes, is of this domain and allows what is asked.
  Region* region(Device& device, const ibv_pd* domain, std::uint32_t key, std::uint64_t address,
                 std::uint64_t bytes, int access) const;

  // events.cpp
  /// Waits for an event if its descriptor blocks. 0, or -1 and errno.
  template <class Event>
  static int take(Events<Event>& events, Event* event, std::unique_lock<std::mutex>& lock);
  int get_async_event(Context& context, ibv_async_event* event, std::unique_lock<std::mutex>& lock);
  int get_cq_event(Channel& channel, CompletionQueue** queue, std::unique_lock<std::mutex>& lock);
  void ack(const ibv_async_event& event);
  void raise(QueuePair& pair, ibv_event_type type);
  /// Returns the count of unacknowledged events that the destruction of the event's object waits for; null
  /// for events of ports and devices.
  unsigned* events_out(const ibv_async_event& event) const;
  /// False, and a fault, while events about it are not acknowledged. Else those that nobody got are gone.
  bool end_events(Context& context, const void* object, unsigned out);

  // completions.cpp
  void complete_send(QueuePair& pair, const SendWork& work, ibv_wc_status status, std::uint32_t bytes);
  void complete_receive(QueuePair& pair, const ReceiveWork& work, ibv_wc wc, bool solicited);
  void fail_receive(QueuePair& pair, const ReceiveWork& work, ibv_wc_status status);
  /// Puts what is no longer held into sight, in order.
  void release(CompletionQueue& queue);
  int poll(CompletionQueue& queue, int entries, ibv_wc* out);
  void arm(CompletionQueue& queue, bool solicited_only);
  /// No completion refers to the queue pair any more; those that are held are gone.
  void forget(QueuePair& pair, bool keep_ready);
  void forget(const Context& context, const ReceiveQueue& receives);

  // posting.cpp
  int post_send(QueuePair& pair, const ibv_send_wr& request);
  int post_receive(ReceiveQueue& queue, const ibv_recv_wr& request);

  // queue_pairs.cpp
  /// Moves `pair` into error, with everything flushed. Does nothing if it is there already.
  void enter_error(QueuePair& pair);
  void reset(QueuePair& pair);

  // execution.cpp
  /// Executes all that can, unless it is held.
  void pump();
  /// Executes the head of its send queue. False: it has to wait, or there is none.
  bool execute(QueuePair& pair);
  bool step();
  void expire_retries();

 private:
  void deliver(CompletionQueue& queue, Completion completion);
  void show(CompletionQueue& queue, Completion completion);

  std::optional<ibv_wc_status> perform(QueuePair& pair, SendWork& work);
  ibv_wc_status send(QueuePair& pair, QueuePair& peer, const SendWork& work);
  ibv_wc_status write(QueuePair& pair, QueuePair& peer, const SendWork& work);
  ibv_wc_status read(QueuePair& pair, QueuePair& peer, const SendWork& work);
  ibv_wc_status atomic(QueuePair& pair, QueuePair& peer, const SendWork& work);
  ibv_wc_status refuse(QueuePair& peer, ibv_event_type event, ibv_wc_status status);
  ReceiveWork take_receive(QueuePair& peer);
  bool covered(QueuePair& pair, const ibv_pd* domain, const std::vector<ibv_sge>& pieces, int access) const;
  QueuePair* peer_of(const QueuePair& pair) const;
  bool ports_up(const QueuePair& pair) const;
  /// Says how it ends that work has waited too long; none: it may wait for ever.
  static std::optional<ibv_wc_status> too_long(const QueuePair& pair, Waits waits);
  void finish(QueuePair& pair, const SendWork& work, ibv_wc_status status);
};

/// Opcodes that use up a receive of the peer.
inline bool takes_receive(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}
inline bool is_atomic(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}
inline std::uint64_t bytes_of(const SendWork& work) {
  std::uint64_t bytes = work.inline_data.size();
  for (const ibv_sge& piece : work.pieces) bytes += piece.length;
  return bytes;
}

}  // namespace weft::testing::simulated
