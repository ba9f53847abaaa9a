// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "weft/detail/verbs/completion_queue.hpp"
#include "weft/detail/verbs/posted.hpp"

namespace weft::verbs {

/// Result of a receive.
struct Received {
  std::size_t bytes = 0;
  /// Immediate data that the peer sent along, as it gave it.
  std::optional<std::uint32_t> immediate{};
  /// The number of our queue pair that it came to.
  std::uint32_t queue_pair = 0;
};

namespace detail {

struct Receive {
  using Value = Received;
  static constexpr std::string_view kWhat = "a receive";
  static Received result(const Outcome& outcome) noexcept;
};

}  // namespace detail

struct SharedReceiveQueueOptions {
  std::size_t receives_max = 256;
  std::size_t segments_max = 1;
};

/// Receives that several queue pairs share: whichever is sent to takes the oldest one. All of them complete
/// into one completion queue. Ends after its queue pairs and before the completion queue. Thread: its loop's.
class SharedReceiveQueue final : private detail::WorkQueue {
  struct Private {
    explicit Private() = default;
  };

 public:
  /// Errors: kResourceExhausted when the completion queue has no room for as many.
  static Result<std::unique_ptr<SharedReceiveQueue>> create(std::shared_ptr<ProtectionDomain> domain,
                                                            CompletionQueue& completions,
                                                            const SharedReceiveQueueOptions& options = {});
  SharedReceiveQueue(Private, std::shared_ptr<ProtectionDomain> domain, CompletionQueue& completions,
                     const SharedReceiveQueueOptions& options) noexcept;
  ~SharedReceiveQueue();

  ibv_srq* handle() const noexcept { return handle_; }
  CompletionQueue& completions() const noexcept { return completions_; }
  /// Receives that the device has.
  std::size_t posted() const noexcept { return WorkQueue::posted(); }

  /// Receives one message into `memory`. Returns Result<Received>. Cancel: partial, the message that comes
  /// next is lost. Errors: kOutOfRange for one that is longer, which ends its queue pair; kUnavailable when
  /// the queue pair that took the receive ended.
  [[nodiscard]] detail::Posted<detail::Receive> receive(const Memory& memory) {
    return receive({&memory, 1});
  }
  [[nodiscard]] detail::Posted<detail::Receive> receive(std::span<const Memory> memory);

  /// Raises IBV_EVENT_SRQ_LIMIT_REACHED once when fewer than `receives` are left.
  Status notify_below(std::size_t receives);

 private:
  int post(detail::Operation& operation) noexcept override;

  const std::shared_ptr<ProtectionDomain> domain_;
  CompletionQueue& completions_;
  const std::size_t segments_max_;
  std::size_t reserved_ = 0;
  ibv_srq* handle_ = nullptr;
};

}  // namespace weft::verbs
