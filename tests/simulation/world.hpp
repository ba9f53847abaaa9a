// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "weft/client.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/sleep.hpp"
#include "weft/detail/transport/memory.hpp"
#include "weft/server.hpp"

namespace weft::simulation {

using namespace std::chrono_literals;

inline Buffer blob(std::size_t bytes) {
  Buffer buffer = Buffer::try_allocate(bytes).value();
  std::memset(buffer.mutable_bytes().data(), 'b', bytes);
  return buffer;
}

/// Handlers of every kind that stays on its loop. Each call has a number, and how often it ran is counted.
struct Service {
  std::map<std::uint32_t, int> executed;
  std::deque<std::pair<Reply<std::uint32_t>, std::uint32_t>> owed;
  Client* inner = nullptr;

  static std::uint32_t answer_to(std::uint32_t number) { return number * 3 + 1; }

  std::uint32_t plain(std::uint32_t number) {
    ++executed[number];
    return answer_to(number);
  }
  Task<std::uint32_t> nap(std::uint32_t number, std::uint32_t milliseconds) {
    ++executed[number];
    [[maybe_unused]] const auto slept = co_await sleep_for(std::chrono::milliseconds{milliseconds});
    co_return answer_to(number);
  }
  void later(Reply<std::uint32_t> reply, std::uint32_t number) {
    ++executed[number];
    owed.emplace_back(std::move(reply), number);
  }
  std::uint32_t take(CallContext& context, std::uint32_t number, std::uint32_t bytes) {
    ++executed[number];
    return context.attachment().size() == bytes ? answer_to(number) : 0;
  }
  std::uint32_t give(CallContext& context, std::uint32_t number, std::uint32_t bytes) {
    ++executed[number];
    context.set_attachment(blob(bytes));
    return answer_to(number);
  }
  Task<Result<std::uint32_t>> relay(std::uint32_t number) {
    Result<std::uint32_t> result = co_await inner->call<&Service::nap>(number, 5u);
    co_return result;
  }
  /// Returns how long its caller waits for it.
  std::uint32_t microseconds_left(CallContext& context) {
    const Duration left = context.deadline().remaining(Loop::current()->now());
    return static_cast<std::uint32_t>(left / 1us);
  }
  /// Keeps one of the promised answers. False when none is owed.
  bool answer_one() {
    if (owed.empty()) return false;
    auto [reply, number] = std::move(owed.front());
    owed.pop_front();
    std::move(reply)(answer_to(number));
    return true;
  }
};

class SilentLogger final : public Logger {
 public:
  void write(LogLevel, std::string_view) override {}
};

/// A server, a client, and a second client that the server's handlers use, on one loop whose clock stands
/// still until nothing else is left to do.
class World {
 public:
  World(const MemoryOptions& memory, const LoopOptions& loop_options, const RpcLimits& limits,
        Duration call_timeout = kNoTimeout)
      : started_at_(clock_.now()) {
    LoopOptions options = loop_options;
    options.clock = &clock_;
    loop_ = Loop::create(options).value();
    auto network = std::make_unique<MemoryNetwork>(memory);
    network_ = network.get();
    transports_.add(std::move(network));
    ServerOptions server;
    server.listen = {"memory://server"};
    server.threads = 0;
    server.loop = loop_.get();
    server.limits = limits;
    server.logger = &logger_;
    server_ = std::make_unique<Server>(std::move(server), transports_);
    server_->register_handler<&Service::plain>(&service);
    server_->register_handler<&Service::nap>(&service);
    server_->register_handler<&Service::later>(&service);
    server_->register_handler<&Service::take>(&service);
    server_->register_handler<&Service::give>(&service);
    server_->register_handler<&Service::relay>(&service);
    server_->register_handler<&Service::microseconds_left>(&service);
    server_->start().value();
    ClientOptions client;
    client.connect = "memory://server";
    client.limits = limits;
    client.connect_timeout = 300ms;
    client.call_timeout = call_timeout;
    client.logger = &logger_;
    client_ = std::make_unique<Client>(*loop_, client, transports_);
    inner_ = std::make_unique<Client>(*loop_, client, transports_);
    service.inner = inner_.get();
  }
  ~World() {
    client_.reset();
    inner_.reset();
    service.owed.clear();
  }

  Loop& loop() { return *loop_; }
  MemoryNetwork& network() { return *network_; }
  Server& server() { return *server_; }
  Client& client() { return *client_; }
  Client& inner() { return *inner_; }
  Duration elapsed() { return clock_.now() - started_at_; }
  /// Lets time pass as work does that holds the loop's thread.
  void compute(Duration time) { clock_.advance(time); }

  /// Does the next thing there is to do: a turn, an owed answer, or, when there is neither, moves the clock
  /// to the next timer. False when nothing will ever happen again.
  bool step() {
    if (loop_->run_once(Duration::zero())) return true;
    if (service.answer_one()) return true;
    const auto next = loop_->next_timer();
    if (!next) return false;
    clock_.set(std::max(clock_.now(), *next));
    return true;
  }
  /// Everything that can be done without time passing.
  void run_until_idle() {
    do {
      loop_->run_until_idle();
    } while (service.answer_one());
  }
  /// Steps until `done`, at most for `time` of the clock. False when that did not suffice.
  template <typename Done>
  bool run_until(Done done, Duration time) {
    const TimePoint end = clock_.now() + time;
    while (!done()) {
      if (clock_.now() > end || !step()) return done();
    }
    return true;
  }

  Service service;

 private:
  ManualClock clock_;
  TimePoint started_at_;
  SilentLogger logger_;
  std::unique_ptr<Loop> loop_;
  Transports transports_;
  MemoryNetwork* network_ = nullptr;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Client> inner_;
};

}  // namespace weft::simulation
