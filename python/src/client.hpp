// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "operation.hpp"
#include "weft/detail/base/fork_mark.hpp"

namespace weft::python {

/// Options of a client, as Python gives them.
struct PythonOptions {
  std::string url;
  double connect_timeout = 5;
  double call_timeout = 30;
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  std::string server_name;
  bool insecure = false;

  /// Throws nb::python_error.
  ClientOptions client(Logger& logger) const;
  TransportOptions transports() const;
};

/// Leaks `object` on purpose. A child process needs this after fork(): the destructor would close descriptors
/// and unregister watches that the parent uses.
template <typename T>
void leave_to_parent(T& object) noexcept {
  static_cast<void>(new (std::nothrow) T(std::move(object)));
}

/// Keeps lines of the log until Python takes them: the loop may run where no code of Python may. Thread: any.
class LogQueue final : public Logger {
 public:
  void write(LogLevel level, std::string_view message) override;
  bool has_lines() const noexcept { return has_lines_.load(std::memory_order_relaxed); }
  /// Returns pairs of level and text. With the GIL.
  nb::list take();

 private:
  static constexpr std::size_t kLinesMax = 1000;

  std::mutex mutex_;
  std::deque<std::pair<LogLevel, std::string>> lines_;
  std::atomic<bool> has_lines_ = false;
};

/// A client whose loop turns inside a loop of Python, when its descriptor is readable. With the GIL, on the
/// thread of that loop.
class DrivenClient final : OperationOwner {
 public:
  explicit DrivenClient(const PythonOptions& options);
  /// Ends operations under way; their futures stay as they are.
  ~DrivenClient();
  DrivenClient(const DrivenClient&) = delete;
  DrivenClient& operator=(const DrivenClient&) = delete;

  int descriptor();
  /// One turn, and the outcomes of operations that ended in it go to their futures. Returns true if there are
  /// lines of the log to take.
  bool turn();
  /// Begins `operation` in the next turn. `future` gets its outcome by set_result() or set_exception().
  /// Returns its number.
  std::uint64_t start(std::unique_ptr<Operation> operation, nb::object future);
  /// Asks for an early end; without an effect after the end.
  void cancel(std::uint64_t operation);
  void drop_stream(std::uint64_t stream);
  /// Ends all operations and the connection; futures get their failures.
  void close();
  /// Empty in a child of fork.
  nb::list take_log() { return made_in_.in_child() ? nb::list{} : log_.take(); }
  std::uint64_t new_number() noexcept { return ++last_number_; }

 private:
  struct Running {
    std::unique_ptr<Operation> operation;
    nb::object future;
    bool begun = false;
  };

  /// A request of Python between two turns; the loop does them in their order.
  struct Request {
    enum class Kind : std::uint8_t { kBegin, kCancel, kDropStream } kind;
    std::uint64_t number;
  };

  void ended(Operation& operation) noexcept override;
  void check_open() const;
  void request(Request::Kind kind, std::uint64_t number);
  void do_requests();
  void do_request(const Request& request);
  void deliver();
  static void deliver(Operation& operation, nb::handle future) noexcept;
  void end_all() noexcept;

  LogQueue log_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<Client> client_;
  Streams streams_;
  std::unordered_map<std::uint64_t, Running> running_;
  /// Operations that begin() was called for, and that have not ended.
  std::size_t unfinished_ = 0;
  std::vector<Request> requests_;
  std::vector<std::uint64_t> ended_;
  std::uint64_t last_number_ = 0;
  bool posted_ = false;
  bool closed_ = false;
  detail::ForkMark made_in_;
};

/// A client whose loop has a thread of its own, and whose operations block the threads of Python that make
/// them, without the GIL. Thread: any, with the GIL.
class ThreadedClient final : OperationOwner {
 public:
  explicit ThreadedClient(const PythonOptions& options);
  ~ThreadedClient();
  ThreadedClient(const ThreadedClient&) = delete;
  ThreadedClient& operator=(const ThreadedClient&) = delete;

  /// Runs `operation` to its end and returns its result. A signal whose handler raises cancels it; a handler
  /// may also close this client.
  nb::object run(Operation& operation);
  void drop_stream(std::uint64_t stream);
  /// Ends all operations and the connection, and waits for that.
  void close();
  bool has_log() const noexcept { return log_.has_lines(); }
  /// Returns nothing in a child process after fork(): a thread of the parent may have held the lock, and the
  /// child has no such thread to release it.
  nb::list take_log() { return made_in_.in_child() ? nb::list{} : log_.take(); }
  std::uint64_t new_number() noexcept { return last_number_.fetch_add(1) + 1; }

 private:
  /// The wait of a thread for its operation; guarded by the mutex.
  struct Waiting {
    std::condition_variable changed;
    const std::thread::id thread = std::this_thread::get_id();
    bool ended = false;
  };
  struct Running {
    Operation* operation;
    Waiting* waiting;
  };

  void ended(Operation& operation) noexcept override;
  /// Waits for the end. Returns false if a handler of a signal raised meanwhile.
  bool wait(Waiting& waiting);
  void begin(Operation& operation, Waiting& waiting);
  void cancel(std::uint64_t operation);
  void leave(std::uint64_t operation) noexcept;
  bool has_left(std::thread::id but_for) const;
  void stop() noexcept;

  LogQueue log_;
  std::unique_ptr<LoopThread> thread_;
  std::unique_ptr<Client> client_;
  Streams streams_;
  std::mutex mutex_;
  /// Notified when an operation has ended, or its thread leaves, after close() has begun.
  std::condition_variable left_;
  /// Operations whose threads are in run(), by their numbers; guarded by the mutex, as is `closed_`.
  std::unordered_map<std::uint64_t, Running> running_;
  bool closed_ = false;
  bool stopped_ = false;
  std::atomic<std::uint64_t> last_number_ = 0;
  detail::ForkMark made_in_;
};

}  // namespace weft::python
