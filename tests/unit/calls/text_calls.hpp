// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>

#include "unit/calls/session_rig.hpp"
#include "weft/detail/calls/call/pending_call.hpp"

/// Calls with a text for a body, over a session whose peer is the test.
namespace weft::calls_testing {

using namespace weft::detail;

using namespace std::chrono_literals;
using testing::frame_bytes;

inline std::string text_schema(const MethodKey&) {
  return "text to text";
}
inline const MethodKey kMethod{11, 22, "echo", &text_schema};
/// Method of a handler that chooses where its attachment lands.
inline const MethodKey kChoosing{12, 22, "put", &text_schema, {}, {}, true};

/// Sends every call over one session, or keeps it.
class Target final : public CallTarget {
 public:
  explicit Target(SessionRig& rig, Duration timeout = kNoTimeout)
      : CallTarget(rig.loop(), timeout, true), rig_(rig) {
    set_open_calls(&rig.session().calls_out());
  }
  void withdraw(PendingCall& call) noexcept override {
    EXPECT_EQ(&call, waiting);
    waiting = nullptr;
  }
  void close() { set_open_calls(nullptr); }
  /// The call that waits may go.
  void admit() { std::exchange(waiting, nullptr)->begin_waiting(rig_.session().calls_out()); }

  PendingCall* waiting = nullptr;
  bool refuses = false;

 private:
  Begun begin_without_session(PendingCall& call, std::size_t) override {
    if (refuses) return call.refuse({StatusCode::kUnavailable, Layer::kRpc, "no session"});
    waiting = &call;
    return call.wait();
  }

  SessionRig& rig_;
};

/// A call with a text for a body.
class TextCall final : public PendingCall {
 public:
  explicit TextCall(CallTarget& target, std::string text = "hello", CallDetails* details = nullptr,
                    const MethodKey& method = kMethod)
      : PendingCall(target, method, details), text_(std::move(text)) {
    set_waiter(&waiter_);
  }

  bool begin(CancelScope* scope = nullptr) {
    const Begun begun = PendingCall::begin(scope, text_.size());
    if (begun.body != nullptr) {
      encode_body(begun.body);
      if (begun.needs_sent()) sent();
    }
    return !begun.has_ended();
  }
  using PendingCall::limit;
  using PendingCall::take_failure;
  const std::string& answer() const { return answer_; }
  int woken() const { return waiter_.runs; }

 private:
  struct Waiter : Ready {
    Waiter() : Ready([](Ready* self) noexcept { ++static_cast<Waiter*>(self)->runs; }) {}
    int runs = 0;
  };

  std::size_t body_bytes() const override { return text_.size(); }
  void encode_body(std::byte* to) const override { std::memcpy(to, text_.data(), text_.size()); }
  void decode_answer(Bytes body, Status&) noexcept override { answer_ = as_text(body); }

  std::string text_;
  std::string answer_;
  Waiter waiter_;
};

inline std::string answer_bytes(std::uint64_t id, std::string_view body, std::string_view attachment = {}) {
  return frame_bytes(wire::AnswerHead{.id = id}.header(), body, attachment);
}

inline std::string goaway_bytes(std::uint64_t taken, std::string_view reason = "it is late") {
  return frame_bytes(wire::GoawayHead{.taken_up_to = taken}.header(), reason);
}

class PendingCalls : public ::testing::Test {
 protected:
  void SetUp() override { rig_.greet(); }

  /// Nobody pings, so that a peer may be silent for as long as a call waits.
  SessionRig rig_{RpcLimits{.ping_interval = Duration::zero()}};
  Target target_{rig_};
};

}  // namespace weft::calls_testing
