// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "calls/gate/method_table.hpp"
#include "calls/session/session.hpp"
#include "support/manual_time.hpp"
#include "weft/detail/calls/call/pending_call.hpp"
#include "weft/detail/calls/stream/opened_stream.hpp"

/// A side that calls, for tests whose peer is the test or another session.
namespace weft::calls_testing {

using namespace weft::detail;

struct Quiet final : Logger {
  void write(LogLevel, std::string_view) override {}
};

/// Loop and memory that all runs use.
struct Ground {
  Ground() {
    LoopOptions options;
    options.clock = &clock;
    loop = Loop::create(options).value();
  }
  ManualClock clock;
  std::unique_ptr<Loop> loop;
  Quiet logger;
};

/// Target of calls that go to one session.
class ModelTarget final : public CallTarget {
 public:
  ModelTarget(Loop& loop, Session& session) : CallTarget(loop, kNoTimeout, true) {
    set_open_calls(&session.calls_out());
  }
  void withdraw(PendingCall&) noexcept override {}
  void close() { set_open_calls(nullptr); }

 private:
  Begun begin_without_session(PendingCall& call, std::size_t) override {
    return call.refuse({StatusCode::kUnavailable, Layer::kRpc, "no session"});
  }
};

/// Counts how often it was scheduled.
struct CountingWaiter : Ready {
  CountingWaiter() : Ready([](Ready* self) noexcept { ++static_cast<CountingWaiter*>(self)->runs; }) {}
  int runs = 0;
};

inline std::string no_text(const MethodKey&) {
  return {};
}

/// Table of one method with an attachment, which `serve` serves.
inline MethodTable table_of(decltype(MethodEntry::serve_record) serve, bool chooses_landing) {
  MethodKey key{12, 22, "serve", &no_text};
  key.chooses_landing = chooses_landing;
  MethodEntry entry{key, {}};
  entry.kind = HandlerKind::kRecord;
  entry.takes_attachment = true;
  entry.serve_record = serve;
  return MethodTable::build({entry}).value();
}

/// Key of the method that a ModelStream calls.
inline MethodKey streamed_key() {
  MethodKey key{12, 22, "streamed", [](const MethodKey&) { return std::string{}; }};
  key.streams = true;
  return key;
}
inline const MethodKey kStreamed = streamed_key();

/// Stream without arguments and result.
class ModelStream final : public OpenedStream {
 public:
  explicit ModelStream(CallTarget& target)
      : OpenedStream(target, kStreamed, std::make_unique<CallDetails>(CallOptions{}, false)) {}
  void open_now() {
    const Begun begun = OpenedStream::open(0);
    if (begun.body != nullptr) opened(begun);
    set_end_waiter(&waiter_);
  }
  int woken() const { return waiter_.runs; }

 private:
  std::size_t body_bytes() const override { return 0; }
  void encode_body(std::byte*) const override {}
  void decode_answer(Bytes, Status&) noexcept override {}
  CountingWaiter waiter_;
};

}  // namespace weft::calls_testing
