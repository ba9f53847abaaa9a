// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <latch>
#include <utility>

#include "client.hpp"

namespace weft::python {

namespace {

/// Time between two looks for signals, whose handlers run on the main thread with the GIL only.
constexpr std::chrono::milliseconds kSignalInterval{50};

[[noreturn]] void throw_runtime_error(const char* text) {
  PyErr_SetString(PyExc_RuntimeError, text);
  throw nb::python_error();
}

}  // namespace

ThreadedClient::ThreadedClient(const PythonOptions& options) {
  const ClientOptions client = options.client(log_);
  Result<std::unique_ptr<LoopThread>> thread = LoopThread::start();
  if (!thread.ok()) raise(thread.status());
  thread_ = *std::move(thread);
  client_ = std::make_unique<Client>(thread_->loop(), client, options.transports());
}

ThreadedClient::~ThreadedClient() {
  if (made_in_.in_child()) {
    static_cast<void>(client_.release());
    static_cast<void>(thread_.release());
    return;
  }
  const nb::gil_scoped_release without_gil;
  stop();
}

nb::object ThreadedClient::run(Operation& operation) {
  Waiting waiting;
  begin(operation, waiting);
  const bool good = wait(waiting);
  if (!good) {
    const nb::error_scope raised;
    thread_->post([this, &operation, &waiting] {
      const std::lock_guard lock(mutex_);
      // The operation is there until its thread goes on, which it does not yet. Cancelling only schedules.
      if (!waiting.ended) operation.cancel();
    });
    while (!wait(waiting)) PyErr_Clear();
    settle();
  }
  {
    const std::lock_guard lock(mutex_);
    running_.erase(&operation);
    if (running_.empty()) idle_.notify_all();
  }
  if (!good) throw nb::python_error();
  return operation.result();
}

void ThreadedClient::begin(Operation& operation, Waiting& waiting) {
  if (made_in_.in_child()) {
    throw_runtime_error("the client was made before a fork: make another one in the child");
  }
  const std::lock_guard lock(mutex_);
  if (closed_) throw_runtime_error("the client is closed");
  running_.emplace(&operation, &waiting);
  thread_->post([this, &operation] { operation.begin(*client_, streams_, *this); });
}

// Waits for what was posted before: nothing of it refers to this thread's frame any more.
void ThreadedClient::settle() {
  const nb::gil_scoped_release without_gil;
  std::latch settled{1};
  thread_->post([&settled] { settled.count_down(); });
  settled.wait();
}

bool ThreadedClient::wait(Waiting& waiting) {
  for (;;) {
    bool has_ended = false;
    {
      const nb::gil_scoped_release without_gil;
      std::unique_lock lock(mutex_);
      has_ended = waiting.changed.wait_for(lock, kSignalInterval, [&] { return waiting.ended; });
    }
    if (has_ended) return true;
    if (PyErr_CheckSignals() != 0) return false;
  }
}

void ThreadedClient::ended(Operation& operation) noexcept {
  const std::lock_guard lock(mutex_);
  Waiting& waiting = *running_.find(&operation)->second;
  waiting.ended = true;
  // Under the lock: afterwards the waiting thread may end what it waits on.
  waiting.changed.notify_one();
}

void ThreadedClient::drop_stream(std::uint64_t stream) {
  if (made_in_.in_child()) return;
  const std::lock_guard lock(mutex_);
  if (!closed_) thread_->post([this, stream] { streams_.drop(stream); });
}

void ThreadedClient::close() {
  if (made_in_.in_child()) return;
  const nb::gil_scoped_release without_gil;
  {
    std::unique_lock lock(mutex_);
    if (!std::exchange(closed_, true)) {
      thread_->post([this] {
        streams_.drop_all();
        client_->close();
      });
    }
    idle_.wait(lock, [&] { return running_.empty(); });
  }
  stop();
}

void ThreadedClient::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    if (std::exchange(stopped_, true)) return;
  }
  // What was posted may still run, so everything stays in place until the thread has ended.
  thread_->stop();
  thread_->loop().run_once(Duration::zero());
  streams_.drop_all();
  client_.reset();
  thread_->loop().run_once(Duration::zero());
}

}  // namespace weft::python
