// SPDX-License-Identifier: Apache-2.0
// BU-6: bringing a data path up. Two switches are joined by a wire whose steps the tests choose, and every
// order of what can happen is run.
#include "transport/path_switch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <deque>
#include <string>
#include <vector>

#include "weft/runtime/clock.hpp"
#include "weft/runtime/loop.hpp"
#include "weft/wire/frame.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr Duration kBringUp = 1s;

/// What goes wrong on one side, whatever the order.
enum class Fault : std::uint8_t { kNone, kOpen, kConnect };

struct SideOptions {
  PathPolicy policy = PathPolicy::kPrefer;
  Fault fault = Fault::kNone;
};

/// A path that does nothing, and notes what is asked of it.
struct PathLog {
  int connects = 0;
  int shuts = 0;
  bool ended = false;
};

class NotedPath final : public DataPath {
 public:
  NotedPath(PathLog& log, Fault fault) : log_(log), fault_(fault) {}
  ~NotedPath() override {
    shut();
    log_.ended = true;
  }
  const Capabilities& capabilities() const override { return capabilities_; }
  std::string description() const override { return "a path of a test"; }
  std::string address() const override { return "here"; }
  Status connect(std::string_view peer_address) override {
    EXPECT_EQ(peer_address, "here");
    EXPECT_EQ(log_.shuts, 0) << "connected after its end";
    ++log_.connects;
    return fault_ == Fault::kConnect ? Status{StatusCode::kUnavailable, Layer::kTransport, "no way there"}
                                     : Status{};
  }
  Moved receive(std::span<const iovec>, MutableBytes) override { return Moved::blocked(); }
  ChunkRef receive_in_place(bool&) override { return {}; }
  Moved reclaim_landing() override { return Moved::blocked(); }
  Moved send(std::span<const iovec>, std::size_t) override { return Moved::blocked(); }
  Moved reclaim_sending() override { return Moved::blocked(); }
  void end_sending() override {}
  bool all_left() const override { return true; }
  void catch_up() override {}
  void shut() override { log_.shuts = 1; }

 private:
  PathLog& log_;
  const Fault fault_;
  Capabilities capabilities_;
};

class NotedProvider final : public DataPathProvider {
 public:
  NotedProvider(PathLog& log, Fault fault) : log_(log), fault_(fault) {}
  wire::DataPath kind() const override { return wire::DataPath::kUcx; }
  std::string offer() const override { return "offer"; }
  Result<std::unique_ptr<DataPath>> open(Loop&, DataPathOwner&, std::string_view peer_offer) const override {
    EXPECT_EQ(peer_offer, "offer");
    if (fault_ == Fault::kOpen) return Status{StatusCode::kFailedPrecondition, Layer::kTransport, "not here"};
    return std::unique_ptr<DataPath>{std::make_unique<NotedPath>(log_, fault_)};
  }

 private:
  PathLog& log_;
  const Fault fault_;
};

/// One side: a switch, and what its connection would be.
class Side final : public PathSwitchHost, public FrameSink {
 public:
  explicit Side(const SideOptions& options) : loop_(Loop::create({.clock = &clock_}).value()) {
    reset(options);
  }
  ~Side() { switch_.reset(); }

  void reset(const SideOptions& options) {
    switch_.reset();
    EXPECT_EQ(loop_->timers_armed(), 0u);
    path = {};
    queued.clear();
    hellos = frames = 0;
    over = false;
    why = {};
    const auto paths = std::make_shared<DataPaths>();
    paths->choices = {{std::make_shared<NotedProvider>(path, options.fault), options.policy}};
    paths->bring_up_timeout = kBringUp;
    switch_ = std::make_unique<PathSwitch>(*loop_, *this, paths);
    switch_->set_sink(*this);
  }

  std::string hello() const { return wire::encode_hello({.paths = switch_->offers()}); }
  void take_hello(const std::string& hello) { take(as_sink().on_hello(as_bytes(hello))); }
  /// A whole frame, as the framer would hand it up.
  void take_frame(const std::string& text) {
    alignas(8) std::array<std::byte, 9000> copy;
    std::copy_n(as_bytes(text).begin(), text.size(), copy.begin());
    Frame frame{wire::load_header(copy.data()), {}};
    frame.body = {copy.data() + wire::kHeaderBytes, frame.header.body_bytes};
    take(as_sink().on_frames({&frame, 1}, {}));
  }
  bool timer_runs() const { return loop_->timers_armed() > 0; }
  void run_timer() {
    clock_.set(*loop_->next_timer());
    loop_->run_until_idle();
  }
  FrameSink& as_sink() { return *switch_; }
  PathSwitch& its_switch() { return *switch_; }
  bool on_path() const { return switch_->path() != nullptr; }
  bool settled() const { return over || (switch_->decided() && hellos == 1); }
  void end(Status status) {
    if (over) return;
    over = true;
    why = std::move(status);
    switch_->shut();
  }

  PathLog path;
  std::deque<std::string> queued;
  int hellos = 0;
  int frames = 0;
  int let_out = 0;
  bool over = false;
  Status why;

  // What the switch asks of a connection.
  bool queue_path_frame(std::string_view frame) override {
    queued.emplace_back(frame);
    return true;
  }
  void send_what_is_queued() override { ++let_out; }
  void on_path_decided() override { take(switch_->hand_up_hello(*this)); }
  void on_switch_failed(Status status) override { end(std::move(status)); }
  void on_path_heard() override { switch_->on_heard(); }
  void on_path_failed(Status status) override {
    if (!switch_->decided()) return switch_->on_failed(std::move(status));
    end(std::move(status));
  }
  void on_path_readable() override {}
  void on_path_writable() override {}

  // What the connection's owner hears.
  Status on_hello(Bytes) override {
    ++hellos;
    return {};
  }
  Status on_frames(std::span<const Frame> batch, const ChunkRef&) override {
    EXPECT_EQ(hellos, 1) << "frames before the hello";
    frames += static_cast<int>(batch.size());
    return {};
  }
  Landing on_attachment(const Frame&) override { return Landing::skip(); }
  Status on_attachment_end(const Frame&, const ChunkRef&, bool) override { return {}; }
  void on_drained() override {}
  void on_closed(Status) override {}

 private:
  void take(Status status) {
    if (!status.ok()) end(std::move(status));
  }

  ManualClock clock_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<PathSwitch> switch_;
};

/// What can happen next.
enum class Event : std::uint8_t { kDeliver, kHeard, kTimeout, kPathFails };
constexpr std::array kEvents{Event::kDeliver, Event::kHeard, Event::kTimeout, Event::kPathFails};

struct Step {
  int side = 0;
  Event event{};
};

/// Both sides and the wire between them, and every order in which it can go on from here.
class Model {
 public:
  Model(const SideOptions& first, const SideOptions& second)
      : options_{first, second}, sides_{Side{first}, Side{second}} {}

  void run_every_order() {
    std::vector<Step> steps;
    explore(steps);
  }
  std::uint64_t orders() const { return orders_; }
  std::uint64_t on_path() const { return on_path_; }

 private:
  void begin() {
    for (int i : {0, 1}) sides_[i].reset(options_[i]);
    for (int i : {0, 1}) {
      wire_[i] = {sides_[1 - i].hello()};
      heard_[i] = failed_[i] = false;
    }
  }
  bool possible(const Step& step) const {
    const Side& side = sides_[step.side];
    const Side& other = sides_[1 - step.side];
    if (side.over) return false;
    switch (step.event) {
      case Event::kDeliver:
        return !wire_[step.side].empty();
      case Event::kHeard:  // once the other side has connected, and while this one listens
        return !heard_[step.side] && other.path.connects > 0 &&
               options_[1 - step.side].fault == Fault::kNone && side.path.shuts == 0 &&
               options_[step.side].fault != Fault::kOpen;
      case Event::kTimeout:
        return side.timer_runs();
      case Event::kPathFails:
        return !failed_[step.side] && side.path.connects > 0 && side.path.shuts == 0 && !side.settled();
    }
    return false;
  }
  void apply(const Step& step) {
    Side& side = sides_[step.side];
    switch (step.event) {
      case Event::kDeliver:
        deliver(side, wire_[step.side]);
        break;
      case Event::kHeard:
        heard_[step.side] = true;
        side.on_path_heard();
        break;
      case Event::kTimeout:
        side.run_timer();
        break;
      case Event::kPathFails:
        failed_[step.side] = true;
        side.on_path_failed({StatusCode::kUnavailable, Layer::kTransport, "the path broke"});
        break;
    }
    for (std::string& frame : side.queued) wire_[1 - step.side].push_back(std::move(frame));
    side.queued.clear();
  }
  static void deliver(Side& side, std::deque<std::string>& wire) {
    const std::string text = std::move(wire.front());
    wire.pop_front();
    const bool greets = static_cast<std::byte>(text[0]) == wire::kFirstByte;
    greets ? side.take_hello(text) : side.take_frame(text);
  }
  void replay(const std::vector<Step>& steps) {
    begin();
    for (const Step& step : steps) apply(step);
  }
  void explore(std::vector<Step>& steps) {
    if (::testing::Test::HasFailure()) return;
    replay(steps);
    check_now();
    std::vector<Step> next;
    for (int side : {0, 1}) {
      for (Event event : kEvents) {
        if (possible({side, event})) next.push_back({side, event});
      }
    }
    if (next.empty()) check_end(steps);
    for (const Step& step : next) {
      steps.push_back(step);
      explore(steps);
      steps.pop_back();
    }
  }
  // At every moment.
  void check_now() const {
    for (const Side& side : sides_) {
      ASSERT_LE(side.hellos, 1);
      ASSERT_TRUE(!side.over || !side.why.ok()) << "ended without a reason";
    }
  }
  // Nothing more can happen.
  void check_end(const std::vector<Step>& steps) {
    ++orders_;
    const bool one_over = sides_[0].over || sides_[1].over;
    for (int i : {0, 1}) {
      const Side& side = sides_[i];
      // Who requires the path ends the connection; the other side may have gone on for as long.
      const bool may_do_without = options_[i].policy != PathPolicy::kRequire &&
                                  (options_[1 - i].policy != PathPolicy::kRequire || one_over);
      // Its stream's end tells a side whose peer gave up.
      ASSERT_TRUE(side.settled() || one_over) << "a side waits for ever " << text_of(steps);
      if (side.over) continue;
      ASSERT_TRUE(side.on_path() || may_do_without || !side.settled()) << "did without " << text_of(steps);
      ASSERT_TRUE(side.on_path() || !side.settled() || side.path.shuts == 1 || side.path.connects == 0)
          << "an unused path stays " << text_of(steps);
      ASSERT_TRUE(!side.settled() || !side.timer_runs()) << text_of(steps);
    }
    if (one_over) return;
    ASSERT_EQ(sides_[0].on_path(), sides_[1].on_path()) << "they disagree " << text_of(steps);
    if (sides_[0].on_path()) ++on_path_;
  }
  static std::string text_of(const std::vector<Step>& steps) {
    std::string text;
    for (const Step& step : steps) {
      text += step.side == 0 ? " A:" : " B:";
      text += std::array{"deliver", "heard", "timeout", "fails"}[static_cast<std::size_t>(step.event)];
    }
    return text;
  }

  const std::array<SideOptions, 2> options_;
  std::array<Side, 2> sides_;
  std::array<std::deque<std::string>, 2> wire_;
  std::array<bool, 2> heard_{};
  std::array<bool, 2> failed_{};
  std::uint64_t orders_ = 0;
  std::uint64_t on_path_ = 0;
};

constexpr std::array kPolicies{PathPolicy::kForbid, PathPolicy::kPrefer, PathPolicy::kRequire};
constexpr std::array kFaults{Fault::kNone, Fault::kOpen, Fault::kConnect};

TEST(Bu6PathSwitch, BothSidesComeToTheSameDecisionInEveryOrder) {
  std::uint64_t orders = 0;
  for (PathPolicy first : kPolicies) {
    for (PathPolicy second : kPolicies) {
      for (Fault fault : kFaults) {
        Model model{{first, fault}, {second, Fault::kNone}};
        model.run_every_order();
        ASSERT_FALSE(HasFailure());
        orders += model.orders();
        const bool both = first != PathPolicy::kForbid && second != PathPolicy::kForbid;
        EXPECT_EQ(model.on_path() > 0, both && fault == Fault::kNone);
      }
    }
  }
  std::printf("%llu orders\n", static_cast<unsigned long long>(orders));
}

TEST(Bu6PathSwitch, BothSidesMayBeUnableToOpenOrToConnect) {
  for (Fault first : {Fault::kOpen, Fault::kConnect}) {
    for (Fault second : {Fault::kOpen, Fault::kConnect}) {
      Model model{{PathPolicy::kPrefer, first}, {PathPolicy::kPrefer, second}};
      model.run_every_order();
      ASSERT_FALSE(HasFailure());
      EXPECT_EQ(model.on_path(), 0u);
    }
  }
}

/// One side, and a peer whose messages the test writes.
class PathSwitchTurns : public ::testing::Test {
 protected:
  void greet() { side_.take_hello(peer_.hello()); }
  static std::string message(wire::PathStep step, std::string_view text = {},
                             wire::DataPath kind = wire::DataPath::kUcx) {
    return wire::encode_path_frame({step, kind, text});
  }
  static std::string frame(wire::FrameType type) {
    wire::FrameHeader header;
    header.type = type;
    header.id = 1;
    std::string text(wire::head_bytes(0, false), '\0');
    wire::store_header(reinterpret_cast<std::byte*>(text.data()), header);
    return text;
  }
  void address() { side_.take_frame(message(wire::PathStep::kAddress, "here")); }
  void verdict(wire::PathStep step) { side_.take_frame(message(step)); }
  void expect_end(std::string_view with) {
    EXPECT_TRUE(side_.over);
    EXPECT_NE(side_.why.to_string().find(with), std::string::npos) << side_.why.to_string();
    EXPECT_EQ(side_.hellos, 0);
    EXPECT_EQ(side_.frames, 0);
  }

  Side side_{{}};
  Side peer_{{}};
};

TEST_F(PathSwitchTurns, ARequestDuringBringUpEndsTheConnection) {
  greet();
  side_.take_frame(frame(wire::FrameType::kRequest));
  expect_end("came while a data path was being brought up");
}

TEST_F(PathSwitchTurns, APingDuringBringUpEndsTheConnection) {
  greet();
  address();
  side_.take_frame(frame(wire::FrameType::kPing));
  expect_end("came while a data path was being brought up");
}

TEST_F(PathSwitchTurns, AnAttachmentDuringBringUpIsDroppedAndEndsTheConnection) {
  greet();
  const Frame frame{{.type = wire::FrameType::kRequest, .attachment_bytes = 8}, {}};
  EXPECT_EQ(side_.as_sink().on_attachment(frame).kind, Landing::Kind::kSkip);
  EXPECT_FALSE(side_.as_sink().wants_body(frame.header));
  EXPECT_EQ(side_.as_sink().on_attachment_end(frame, {}, false).code(), StatusCode::kInvalidArgument);
}

TEST_F(PathSwitchTurns, ASecondAddressEndsTheConnection) {
  greet();
  address();
  address();
  expect_end("a second address");
}

TEST_F(PathSwitchTurns, AnAddressBehindTheVerdictEndsTheConnection) {
  greet();
  verdict(wire::PathStep::kUp);
  address();
  expect_end("behind the verdict");
}

TEST_F(PathSwitchTurns, ASecondVerdictEndsTheConnection) {
  greet();
  address();
  verdict(wire::PathStep::kUp);
  verdict(wire::PathStep::kDown);
  expect_end("behind the verdict");
}

TEST_F(PathSwitchTurns, AMessageAboutAnotherPathEndsTheConnection) {
  greet();
  side_.take_frame(message(wire::PathStep::kAddress, "here", wire::DataPath::kVerbs));
  expect_end("about another path");
}

TEST_F(PathSwitchTurns, APathFrameThatIsNoneEndsTheConnection) {
  greet();
  std::string text = message(wire::PathStep::kUp);
  text[wire::kHeaderBytes] = 9;
  side_.take_frame(text);
  expect_end("step 9 is not known");
}

TEST_F(PathSwitchTurns, AHelloThatIsNoneEndsTheConnection) {
  std::string hello = peer_.hello();
  hello[20] = static_cast<char>(hello[20] ^ 1);
  side_.take_hello(hello);
  EXPECT_TRUE(side_.over);
  EXPECT_EQ(side_.hellos, 0);
}

TEST_F(PathSwitchTurns, AVerdictWithoutAnAddressTimesOutOntoTheStream) {
  greet();
  verdict(wire::PathStep::kUp);
  ASSERT_TRUE(side_.timer_runs());
  side_.run_timer();
  EXPECT_TRUE(side_.settled() && !side_.over && !side_.on_path());
  EXPECT_EQ(side_.path.shuts, 1);
}

TEST_F(PathSwitchTurns, APathThatFailsBehindItsGoodVerdictEndsTheConnectionOnce) {
  greet();
  address();
  side_.on_path_heard();
  side_.on_path_failed({StatusCode::kUnavailable, Layer::kTransport, "the path broke"});
  expect_end("the path broke");
}

TEST_F(PathSwitchTurns, OffersThatCannotBeReadAreAsGoodAsNone) {
  for (const std::string_view parameters : {"", "\x07offer"}) {
    side_.reset({});
    side_.take_hello(wire::encode_hello({.paths = {{wire::DataPath::kUcx, std::string{parameters}}}}));
    EXPECT_TRUE(side_.settled() && !side_.over && !side_.on_path());
    EXPECT_TRUE(side_.queued.empty());
  }
}

TEST_F(PathSwitchTurns, WhoRequiresAPathThatIsNotOfferedIsToldWhatToDo) {
  side_.reset({.policy = PathPolicy::kRequire});
  side_.take_hello(wire::encode_hello({}));
  expect_end("the peer does not offer it (a tcp:// URL does without)");
  EXPECT_EQ(side_.why.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(side_.let_out, 1) << "the peer does not hear what was required";
}

TEST_F(PathSwitchTurns, ARequiredPathThatThisSideCannotBringUpIsNotBlamedOnThePeer) {
  side_.reset({.policy = PathPolicy::kRequire, .fault = Fault::kOpen});
  greet();
  side_.take_frame(message(wire::PathStep::kDown, "the other side could not"));
  expect_end("this side could not bring it up: not here");
  EXPECT_EQ(side_.why.code(), StatusCode::kFailedPrecondition);
}

TEST_F(PathSwitchTurns, WhatThePeerSaysOfItsOwnFailureIsToldAsThePeersAndGoesBackToIt) {
  for (const bool heard : {false, true}) {
    side_.reset({.policy = PathPolicy::kRequire});
    greet();
    address();
    if (heard) side_.on_path_heard();
    side_.take_frame(message(wire::PathStep::kDown, "its disk is full"));
    expect_end("the peer could not bring it up, and says: its disk is full");
    const std::string last = side_.queued.back();
    EXPECT_EQ(last.find("its disk is full") == std::string::npos, heard) << "a verdict is given once";
  }
}

TEST(RefuseDemands, OnlyOfWhoRequiresAPath) {
  EXPECT_TRUE(refuse_demands({}).ok());
  EXPECT_TRUE(refuse_demands({{wire::DataPath::kUcx, std::string("\0offer", 6)}}).ok());
  const Status refused = refuse_demands({{wire::DataPath::kUcx, "\x01offer"}});
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.to_string().find("connect to a ucx:// URL"), std::string::npos);
}

}  // namespace
}  // namespace weft
