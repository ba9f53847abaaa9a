// SPDX-License-Identifier: Apache-2.0
#include "runtime/mailbox.hpp"

#include <sys/eventfd.h>

#include <cerrno>
#include <utility>

namespace weft::detail {

Result<std::unique_ptr<Mailbox>> Mailbox::create() {
  Descriptor signal{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!signal) return errno_status(Layer::kRuntime, "making an event descriptor", errno);
  return std::make_unique<Mailbox>(std::move(signal));
}

void Mailbox::post(UniqueFunction<void()> work) {
  Post* post = new Post{std::move(work), newest_.load(std::memory_order_relaxed)};
  while (!newest_.compare_exchange_weak(post->next, post, std::memory_order_seq_cst,
                                        std::memory_order_relaxed)) {
  }
  wake();
}

void Mailbox::wake() noexcept {
  if (!asleep_.load(std::memory_order_seq_cst)) return;
  if (!asleep_.exchange(false, std::memory_order_seq_cst)) return;
  wakeups_.fetch_add(1, std::memory_order_relaxed);
  signal();
}

void Mailbox::signal() noexcept {
  if (in_child()) return;
  const std::uint64_t one = 1;
  // Can fail only when the counter is full, after 2^64 signals.
  [[maybe_unused]] const auto written = ::write(signal_.get(), &one, sizeof one);
}

std::size_t Mailbox::run() {
  std::size_t count = 0;
  for (Post* post = take_all(); post != nullptr; ++count) {
    const std::unique_ptr<Post> current{post};
    post = current->next;
    current->work();
  }
  return count;
}

void Mailbox::drop() noexcept {
  while (Post* post = take_all()) {
    while (post != nullptr) delete std::exchange(post, post->next);
  }
}

// What was posted so far, oldest first.
Mailbox::Post* Mailbox::take_all() noexcept {
  // The common case is nothing, and a look is cheaper than an exchange.
  if (newest_.load(std::memory_order_relaxed) == nullptr) return nullptr;
  Post* newest = newest_.exchange(nullptr, std::memory_order_acquire);
  Post* oldest = nullptr;
  while (newest != nullptr) {
    Post* next = std::exchange(newest->next, oldest);
    oldest = std::exchange(newest, next);
  }
  return oldest;
}

}  // namespace weft::detail
