// SPDX-License-Identifier: Apache-2.0
#include "runtime/fd_poller.hpp"

#if WEFT_HAVE_LIBURING

#include <fcntl.h>
#include <liburing.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <new>
#include <vector>

#include "runtime/watch_table.hpp"
#include "weft/detail/base/fork_mark.hpp"

namespace weft::detail {

namespace {

constexpr unsigned kSubmissionEntries = 64;
constexpr unsigned kCompletionEntries = 1024;
constexpr unsigned kCompletionsPerLook = FdPoller::kEventsPerWait;
constexpr unsigned kPolledFor = POLLIN | POLLOUT | POLLRDHUP;
// What the answers to our own removals carry; no watch has it, its slot would be the last of 2^32.
constexpr std::uint64_t kIgnored = ~std::uint64_t{0};

// One multishot poll per watch: the kernel adds a completion for each edge until the poll is removed, or ends
// by itself (say because the completion queue overflowed), which the completion tells and we begin it anew.
//
// Requests belong to the thread that hands them to the kernel, and end with it. So they are handed over by
// the thread that waits, in wait(), except for removals: the kernel holds the file open until it knows of
// them.
class UringPoller final : public FdPoller {
 public:
  UringPoller() = default;
  ~UringPoller() override {
    if (open_) ::io_uring_queue_exit(&ring_);
  }

  Result<void> open() {
    io_uring_params params{};
    params.flags = IORING_SETUP_CQSIZE;
    params.cq_entries = kCompletionEntries;
    const int error = -::io_uring_queue_init_params(kSubmissionEntries, &ring_, &params);
    if (error != 0) return errno_status(Layer::kRuntime, "setting up io_uring", error);
    open_ = true;
    constexpr unsigned kNeeded = IORING_FEAT_EXT_ARG | IORING_FEAT_NODROP;
    if ((params.features & kNeeded) == kNeeded) return {};
    return errno_status(Layer::kRuntime, "io_uring of this kernel is too old", ENOSYS);
  }

  Result<void> watch(int fd, std::uint64_t token) override {
    if (::fcntl(fd, F_GETFD) < 0) return errno_status(Layer::kRuntime, "watching a descriptor", errno);
    const std::size_t index = WatchTable::index_of(token);
    try {
      if (index >= polls_.size()) polls_.resize(index + 1);
    } catch (const std::bad_alloc&) {
      return Status::of<kOutOfMemory>();
    }
    polls_[index] = {token, fd};
    return begin_poll(polls_[index]);
  }

  void unwatch(int, std::uint64_t token) noexcept override {
    if (made_in_.in_child()) return;  // the queues are memory that the parent uses too
    polls_[WatchTable::index_of(token)] = {};
    // Without room the poll stays until its descriptor ends, and its report has no receiver.
    if (io_uring_sqe* sqe = next_sqe()) {
      ::io_uring_prep_poll_remove(sqe, token);
      ::io_uring_sqe_set_data64(sqe, kIgnored);
    }
    flush();
  }

  std::span<const FdEvent> wait(Duration timeout) override {
    flush();
    if (timeout > Duration::zero() && ::io_uring_cq_ready(&ring_) == 0) sleep(timeout);
    std::array<io_uring_cqe*, kCompletionsPerLook> completions;
    std::size_t count = 0;
    // Ignored completions make no event, so a full look may have left some.
    for (unsigned room = kCompletionsPerLook; room != 0;
         room = kCompletionsPerLook - static_cast<unsigned>(count)) {
      const unsigned fetched = ::io_uring_peek_batch_cqe(&ring_, completions.data(), room);
      for (unsigned i = 0; i < fetched; ++i) count += take(*completions[i], events_[count]);
      ::io_uring_cq_advance(&ring_, fetched);
      if (fetched < room) break;
    }
    flush();
    return {events_.data(), count};
  }

  void flush() noexcept override {
    if (::io_uring_sq_ready(&ring_) > 0) ::io_uring_submit(&ring_);
  }

  int descriptor() const noexcept override { return ring_.ring_fd; }

 private:
  struct Poll {
    std::uint64_t token = kIgnored;
    int fd = -1;
  };

  io_uring_sqe* next_sqe() noexcept {
    io_uring_sqe* sqe = ::io_uring_get_sqe(&ring_);
    if (sqe != nullptr) return sqe;
    flush();
    return ::io_uring_get_sqe(&ring_);
  }

  Result<void> begin_poll(const Poll& poll) {
    io_uring_sqe* sqe = next_sqe();
    if (sqe == nullptr) return errno_status(Layer::kRuntime, "watching a descriptor", EBUSY);
    ::io_uring_prep_poll_multishot(sqe, poll.fd, kPolledFor);
    ::io_uring_sqe_set_data64(sqe, poll.token);
    return {};
  }

  void sleep(Duration timeout) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
    __kernel_timespec limit{.tv_sec = seconds.count(), .tv_nsec = (timeout - seconds).count()};
    io_uring_cqe* first = nullptr;
    // A failure means a timeout or a signal; in both cases the completions are read next.
    ::io_uring_wait_cqe_timeout(&ring_, &first, timeout == Duration::max() ? nullptr : &limit);
  }

  // True when `completion` says something about a watch that is still there; `event` is then what.
  bool take(const io_uring_cqe& completion, FdEvent& event) {
    const std::uint64_t token = completion.user_data;
    if (token == kIgnored) return false;
    const Poll& poll = polls_[WatchTable::index_of(token)];
    if (poll.token != token) return false;
    event = {token, {.error = true}};
    if (completion.res >= 0) event.readiness = readiness_of(static_cast<std::uint32_t>(completion.res));
    const bool ended = (completion.flags & IORING_CQE_F_MORE) == 0;
    if (ended && completion.res >= 0 && !begin_poll(poll).ok()) event.readiness.error = true;
    return true;
  }

  const ForkMark made_in_;
  io_uring ring_{};
  bool open_ = false;
  std::vector<Poll> polls_;
  std::array<FdEvent, kCompletionsPerLook> events_;
};

}  // namespace

Result<std::unique_ptr<FdPoller>> make_uring_poller() {
  auto poller = std::make_unique<UringPoller>();
  Result<void> opened = poller->open();
  if (!opened.ok()) return std::move(opened).status();
  return std::unique_ptr<FdPoller>{std::move(poller)};
}

bool built_with_uring() noexcept {
  return true;
}

}  // namespace weft::detail

#else

namespace weft::detail {

Result<std::unique_ptr<FdPoller>> make_uring_poller() {
  return Status{StatusCode::kUnimplemented, Layer::kRuntime,
                "this build has no io_uring: liburing was not found when it was configured"};
}

bool built_with_uring() noexcept {
  return false;
}

}  // namespace weft::detail

#endif
