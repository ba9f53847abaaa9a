// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/loop_thread.hpp"

#include <pthread.h>
#include <sched.h>

#include <new>
#include <system_error>

namespace weft {

namespace {

Result<void> pin_to(int cpu) {
  if (cpu < 0) return {};
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &cpus);
  const int error = ::pthread_setaffinity_np(::pthread_self(), sizeof cpus, &cpus);
  if (error == 0) return {};
  return Status{
      StatusCode::kInvalidArgument, Layer::kRuntime,
      [&] { return "LoopThreadOptions::cpu: a thread cannot be pinned to processor " + std::to_string(cpu); },
      error};
}

/// Set by a LoopThread that was destroyed on its own thread: the thread then destroys the loop after its
/// turn.
constinit thread_local bool owns_its_loop = false;

/// Runs the loop until it is stopped.
void run_thread(Loop* loop) {
  loop->run();
  if (!owns_its_loop) return;
  // Ends of objects that the last turn scheduled.
  loop->run_once(Duration::zero());
  delete loop;
}

Result<std::unique_ptr<Loop>> begin_thread(const LoopThreadOptions& options) {
  ::pthread_setname_np(::pthread_self(), options.name.substr(0, 15).c_str());
  Result<void> pinned = pin_to(options.cpu);
  if (!pinned.ok()) return std::move(pinned).status();
  return Loop::create(options.loop);
}

}  // namespace

Result<std::unique_ptr<LoopThread>> LoopThread::start(LoopThreadOptions options) {
  std::unique_ptr<LoopThread> self{new LoopThread};
  Result<std::unique_ptr<Loop>> created{std::unique_ptr<Loop>{}};
  try {
    self->thread_ = std::thread([&options, &created, &begun = self->begun_] {
      try {
        created = begin_thread(options);
      } catch (const std::bad_alloc&) {
        created = Status::of<detail::kOutOfMemory>();
      }
      // The starter takes the loop out of `created`, which is destroyed with start(): do not access it
      // afterwards.
      Loop* loop = created.ok() ? created->get() : nullptr;
      begun.count_down();
      if (loop != nullptr) run_thread(loop);
    });
  } catch (const std::system_error& error) {
    return Status{StatusCode::kResourceExhausted, Layer::kRuntime, "no thread for a loop",
                  error.code().value()};
  }
  self->begun_.wait();
  if (!created.ok()) {
    self->thread_.join();
    return std::move(created).status();
  }
  self->loop_ = std::move(*created);
  return self;
}

// A thread cannot join itself. During exit(), which does not return to the turn, the loop stays until the
// process ends.
LoopThread::~LoopThread() {
  const bool is_own = thread_.joinable() && thread_.get_id() == std::this_thread::get_id();
  if (!is_own || made_in_.in_child()) {
    stop();
    return;
  }
  loop_->stop();
  thread_.detach();  // allow(no_detach): it runs this destructor, and destroys the loop afterwards
  owns_its_loop = true;
  static_cast<void>(loop_.release());  // NOLINT(bugprone-unused-return-value): the thread destroys it
}

// The thread does not exist in this process, and its copied state cannot be ended.
void LoopThread::leave_to_parent() {
  static_cast<void>(new std::thread{std::move(thread_)});
  static_cast<void>(loop_.release());  // NOLINT(bugprone-unused-return-value): left to the parent
}

void LoopThread::stop() {
  if (!thread_.joinable()) return;
  if (made_in_.in_child()) return leave_to_parent();
  WEFT_ASSERT(thread_.get_id() != std::this_thread::get_id(), "a LoopThread was stopped from its own thread");
  loop_->stop();
  thread_.join();
}

}  // namespace weft
