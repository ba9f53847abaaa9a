// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/waiter.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/poller.hpp"
#include "weft/detail/ucx/context.hpp"
#include "weft/detail/ucx/library.hpp"
#include "weft/detail/ucx/operation.hpp"
#include "weft/detail/ucx/posted.hpp"
#include "weft/detail/ucx/quiet.hpp"

namespace weft::ucx {

class Worker;
namespace detail {
struct EndpointCore;
struct EndpointTag;
class TagProbeAwaiter;
struct FoundProbeTag;

/// Waiters of tag_probe(), which look after each progress, and waiters with a message that have not run yet.
struct TagProbes {
  weft::detail::WaitList waiting;
  weft::detail::IntrusiveList<TagProbeAwaiter, FoundProbeTag> found;
};

struct Flush {
  using Value = void;
  static constexpr std::string_view kWhat = "a flush";
};
}  // namespace detail

struct AfterProgressTag;

/// Something to do once after the call of ucp_worker_progress() in which it was queued, outside of UCX's
/// callbacks: where what several callbacks noted is handled in one go. Leaves the queue when destroyed.
/// Thread: the worker's loop's.
class AfterProgress : public weft::detail::ListHook<AfterProgressTag> {
 public:
  virtual void on_progress() = 0;
  bool queued() const noexcept { return linked(); }

 protected:
  ~AfterProgress() = default;
};

struct WorkerOptions {
  /// Number of calls of ucp_worker_progress() that one turn of the loop makes as long as nothing happens.
  /// More find a message sooner and let descriptors and timers wait longer.
  unsigned progress_max = 4;
  /// Number of further polls that an operation makes before its coroutine suspends, in a loop that spins: an
  /// operation that completes within them costs no turn. The budget is shared by all operations from one turn
  /// to the next, and used only while nothing else is ready. 0: every operation that UCX does not complete at
  /// once suspends.
  unsigned progress_before_suspending_max = 256;
  /// Number of operations that may be under way; rounded up to 32. More fail with kResourceExhausted.
  std::size_t operations_max = 65'536;
  /// The alignment of active messages' data that UCX allocates; 0 for UCX's own.
  std::size_t am_alignment = 0;
};

/// UCX's worker: one thread's queues. A poller of its loop, which makes it progress and sleeps on its
/// descriptor (WaitMode of the loop: busy, adaptive, wait). Operations complete in the loop's ready queue; no
/// user code runs inside UCX.
///
/// Its destructor tears down endpoints, ends every unfinished operation as cancelled, and returns their
/// memory, independent of the peer. Waiting coroutines are resumed by the loop later; the loop must outlive
/// the worker. Its listeners, receivers and messages must be destroyed before it (asserted, as is the order
/// of loop and worker); endpoints and keys may remain, and are invalid. Thread: its loop's.
class Worker final : public Poller {
  struct Private {
    explicit Private() = default;
  };

 public:
  /// Adds itself to `loop`. Errors: those of UCX; kResourceExhausted for descriptors.
  static Result<std::unique_ptr<Worker>> create(Loop& loop, std::shared_ptr<Context> context,
                                                const WorkerOptions& options = {});
  Worker(Private, Loop& loop, std::shared_ptr<Context> context, ucp_worker_h handle,
         const WorkerOptions& options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  ucp_worker_h handle() const noexcept { return handle_; }
  Loop& loop() const noexcept { return loop_; }
  Context& context() const noexcept { return *context_; }
  detail::OperationPool& operations() noexcept { return *operations_; }
  /// Operations that UCX has not finished or whose coroutine has not taken the result.
  std::size_t operations_out() const noexcept { return operations_->out(); }

  /// Returns the address that a peer's Endpoint::connect() takes: UCX's address in a frame of ours with a
  /// checksum, so that garbage is refused before UCX looks at it. It is no protection from a peer that
  /// means harm.
  Result<std::vector<std::byte>> address() const;
  /// The largest header that an active message may have.
  std::size_t am_header_bytes_max() const noexcept { return operations_->am_header_bytes_max(); }

  /// Returns Result<void>: all operations of all endpoints that were issued before are done at the other
  /// side. Cancel: partial.
  [[nodiscard]] detail::Posted<detail::Flush> flush() noexcept;
  /// Orders remote memory operations: earlier ones take effect before later ones. Errors: UCX's.
  Result<void> fence() noexcept;

  /// Lets UCX work outside of the loop's own turn, and says whether something happened. Not inside of UCX.
  bool progress() noexcept {
    if (detail::library.ucp_worker_progress(handle_) == 0) return false;
    quiet_.broken();
    return true;
  }
  /// Stops progress for good: operations that need the processor stop here until the worker's end. For a
  /// worker that is abandoned while some of its received data is still being read.
  void rest() noexcept;

  /// Queues `hook`; again is no change.
  void after_progress(AfterProgress& hook) noexcept {
    if (hook.queued()) return;
    hooks_.push_back(hook);
    operations_->allow_calls(0);
  }

  detail::TagProbes& probes() noexcept { return probes_; }
  /// Listeners and receivers with their messages, which end before the worker.
  void add_dependent() noexcept { ++dependents_; }
  void remove_dependent() noexcept { --dependents_; }

  std::size_t poll() override;
  bool arm() override;
  int descriptor() const override { return descriptor_; }
  Duration patience() const override { return quiet_.patience(); }

 private:
  friend struct detail::EndpointCore;

  Result<void> start();
  std::size_t run_hooks();

  Loop& loop_;
  const std::shared_ptr<Context> context_;
  const ucp_worker_h handle_;
  const unsigned progress_max_;
  const unsigned progress_before_suspending_max_;
  int descriptor_ = -1;
  bool added_ = false;
  detail::Quiet quiet_;
  detail::OperationPool* const operations_;
  weft::detail::IntrusiveList<AfterProgress, AfterProgressTag> hooks_;
  detail::TagProbes probes_;
  std::size_t dependents_ = 0;
  weft::detail::IntrusiveList<detail::EndpointCore, detail::EndpointTag> endpoints_;
};

}  // namespace weft::ucx
