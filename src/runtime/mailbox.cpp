// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/mailbox.hpp"

#include <sys/eventfd.h>

#include <cerrno>
#include <utility>

namespace weft::detail {

// A function that was posted.
class Mailbox::Post final : public Posted {
 public:
  explicit Post(UniqueFunction<void()> work) noexcept : work_(std::move(work)) {}

  void run() override {
    const std::unique_ptr<Post> self{this};
    work_();
  }
  void drop() noexcept override { delete this; }

 private:
  UniqueFunction<void()> work_;
};

Result<std::shared_ptr<Mailbox>> Mailbox::create() {
  Descriptor signal{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!signal) return errno_status(Layer::kRuntime, "making an event descriptor", errno);
  return std::make_shared<Mailbox>(std::move(signal));
}

void Mailbox::post(UniqueFunction<void()> work) {
  push(*new Post{std::move(work)});
}

void Mailbox::post(Posted& node) noexcept {
  push(node);
  if (state_.load(std::memory_order_seq_cst) == State::kEnded) drop();
}

// The errand still belongs to its sender, even while the loop uses it.
bool Mailbox::send(Errand& errand) noexcept {
  if (in_child() || state_.load(std::memory_order_relaxed) != State::kOpen) return false;
  push(errand);
  const State state = state_.load(std::memory_order_seq_cst);
  if (state == State::kStopped && errand.claim()) errand.refuse();
  if (state == State::kEnded) drop();
  return true;
}

void Mailbox::push(Posted& node) noexcept {
  Posted* newest = newest_.load(std::memory_order_relaxed);
  do node.next_ = newest;
  while (!newest_.compare_exchange_weak(newest, &node, std::memory_order_seq_cst, std::memory_order_relaxed));
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
  for (Posted* node = take_all(); node != nullptr; ++count) {
    Posted* next = node->next_;
    node->run();
    node = next;
  }
  return count;
}

void Mailbox::stop_errands() noexcept {
  state_.store(State::kStopped, std::memory_order_seq_cst);
  // Only the loop takes anything out, and it is here.
  for (Posted* node = newest_.load(std::memory_order_seq_cst); node != nullptr; node = node->next_) {
    if (!node->is_errand_) continue;
    Errand& errand = static_cast<Errand&>(*node);
    if (errand.claim()) errand.refuse();
  }
  while (!begun_.empty()) begun_.pop_front().end_now();
}

void Mailbox::end_errands_of(const void* whom) noexcept {
  if (in_child()) return;  // the waiters are in the parent
  IntrusiveList<Errand, ErrandTag> theirs;
  begun_.for_each([&](Errand& errand) {
    if (!errand.is_of(whom)) return;
    errand.unlink();
    theirs.push_back(errand);
  });
  while (!theirs.empty()) theirs.pop_front().end_now();
}

void Mailbox::end() noexcept {
  Posted* oldest = nullptr;
  {
    const std::lock_guard lock{ending_};
    state_.store(State::kEnded, std::memory_order_seq_cst);
    oldest = take_all();
  }
  drop_all(oldest);
  while (!in_child() && !begun_.empty()) begun_.pop_front().end_now();
  drop();
}

void Mailbox::drop() noexcept {
  for (;;) {
    Posted* oldest = nullptr;
    {
      const std::lock_guard lock{ending_};
      oldest = take_all();
    }
    if (oldest == nullptr) return;
    drop_all(oldest);
  }
}

void Mailbox::drop_all(Posted* oldest) noexcept {
  while (oldest != nullptr) {
    Posted* node = std::exchange(oldest, oldest->next_);
    node->drop();
  }
}

// Returns all posted work so far, oldest first.
Posted* Mailbox::take_all() noexcept {
  // The common case is nothing, and a look is cheaper than an exchange.
  if (empty()) return nullptr;
  Posted* newest = newest_.exchange(nullptr, std::memory_order_acquire);
  Posted* oldest = nullptr;
  while (newest != nullptr) {
    Posted* next = std::exchange(newest->next_, oldest);
    oldest = std::exchange(newest, next);
  }
  return oldest;
}

}  // namespace weft::detail
