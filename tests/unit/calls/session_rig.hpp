// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calls/gate/method_table.hpp"
#include "calls/session/session.hpp"
#include "support/manual_time.hpp"
#include "support/wire_bytes.hpp"
#include "unit/calls/fake_carrier.hpp"

namespace weft::calls_testing {

using namespace weft::detail;

/// Frame that the session sent.
struct SentFrame {
  wire::FrameHeader header;
  std::string body;
  std::string attachment;
};

/// Takes what was sent apart, which begins with a frame and has only whole ones.
inline std::vector<SentFrame> frames_of(std::string_view bytes) {
  std::vector<SentFrame> frames;
  for (std::size_t at = 0; at < bytes.size();) {
    SentFrame frame{wire::load_header(reinterpret_cast<const std::byte*>(bytes.data() + at)), {}, {}};
    at += wire::kHeaderBytes;
    frame.body = bytes.substr(at, frame.header.body_bytes);
    at += wire::padded(frame.header.body_bytes);
    frame.attachment = bytes.substr(at, frame.header.following_bytes());
    at += wire::padded(frame.header.following_bytes());
    frames.push_back(std::move(frame));
  }
  return frames;
}

/// One session over a fake carrier on a clock that the test moves. The test is the peer: it writes frames by
/// hand and reads those that the session sent.
class SessionRig final : private SessionOwner {
 public:
  explicit SessionRig(const RpcLimits& its_limits = {}, const MethodTable* methods = nullptr)
      : limits(its_limits), loop_(make_loop(clock)) {
    host.methods = methods;
    if (methods != nullptr) host.calls = MethodCounts{methods->entries().size()};
    host.memory.emplace(std::make_shared<MemoryBudget>(limits.process_memory_max));
    auto carrier = std::make_unique<FakeCarrier>();
    carrier_ = carrier.get();
    auto connection = std::make_unique<Connection>(*loop_, connection_options(limits), std::move(carrier));
    const SessionSetup setup{*loop_, *this, limits, host, logger_, std::chrono::seconds{1}};
    session_ = std::make_unique<Session>(setup, std::move(connection), 7);
    session_->start();
    run_until_idle();
    hello_bytes = carrier_->take_sent().size();
    EXPECT_GT(hello_bytes, 0u) << "no hello was sent";
  }
  ~SessionRig() {
    session_.reset();
    run_until_idle();
  }

  void greet(std::uint64_t features = wire::Features::kAll) { peer_sends(testing::hello_bytes(0, features)); }
  void peer_sends(std::string_view bytes) {
    carrier_->arrive(bytes);
    run_until_idle();
  }
  void run_until_idle() { loop_->run_until_idle(); }
  void pass(Duration time) { testing::pass(*loop_, clock, time); }

  /// The frames that were sent since the last question.
  std::vector<SentFrame> sent() {
    run_until_idle();
    return frames_of(carrier_->take_sent());
  }
  /// The only frame that was sent.
  SentFrame sent_frame() {
    std::vector<SentFrame> frames = sent();
    EXPECT_EQ(frames.size(), 1u);
    return frames.empty() ? SentFrame{} : std::move(frames.front());
  }

  Session& session() { return *session_; }
  FakeCarrier& carrier() { return *carrier_; }
  Loop& loop() { return *loop_; }
  /// Destroys the session, as its owner may.
  void destroy_session() { session_.reset(); }

  const RpcLimits limits;
  ManualClock clock;
  CallsHost host;
  /// Length of the session's hello.
  std::size_t hello_bytes = 0;
  int ready = 0;
  int goaways = 0;
  int rooms = 0;
  /// The ends that were told.
  std::vector<Status> closed;

 private:
  struct Silence final : Logger {
    void write(LogLevel, std::string_view) override {}
  };

  static std::unique_ptr<Loop> make_loop(ManualClock& clock) {
    LoopOptions options;
    options.clock = &clock;
    return Loop::create(options).value();
  }

  void on_session_ready(Session&) override { ++ready; }
  void on_session_goaway(Session&) override { ++goaways; }
  void on_session_room(Session&) override { ++rooms; }
  void on_session_closed(Session&, const Status& why) override { closed.push_back(why); }

  Silence logger_;
  std::unique_ptr<Loop> loop_;
  FakeCarrier* carrier_ = nullptr;
  std::unique_ptr<Session> session_;
};

}  // namespace weft::calls_testing
