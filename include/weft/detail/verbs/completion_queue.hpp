// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "weft/detail/base/result.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/poller.hpp"
#include "weft/detail/verbs/device.hpp"
#include "weft/detail/verbs/operation.hpp"

namespace weft::verbs {

struct CompletionQueueOptions {
  /// Capacity in completions. Queues that complete into it reserve entries for their operations under way, so
  /// that it never overruns.
  std::size_t entries = 1024;
  /// Lets the loop sleep until something completes. Without it a loop with this queue never sleeps.
  bool event_channel = true;
  /// Number of one of the device's interrupt vectors.
  int vector = 0;
};

/// Receiver of the completions of work requests that it posted itself, without coroutines.
class CompletionHandler {
 public:
  /// Called by the queue's poll; `cookie` is what CompletionQueue::id_for() was given. Must not destroy the
  /// queue.
  virtual void on_completion(std::uint32_t cookie, const ibv_wc& completion) noexcept = 0;
  /// Called once, by a poll too: the queue cannot be asked any more (CompletionQueue::failed()).
  virtual void on_queue_failed() noexcept {}

 protected:
  ~CompletionHandler() = default;
};

/// Queue in which the completions of queue pairs arrive. A poller of its loop, which asks it and sleeps on
/// its event channel (WaitMode of the loop: busy, adaptive, wait). Coroutines are resumed by the loop's ready
/// queue. Ends after the queues that complete into it. Thread: its loop's.
class CompletionQueue final : public Poller {
  struct Private {
    explicit Private() = default;
  };

 public:
  /// Adds itself to `loop`. Errors: kInvalidArgument for more entries than the device has.
  static Result<std::unique_ptr<CompletionQueue>> create(Loop& loop, std::shared_ptr<Device> device,
                                                         const CompletionQueueOptions& options = {});
  CompletionQueue(Private, Loop& loop, std::shared_ptr<Device> device, const CompletionQueueOptions& options);
  ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  ibv_cq* handle() const noexcept { return handle_; }
  Loop& loop() const noexcept { return loop_; }
  Device& device() const noexcept { return *device_; }
  /// Operations whose coroutine has not taken the result, or that the device has.
  std::size_t operations_out() const noexcept { return table_->out(); }
  /// Number of completions that arrived after their queue was destroyed.
  std::uint64_t strays() const noexcept { return strays_; }
  /// Returns the error with which ibv_poll_cq() failed, as a positive number, or 0. Coroutines' operations
  /// have ended with kUnavailable then, but the device may use their memory still: it comes back with the
  /// end of their queues.
  int failed() const noexcept { return failed_; }

  /// Room for `entries` completions; false when there is not as much. release() gives it back.
  bool reserve(std::size_t entries) noexcept;
  void release(std::size_t entries) noexcept;
  std::size_t room() const noexcept { return entries_ - reserved_; }
  /// Returns the failure of a queue for which reserve() was false.
  Status no_room_for(std::size_t entries, std::string_view what) const;

  /// Adds `handler` for completions of work requests with an id from id_for(), until remove(). Later
  /// completions are dropped.
  std::uint32_t add(CompletionHandler& handler);
  void remove(std::uint32_t place) noexcept;
  /// `cookie` below 2^24.
  std::uint64_t id_for(std::uint32_t place, std::uint32_t cookie) const noexcept;

  detail::OperationTable& operations() noexcept { return *table_; }

  /// Fetches the present completions, but none that arrive meanwhile. Not inside a
  /// CompletionHandler.
  void drain() noexcept;

  std::size_t poll() override;
  bool arm() override;
  int descriptor() const override { return channel_.handle != nullptr ? channel_.handle->fd : -1; }

 private:
  struct Place {
    CompletionHandler* handler = nullptr;
    std::uint32_t generation = 0;
  };
  /// `asked`: the device was asked for an event that was not taken. `came`: something has completed since.
  struct Channel {
    ibv_comp_channel* handle = nullptr;
    bool asked = false;
    bool came = false;
  };

  Status start(const CompletionQueueOptions& options);
  void handle_completion(const ibv_wc& completion) noexcept;
  std::size_t fail(int error) noexcept;
  void take_event() noexcept;

  Loop& loop_;
  const std::shared_ptr<Device> device_;
  const std::size_t entries_;
  std::size_t reserved_ = 0;
  /// Entries among these that were reserved by queues which are gone, and whose completions may still be in
  /// the queue.
  std::size_t leaving_ = 0;
  Channel channel_;
  ibv_cq* handle_ = nullptr;
  bool added_ = false;
  int failed_ = 0;
  std::uint64_t strays_ = 0;
  detail::OperationTable* const table_;
  std::vector<Place> places_;
};

}  // namespace weft::verbs
