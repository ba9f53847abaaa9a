// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
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
  // After the result, whose objects are made by code of Python: a program that ends waits in close() for
  // this.
  struct Leaving {
    ~Leaving() { client.leave(operation); }
    ThreadedClient& client;
    const std::uint64_t operation;
  };
  const Leaving leaving{*this, operation.id};
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
  thread_->post([this, operation] {
    const std::lock_guard inside(mutex_);
    const auto found = running_.find(operation);
    // It stays until its thread leaves, which takes the lock. Cancelling only schedules.
    if (found != running_.end() && !found->second.waiting->ended) found->second.operation->cancel();
  });
}

void ThreadedClient::leave(std::uint64_t operation) noexcept {
  const std::lock_guard lock(mutex_);
  running_.erase(operation);
  if (closed_) left_.notify_all();
}

bool ThreadedClient::has_left(std::thread::id but_for) const {
  return std::none_of(running_.begin(), running_.end(), [but_for](const auto& each) {
    const Waiting& waiting = *each.second.waiting;
    return !waiting.ended || waiting.thread != but_for;
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
  Waiting& waiting = *running_.find(operation.id)->second.waiting;
  waiting.ended = true;
  if (closed_) left_.notify_all();
  // Notify under the lock: after unlocking, the waiting thread may destroy the operation.
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
    // Other threads have the GIL again before the interpreter ends, which would end them within C++. This
    // thread may be in run() itself, in a handler of a signal.
    left_.wait(lock, [&] { return has_left(std::this_thread::get_id()); });
  }
  stop();
}

void ThreadedClient::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    if (std::exchange(stopped_, true)) return;
  }
  // Posted functions may still run, so the members they use stay alive until the thread has ended.
  thread_->stop();
  thread_->loop().run_once(Duration::zero());
  streams_.drop_all();
  client_.reset();
  thread_->loop().run_once(Duration::zero());
}

}  // namespace weft::python
