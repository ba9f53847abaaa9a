// SPDX-License-Identifier: Apache-2.0
#include <chrono>
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
    leave_to_parent(streams_);
    leave_to_parent(running_);
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
    cancel(operation.id);
    while (!wait(waiting)) PyErr_Clear();
  }
  if (!good) throw nb::python_error();
  return operation.result();
}

void ThreadedClient::begin(Operation& operation, Waiting& waiting) {
  if (made_in_.in_child()) {
    throw_runtime_error("the client was made before a fork: make another one in the child");
  }
  operation.id = new_number();
  // An exception is made without the lock: code of Python may run then, and drop a stream of this client.
  const bool open = [&] {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    running_.emplace(operation.id, Running{&operation, &waiting});
    thread_->post([this, &operation] { operation.begin(*client_, streams_, *this); });
    return true;
  }();
  if (!open) throw_runtime_error("the client is closed");
}

// The number refers to nothing of the thread that waits, which may go on before the loop comes to this, or
// after the loop has stopped.
void ThreadedClient::cancel(std::uint64_t operation) {
  const std::lock_guard lock(mutex_);
  if (!running_.contains(operation)) return;
  thread_->post([this, operation] {
    const std::lock_guard inside(mutex_);
    const auto found = running_.find(operation);
    // It is there until its end, which takes the lock. Cancelling only schedules.
    if (found != running_.end()) found->second.operation->cancel();
  });
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
  const auto found = running_.find(operation.id);
  Waiting& waiting = *found->second.waiting;
  running_.erase(found);
  // close() in a handler of a signal waits for this on the thread that waits for the operation.
  if (running_.empty()) idle_.notify_all();
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
