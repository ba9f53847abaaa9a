// SPDX-License-Identifier: Apache-2.0
// Ways to stop waiting for an answer. In each case the client notifies the server, which cancels the handler.
#include <chrono>
#include <cstdio>
#include <string>
#include <weft/coroutines.hpp>
#include <weft/weft.hpp>

using namespace std::chrono_literals;

class Sleeper {
 public:
  // begin: handler
  weft::Task<weft::Result<int>> sleep_long() {
    auto slept = co_await weft::sleep_for(1h);  // wakes early when the caller has gone
    if (slept.ok()) co_return 1;
    ++interrupted_;
    co_return slept.status();
  }
  // end: handler
  int interrupted() { return interrupted_; }

 private:
  int interrupted_ = 0;
};

/// Stands for a device that reads into memory of ours, and ends a read when it is done or told to.
class Device {
 public:
  /// `block` is the device's until ended() is.
  void begin(std::string& block) { block.assign(block.size(), 'x'); }
  void abort() noexcept { ended_.set(); }
  weft::Task<void> ended() {
    auto waited = co_await ended_.wait();
    if (waited.ok()) ended_.reset();
  }

 private:
  weft::Event ended_;
};

// begin: listener
/// Stops the device when the read is cancelled.
class AbortsRead final : public weft::CancelListener {
 public:
  explicit AbortsRead(Device& device) : device_(device) {}
  void on_cancel(weft::CancelReason /*reason*/) noexcept override { device_.abort(); }

 private:
  Device& device_;
};

weft::Task<weft::Result<std::string>> read_block(Device& device) {
  AbortsRead aborts{device};
  weft::CancelScope* const scope = co_await weft::this_cancel_scope();
  if (scope != nullptr) {  // this coroutine can be cancelled
    if (scope->cancelled()) co_return to_status(scope->reason());
    scope->add(aborts);
  }
  std::string block(4096, ' ');
  device.begin(block);
  weft::CancelScope nobody;  // this wait is not cancelled: until it ends, `block` is the device's
  co_await weft::with_scope(nobody, device.ended());
  if (scope != nullptr && scope->cancelled()) co_return to_status(scope->reason());
  co_return block;
}
// end: listener

long sum_of(int part) {
  return part % 7;
}

// begin: part
weft::Task<weft::Result<long>> sum_up(int parts) {
  weft::CancelScope* const scope = co_await weft::this_cancel_scope();
  long sum = 0;
  for (int part = 0; part < parts; ++part) {
    sum += sum_of(part);
    co_await weft::yield();  // gives others a turn; it does not listen to a cancel, so ask:
    if (scope != nullptr && scope->cancelled()) co_return to_status(scope->reason());
  }
  co_return sum;
}
// end: part

// begin: scope
weft::Task<void> add_up(long* total) {
  const weft::Result<long> sum = co_await sum_up(1'000'000'000);
  if (sum.ok()) *total += *sum;
}

weft::Task<void> cancel_three() {
  long total = 0;
  weft::Scope scope;
  for (int i = 0; i < 3; ++i) scope.spawn(&add_up, &total);
  scope.cancel(weft::CancelReason::kRequested);
  co_await scope.join();  // all three have ended
}
// end: scope

weft::Task<int> stop_our_own(weft::Loop& loop) {
  Device device;
  const weft::Deadline soon = weft::Deadline::after(loop.now(), 10ms);
  auto block = co_await weft::with_deadline(soon, read_block(device));
  std::printf("a read of a device: %s\n", std::string{to_string(block.status().code())}.c_str());

  co_await cancel_three();

  // begin: race
  auto first = co_await weft::race(sum_up(1'000'000'000), weft::sleep_until(loop.now() + 10ms));
  std::printf("the winner of a race has the index %zu\n", first.index);
  // end: race
  co_return !block.ok() && first.index == 1 ? 0 : 1;
}

weft::Task<int> ask(weft::Client& client) {
  // begin: deadline
  auto late = co_await client.call<&Sleeper::sleep_long>({.timeout = 20ms});
  std::printf("with a deadline: %s\n", std::string{to_string(late.status().code())}.c_str());
  // end: deadline

  // begin: cancel
  auto call = client.start<&Sleeper::sleep_long>();
  call.cancel();
  auto cancelled = co_await std::move(call);
  std::printf("on request: %s\n", std::string{to_string(cancelled.status().code())}.c_str());
  // end: cancel

  // begin: drop
  {
    auto dropped = client.start<&Sleeper::sleep_long>();
  }  // dropping the Call cancels it
  // end: drop

  for (int interrupted = 0; interrupted < 3;) {
    auto count = co_await client.call<&Sleeper::interrupted>();
    if (!count.ok()) co_return 1;
    interrupted = *count;
  }
  std::printf("3 handlers were woken early\n");
  co_return 0;
}

int main() {
  Sleeper sleeper;
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  server.register_handler<&Sleeper::sleep_long>(&sleeper);
  server.register_handler<&Sleeper::interrupted>(&sleeper);
  server.start().value();
  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  const int outcome = loop->block_on(ask(client));
  return outcome + loop->block_on(stop_our_own(*loop));
}
