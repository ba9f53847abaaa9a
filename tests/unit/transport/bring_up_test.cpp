// SPDX-License-Identifier: Apache-2.0
// BU-6: bringing a carrier up. Two sides are joined by a wire whose steps the tests choose, and every
// order of what can happen is run.
#include "transport/bring_up.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "support/heap_count.hpp"
#include "unit/transport/bring_up_side.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using bring_up_testing::Fault;
using bring_up_testing::Side;
using bring_up_testing::SideOptions;

/// Events that can happen next.
enum class Event : std::uint8_t { kDeliver, kHeard, kTimeout, kCarrierFails, kCarried };
constexpr std::array kEvents{Event::kDeliver, Event::kHeard, Event::kTimeout, Event::kCarrierFails,
                             Event::kCarried};

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
  std::uint64_t on_carrier() const { return on_carrier_; }

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
        return !heard_[step.side] && other.carrier.connects > 0 &&
               (other.carrier.readies > 0 || !options_[1 - step.side].needs_peer_ready) &&
               options_[1 - step.side].fault == Fault::kNone && side.carrier.shuts == 0 &&
               options_[step.side].fault != Fault::kOpen;
      case Event::kTimeout:
        return side.timer_runs();
      case Event::kCarried:  // what the other side has sent on the carrier
        return !other.carrier.sent.empty() && side.carrier.connects > 0 && side.carrier.shuts == 0;
      case Event::kCarrierFails:
        return !failed_[step.side] && side.carrier.connects > 0 && side.carrier.shuts == 0 && !side.settled();
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
        side.its().on_heard();
        break;
      case Event::kTimeout:
        side.run_timer();
        break;
      case Event::kCarried:
        side.carrier.arrived += std::exchange(sides_[1 - step.side].carrier.sent, {});
        side.hear_of_bytes();
        break;
      case Event::kCarrierFails:
        failed_[step.side] = true;
        side.its().on_failed({StatusCode::kUnavailable, Layer::kTransport, "the carrier broke"});
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
      // Who requires the carrier ends the connection, and so does who offers it and hears of that; who offers
      // none may have gone on for as long.
      const bool demanded = options_[1 - i].policy == CarrierPolicy::kRequire;
      const bool may_do_without = options_[i].policy == CarrierPolicy::kForbid
                                      ? !demanded || one_over
                                      : options_[i].policy == CarrierPolicy::kPrefer && !demanded;
      // Its base carrier's end tells a side whose peer gave up.
      ASSERT_TRUE(side.settled() || one_over) << "a side waits for ever " << text_of(steps);
      if (side.over) continue;
      ASSERT_TRUE(side.on_carrier() || may_do_without || !side.settled()) << "did without " << text_of(steps);
      ASSERT_TRUE(side.on_carrier() || !side.settled() || side.carrier.shuts == 1 ||
                  side.carrier.connects == 0)
          << "an unused carrier stays " << text_of(steps);
      ASSERT_TRUE(!side.settled() || !side.timer_runs()) << text_of(steps);
    }
    if (one_over) return;
    ASSERT_EQ(sides_[0].on_carrier(), sides_[1].on_carrier()) << "they disagree " << text_of(steps);
    if (sides_[0].on_carrier()) ++on_carrier_;
  }
  static std::string text_of(const std::vector<Step>& steps) {
    std::string text;
    for (const Step& step : steps) {
      text += step.side == 0 ? " A:" : " B:";
      text +=
          std::array{"deliver", "heard", "timeout", "fails", "carried"}[static_cast<std::size_t>(step.event)];
    }
    return text;
  }

  const std::array<SideOptions, 2> options_;
  std::array<Side, 2> sides_;
  std::array<std::deque<std::string>, 2> wire_;
  std::array<bool, 2> heard_{};
  std::array<bool, 2> failed_{};
  std::uint64_t orders_ = 0;
  std::uint64_t on_carrier_ = 0;
};

constexpr std::array kPolicies{CarrierPolicy::kForbid, CarrierPolicy::kPrefer, CarrierPolicy::kRequire};
constexpr std::array kFaults{Fault::kNone, Fault::kOpen, Fault::kConnect};

TEST(BringUpOrders, BothSidesComeToTheSameDecisionInEveryOrder) {
  std::uint64_t orders = 0;
  for (CarrierPolicy first : kPolicies) {
    for (CarrierPolicy second : kPolicies) {
      for (Fault fault : kFaults) {
        Model model{{first, fault}, {second, Fault::kNone}};
        model.run_every_order();
        ASSERT_FALSE(HasFailure());
        orders += model.orders();
        const bool both = first != CarrierPolicy::kForbid && second != CarrierPolicy::kForbid;
        EXPECT_EQ(model.on_carrier() > 0, both && fault == Fault::kNone);
      }
    }
  }
  std::printf("%llu orders\n", static_cast<unsigned long long>(orders));
}

TEST(BringUpOrders, BothSidesComeToTheSameDecisionWhenEachHasToKnowThatTheOtherIsReady) {
  std::uint64_t orders = 0;
  for (CarrierPolicy second : {CarrierPolicy::kPrefer, CarrierPolicy::kRequire}) {
    for (Fault fault : kFaults) {
      Model model{{CarrierPolicy::kPrefer, fault, true}, {second, Fault::kNone, true}};
      model.run_every_order();
      ASSERT_FALSE(HasFailure());
      orders += model.orders();
      EXPECT_EQ(model.on_carrier() > 0, fault == Fault::kNone);
    }
  }
  std::printf("%llu orders\n", static_cast<unsigned long long>(orders));
}

TEST(BringUpOrders, BothSidesMayBeUnableToOpenOrToConnect) {
  for (Fault first : {Fault::kOpen, Fault::kConnect}) {
    for (Fault second : {Fault::kOpen, Fault::kConnect}) {
      Model model{{CarrierPolicy::kPrefer, first}, {CarrierPolicy::kPrefer, second}};
      model.run_every_order();
      ASSERT_FALSE(HasFailure());
      EXPECT_EQ(model.on_carrier(), 0u);
    }
  }
}

TEST(BringUpOrders, BothSidesGoOnToTheNextCarrierTogetherInEveryOrder) {
  struct Case {
    Fault of_first;
    Fault of_second;
  };
  std::uint64_t orders = 0;
  for (const Case& faults : {Case{Fault::kOpen, Fault::kNone}, Case{Fault::kOpen, Fault::kOpen},
                             Case{Fault::kConnect, Fault::kOpen}}) {
    Model model{{.other = CarrierPolicy::kPrefer, .other_fault = faults.of_first},
                {.fault = faults.of_second, .other = CarrierPolicy::kPrefer}};
    model.run_every_order();
    ASSERT_FALSE(HasFailure());
    orders += model.orders();
    EXPECT_EQ(model.on_carrier() > 0, faults.of_second == Fault::kNone) << "the second carrier";
  }
  std::printf("%llu orders\n", static_cast<unsigned long long>(orders));
}

// The proof itself is among what has to be carried, so there are more orders than without.
TEST(BringUpOrders, BothSidesComeToTheSameDecisionWhenEachHasToProveItself) {
  struct Case {
    int first;
    int second;
  };
  std::uint64_t orders = 0;
  for (const Case& secrets : {Case{5, 5}, Case{5, 6}, Case{5, -1}, Case{-1, -1}}) {
    Model model{{.secret = secrets.first, .connecting = true}, {.secret = secrets.second}};
    model.run_every_order();
    ASSERT_FALSE(HasFailure());
    orders += model.orders();
    EXPECT_EQ(model.on_carrier() > 0, secrets.first == 5 && secrets.second == 5);
  }
  Model model{{.needs_peer_ready = true, .secret = 5, .connecting = true},
              {.needs_peer_ready = true, .secret = 5}};
  model.run_every_order();
  ASSERT_FALSE(HasFailure());
  orders += model.orders();
  EXPECT_GT(model.on_carrier(), 0u);
  std::printf("%llu orders\n", static_cast<unsigned long long>(orders));
}

/// One side, and a peer whose messages the test writes.
class BringUpTurns : public ::testing::Test {
 protected:
  void greet() { side_.take_hello(peer_.hello()); }
  static std::string message(wire::CarrierStep step, std::string_view text = {},
                             wire::CarrierKind kind = wire::CarrierKind::kUcx) {
    return wire::encode_carrier_frame({step, kind, text});
  }
  static std::string frame(wire::FrameType type) {
    wire::FrameHeader header;
    header.type = type;
    header.id = 1;
    std::string text(wire::head_bytes(0, false), '\0');
    wire::store_header(reinterpret_cast<std::byte*>(text.data()), header);
    return text;
  }
  void address() { side_.take_frame(message(wire::CarrierStep::kAddress, "here")); }
  void verdict(wire::CarrierStep step) { side_.take_frame(message(step)); }
  void expect_end(std::string_view with) {
    EXPECT_TRUE(side_.over);
    EXPECT_NE(side_.why.to_string().find(with), std::string::npos) << side_.why.to_string();
    EXPECT_EQ(side_.hellos, 0);
    EXPECT_EQ(side_.frames, 0);
  }

  Side side_{{}};
  Side peer_{{}};
};

/// A side whose base carrier has a secret, with a carrier on which somebody was heard.
class BringUpProofs : public BringUpTurns {
 protected:
  void hear_somebody(CarrierPolicy policy = CarrierPolicy::kPrefer) {
    side_.reset({.policy = policy, .secret = 5});
    peer_.reset({.secret = 5, .connecting = true});
    greet();
    address();
    side_.its().on_heard();
    ASSERT_EQ(side_.carrier.sent.size(), 32u);
    ASSERT_FALSE(says_up());
    peer_.take_hello(side_.hello());
    peer_.take_frame(message(wire::CarrierStep::kAddress, "here"));
    peer_.its().on_heard();
    right_ = peer_.carrier.sent;
  }
  void arrives(const std::string& bytes) {
    side_.carrier.arrived += bytes;
    side_.hear_of_bytes();
  }
  bool says_up() const {
    return std::find(side_.queued.begin(), side_.queued.end(), message(wire::CarrierStep::kUp)) !=
           side_.queued.end();
  }

  std::string right_;
};

TEST_F(BringUpProofs, WithoutThePeersProofACarrierIsNotUsed) {
  hear_somebody();
  side_.run_timer();
  verdict(wire::CarrierStep::kUp);
  EXPECT_TRUE(side_.settled() && !side_.over && !side_.on_carrier());
  EXPECT_EQ(side_.carrier.shuts, 1);
}

TEST_F(BringUpProofs, AProofMayComeInPieces) {
  hear_somebody();
  arrives(right_.substr(0, 1));
  arrives(right_.substr(1, 30));
  EXPECT_FALSE(says_up());
  arrives(right_.substr(31) + "of the connection");
  EXPECT_TRUE(says_up());
  EXPECT_EQ(side_.carrier.arrived, "of the connection") << "that is not the proof's to receive";
  verdict(wire::CarrierStep::kUp);
  EXPECT_TRUE(side_.on_carrier());
}

TEST_F(BringUpProofs, AProofThatIsWrongInOneBitLeavesTheConnectionOnItsBaseCarrierWhichSaysWhy) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{31}}) {
    hear_somebody();
    right_[at] = static_cast<char>(right_[at] ^ 1);
    arrives(right_);
    EXPECT_FALSE(says_up());
    EXPECT_EQ(side_.carrier.shuts, 1);
    verdict(wire::CarrierStep::kUp);
    EXPECT_TRUE(side_.settled() && !side_.over && !side_.on_carrier());
    EXPECT_NE(side_.its().reason().find("does not know the secret of the TLS session"), std::string::npos)
        << side_.its().reason();
  }
}

TEST_F(BringUpProofs, OnesOwnProofSentBackIsWrong) {
  hear_somebody();
  arrives(side_.carrier.sent);
  EXPECT_FALSE(says_up());
  EXPECT_EQ(side_.carrier.shuts, 1);
}

TEST_F(BringUpProofs, ARequiredCarrierWithAWrongProofEndsTheConnection) {
  hear_somebody(CarrierPolicy::kRequire);
  arrives(std::string(32, 'x'));
  verdict(wire::CarrierStep::kUp);
  expect_end("does not know the secret of the TLS session");
  EXPECT_EQ(side_.why.code(), StatusCode::kFailedPrecondition);
}

TEST_F(BringUpTurns, ARequestDuringBringUpEndsTheConnection) {
  greet();
  side_.take_frame(frame(wire::FrameType::kRequest));
  expect_end("came while a carrier was being brought up");
}

TEST_F(BringUpTurns, APingDuringBringUpEndsTheConnection) {
  greet();
  address();
  side_.take_frame(frame(wire::FrameType::kPing));
  expect_end("came while a carrier was being brought up");
}

TEST_F(BringUpTurns, AnAttachmentDuringBringUpIsDroppedAndEndsTheConnection) {
  greet();
  const Frame frame{{.type = wire::FrameType::kRequest, .attachment_bytes = 8}, {}};
  EXPECT_EQ(side_.as_sink().on_attachment(frame).kind, Landing::Kind::kSkip);
  EXPECT_FALSE(side_.as_sink().wants_body(frame.header, {}));
  EXPECT_EQ(side_.as_sink().on_attachment_end(frame, {}, false).code(), StatusCode::kInvalidArgument);
}

TEST_F(BringUpTurns, ASecondAddressEndsTheConnection) {
  greet();
  address();
  address();
  expect_end("a second address");
}

TEST_F(BringUpTurns, ReadinessThatTheCarrierDoesNotNeedEndsTheConnection) {
  greet();
  address();
  verdict(wire::CarrierStep::kReady);
  expect_end("ready");
}

TEST_F(BringUpTurns, ReadinessIsToldOnce) {
  side_.reset({.needs_peer_ready = true});
  greet();
  address();
  verdict(wire::CarrierStep::kReady);
  EXPECT_EQ(side_.carrier.readies, 1);
  EXPECT_FALSE(side_.over);
  verdict(wire::CarrierStep::kReady);
  EXPECT_EQ(side_.carrier.readies, 1);
  expect_end("ready");
}

TEST_F(BringUpTurns, ReadinessBeforeTheAddressEndsTheConnection) {
  side_.reset({.needs_peer_ready = true});
  greet();
  verdict(wire::CarrierStep::kReady);
  EXPECT_EQ(side_.carrier.readies, 0);
  expect_end("ready");
}

TEST_F(BringUpTurns, AnAddressBehindTheVerdictEndsTheConnection) {
  greet();
  verdict(wire::CarrierStep::kUp);
  address();
  expect_end("behind the verdict");
}

TEST_F(BringUpTurns, ASecondVerdictEndsTheConnection) {
  greet();
  address();
  verdict(wire::CarrierStep::kUp);
  verdict(wire::CarrierStep::kDown);
  expect_end("behind the verdict");
}

TEST_F(BringUpTurns, AMessageAboutAnotherCarrierEndsTheConnection) {
  greet();
  side_.take_frame(message(wire::CarrierStep::kAddress, "here", wire::CarrierKind::kVerbs));
  expect_end("about another carrier");
}

TEST_F(BringUpTurns, ACarrierFrameThatIsNoneEndsTheConnection) {
  greet();
  std::string text = message(wire::CarrierStep::kUp);
  text[wire::kHeaderBytes] = 9;
  side_.take_frame(text);
  expect_end("step 9 is not known");
}

TEST_F(BringUpTurns, AVerdictWithoutAnAddressTimesOutOntoTheBaseCarrier) {
  greet();
  verdict(wire::CarrierStep::kUp);
  ASSERT_TRUE(side_.timer_runs());
  side_.run_timer();
  EXPECT_TRUE(side_.settled() && !side_.over && !side_.on_carrier());
  EXPECT_EQ(side_.carrier.shuts, 1);
}

TEST_F(BringUpTurns, TheTimeOfACarrierForWhichThisSideHasNoRoomBeginsWhenThereIs) {
  using namespace std::chrono_literals;
  side_.reset({.waits_for_us = true});
  greet();
  side_.pass_time(100ms);
  address();
  side_.pass_time(800ms);
  side_.its().on_connected();
  side_.pass_time(bring_up_testing::kBringUp - 1ms);
  EXPECT_EQ(side_.carrier.shuts, 0) << "it had no time to come up";
  side_.its().on_heard();
  verdict(wire::CarrierStep::kUp);
  EXPECT_TRUE(side_.on_carrier());
}

TEST_F(BringUpTurns, ACarrierForWhichThereIsNoRoomInItsTimeIsPassedOver) {
  using namespace std::chrono_literals;
  side_.reset({.waits_for_us = true});
  greet();
  address();
  side_.pass_time(bring_up_testing::kBringUp + 1ms);
  EXPECT_EQ(side_.carrier.shuts, 1);
}

TEST_F(BringUpTurns, ARequiredCarrierForWhichMemoryRunsOutExhaustsAResourceAndTheNextAttemptMayDo) {
  for (const Fault fault : {Fault::kMemoryAtOpen, Fault::kMemoryAtConnect}) {
    side_.reset({.policy = CarrierPolicy::kRequire, .fault = fault});
    greet();
    if (fault == Fault::kMemoryAtConnect) address();
    verdict(wire::CarrierStep::kDown);
    expect_end("out of memory for a carrier");
    EXPECT_NE(side_.why.message().find("'ucx' is required"), std::string_view::npos) << side_.why.message();
    EXPECT_EQ(side_.why.code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(side_.why.layer(), Layer::kTransport);
    EXPECT_EQ(side_.why.retry(), Retry::kBackoff);
  }
}

TEST_F(BringUpTurns, ARequiredCarrierThatFailsWhileItIsProbedForWantOfMemoryExhaustsAResource) {
  side_.reset({.policy = CarrierPolicy::kRequire});
  greet();
  address();
  side_.its().on_failed(bring_up_testing::no_memory());
  verdict(wire::CarrierStep::kDown);
  expect_end("out of memory for a carrier");
  EXPECT_EQ(side_.why.code(), StatusCode::kResourceExhausted);
}

TEST_F(BringUpTurns, ARequiredCarrierThatCannotBeHadOrThatThePeerRefusesIsAFailedPrecondition) {
  side_.reset({.policy = CarrierPolicy::kRequire, .fault = Fault::kOpen});
  greet();
  verdict(wire::CarrierStep::kDown);
  expect_end("not here");
  EXPECT_EQ(side_.why.code(), StatusCode::kFailedPrecondition);
  side_.reset({.policy = CarrierPolicy::kRequire});
  greet();
  side_.take_frame(message(wire::CarrierStep::kDown, "out of memory"));
  expect_end("the peer could not bring it up, and says: out of memory");
  EXPECT_EQ(side_.why.code(), StatusCode::kFailedPrecondition) << "what the peer says is its word only";
}

TEST_F(BringUpTurns, ACarrierThatThePeerRequiresAndForWhichMemoryRunsOutExhaustsAResource) {
  side_.reset({.fault = Fault::kMemoryAtOpen});
  peer_.reset({.policy = CarrierPolicy::kRequire});
  greet();
  verdict(wire::CarrierStep::kDown);
  expect_end("the peer requires the carrier 'ucx'");
  EXPECT_EQ(side_.why.code(), StatusCode::kResourceExhausted);
}

TEST_F(BringUpTurns, ACarrierThatFailsBehindBothGoodVerdictsEndsTheConnection) {
  greet();
  address();
  side_.its().on_heard();
  side_.its().on_failed({StatusCode::kUnavailable, Layer::kTransport, "the carrier broke"});
  EXPECT_FALSE(side_.over) << "the peer may say down";
  verdict(wire::CarrierStep::kUp);
  expect_end("the carrier broke");
}

TEST_F(BringUpTurns, ACarrierThatFailsBehindAGoodVerdictWaitsForThePeersOnlySoLong) {
  greet();
  address();
  side_.its().on_heard();
  side_.its().on_failed({StatusCode::kUnavailable, Layer::kTransport, "the carrier broke"});
  ASSERT_TRUE(side_.timer_runs());
  side_.run_timer();
  expect_end("the carrier broke");
}

TEST_F(BringUpTurns, ACarrierThatFailsBehindOneGoodVerdictLeavesTheBaseCarrier) {
  greet();
  address();
  side_.its().on_heard();
  side_.its().on_failed({StatusCode::kUnavailable, Layer::kTransport, "the carrier broke"});
  verdict(wire::CarrierStep::kDown);
  EXPECT_TRUE(side_.settled() && !side_.over && !side_.on_carrier());
  EXPECT_EQ(side_.carrier.shuts, 1);
}

TEST_F(BringUpTurns, OffersThatCannotBeReadAreAsGoodAsNone) {
  for (const std::string_view parameters : {"", "\x07offer"}) {
    side_.reset({});
    side_.take_hello(wire::encode_hello({.carriers = {{wire::CarrierKind::kUcx, std::string{parameters}}}}));
    EXPECT_TRUE(side_.settled() && !side_.over && !side_.on_carrier());
    EXPECT_TRUE(side_.queued.empty());
  }
}

TEST_F(BringUpTurns, WhoRequiresACarrierThatIsNotOfferedIsToldWhatToDo) {
  side_.reset({.policy = CarrierPolicy::kRequire});
  side_.take_hello(wire::encode_hello({}));
  expect_end("a tcp:// URL does without, unless its policy is kRequire");
  EXPECT_EQ(side_.why.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(side_.let_out, 1) << "the peer does not hear what was required";
}

TEST_F(BringUpTurns, ARequiredCarrierThatThisSideCannotBringUpIsNotBlamedOnThePeer) {
  side_.reset({.policy = CarrierPolicy::kRequire, .fault = Fault::kOpen});
  greet();
  side_.take_frame(message(wire::CarrierStep::kDown, "the other side could not"));
  expect_end("this side could not bring it up: not here");
  EXPECT_EQ(side_.why.code(), StatusCode::kFailedPrecondition);
}

TEST_F(BringUpTurns, APreferredCarrierThatThePeerRequiresEndsTheConnectionWithItsReasonHere) {
  for (const auto policy : {CarrierPolicy::kPrefer, CarrierPolicy::kRequire}) {
    side_.reset({.fault = Fault::kOpen});
    Side demanding{{.policy = policy}};
    side_.take_hello(demanding.hello());
    side_.take_frame(message(wire::CarrierStep::kDown, "the other side could not"));
    if (policy == CarrierPolicy::kPrefer) {
      EXPECT_TRUE(side_.settled() && !side_.over);
    } else {
      expect_end("the peer requires the carrier 'ucx', and it is not to be had: this side could not");
      EXPECT_EQ(side_.why.code(), StatusCode::kFailedPrecondition);
    }
  }
}

TEST_F(BringUpTurns, WhoRequiresACarrierOffersAndChoosesNoOther) {
  side_.reset({.policy = CarrierPolicy::kPrefer, .other = CarrierPolicy::kPrefer});
  Side other{{.policy = CarrierPolicy::kPrefer, .other = CarrierPolicy::kPrefer}};
  EXPECT_EQ(side_.its().candidates().offers().size(), 2u);
  side_.take_hello(other.hello());
  EXPECT_NE(side_.queued.front().find("here"), std::string::npos);
  EXPECT_EQ(wire::decode_carrier_body(as_bytes(side_.queued.front()).subspan(wire::kHeaderBytes))->kind,
            wire::CarrierKind::kVerbs);

  side_.reset({.policy = CarrierPolicy::kRequire, .other = CarrierPolicy::kPrefer});
  ASSERT_EQ(side_.its().candidates().offers().size(), 1u);
  EXPECT_EQ(side_.its().candidates().offers().front().kind, wire::CarrierKind::kUcx);
  side_.take_hello(other.hello());
  EXPECT_EQ(wire::decode_carrier_body(as_bytes(side_.queued.front()).subspan(wire::kHeaderBytes))->kind,
            wire::CarrierKind::kUcx);
}

/// One side that offers two carriers, as its peer does: verbs first, ucx behind it.
class BringUpCandidates : public BringUpTurns {
 protected:
  BringUpCandidates() { offer_both({}); }
  void offer_both(SideOptions options) {
    options.other = CarrierPolicy::kPrefer;
    side_.reset(options);
    peer_.reset({.other = CarrierPolicy::kPrefer});
  }
  void about_first(wire::CarrierStep step, std::string_view text = {}) {
    side_.take_frame(message(step, text, wire::CarrierKind::kVerbs));
  }
  wire::CarrierKind last_kind() const {
    return wire::decode_carrier_body(as_bytes(side_.queued.back()).subspan(wire::kHeaderBytes))->kind;
  }
  std::string passed_over() {
    std::string text;
    for (const PassedOverCarrier& each : side_.its().candidates().passed_over()) {
      text.append(to_string(each.kind)).append(": ").append(each.reason).append("; ");
    }
    return text;
  }
};

TEST_F(BringUpCandidates, TheNextOneIsTriedAndTheReportSaysWhyTheFirstWasPassedOver) {
  offer_both({.other_fault = Fault::kOpen});
  greet();
  about_first(wire::CarrierStep::kDown, "no");
  EXPECT_EQ(last_kind(), wire::CarrierKind::kUcx);
  address();
  side_.its().on_heard();
  verdict(wire::CarrierStep::kUp);
  EXPECT_TRUE(side_.on_carrier());
  EXPECT_EQ(side_.its().reason(), "");
  EXPECT_EQ(passed_over(), "verbs: this side could not bring it up: not here; ");
}

TEST_F(BringUpCandidates, TheBaseCarrierIsTheLastAndTheReportSaysWhyOfEach) {
  greet();
  about_first(wire::CarrierStep::kDown, "no device");
  EXPECT_EQ(side_.other.shuts, 1) << "an end is left of what was passed over";
  address();
  EXPECT_TRUE(side_.other.ended) << "the end stays although nobody needs it";
  verdict(wire::CarrierStep::kDown);
  EXPECT_TRUE(side_.settled() && !side_.over && !side_.on_carrier());
  EXPECT_EQ(side_.carrier.shuts, 1);
  EXPECT_EQ(passed_over(),
            "verbs: the peer could not bring it up, and says: no device; "
            "ucx: the peer could not bring it up, and says: ; ");
  EXPECT_NE(side_.its().reason().find("no device; ucx: "), std::string::npos);
}

TEST_F(BringUpCandidates, WhatThePeerDoesNotOfferIsInTheReportAndNoRefusal) {
  side_.take_hello(wire::encode_hello({}));
  EXPECT_TRUE(side_.settled() && !side_.on_carrier());
  EXPECT_EQ(side_.its().reason(), "");
  EXPECT_NE(passed_over().find("ucx: the peer does not offer it"), std::string::npos);
  EXPECT_NE(passed_over().find("verbs: the peer does not offer it"), std::string::npos);
}

TEST_F(BringUpCandidates, APeerThatAnnouncesACarrierAndThenNothingLeavesTimeForTheNext) {
  greet();
  const TimePoint begin = side_.now();
  about_first(wire::CarrierStep::kAddress, "here");
  side_.run_timer();
  EXPECT_EQ(side_.now() - begin, bring_up_testing::kBringUp / 2);
  about_first(wire::CarrierStep::kDown);
  EXPECT_EQ(last_kind(), wire::CarrierKind::kUcx);
  address();
  side_.run_timer();
  EXPECT_EQ(side_.now() - begin, bring_up_testing::kBringUp) << "all together";
  verdict(wire::CarrierStep::kDown);
  EXPECT_TRUE(side_.settled() && !side_.on_carrier());
}

TEST_F(BringUpCandidates, NoEndIsMadeForACarrierForWhichNoTimeIsLeft) {
  greet();
  about_first(wire::CarrierStep::kAddress, "here");
  side_.run_timer();
  side_.pass_time(bring_up_testing::kBringUp);
  about_first(wire::CarrierStep::kDown);
  verdict(wire::CarrierStep::kUp);
  EXPECT_TRUE(side_.settled() && !side_.on_carrier());
  EXPECT_FALSE(side_.carrier.made);
  EXPECT_NE(passed_over().find("ucx: this side could not bring it up: those before it took all"),
            std::string::npos);
}

TEST_F(BringUpCandidates, WithoutMemoryWhenTheTimeIsOverTheConnectionEndsAndNotTheProcess) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new does not fail";
  greet();
  about_first(wire::CarrierStep::kAddress, "here");
  testing::fail_allocations(1, testing::kForEver);
  side_.run_timer();
  testing::fail_allocations(0);
  expect_end("out of memory to bring a carrier up");
}

TEST_F(BringUpCandidates, APeerThatConfirmsWhatIsNotTriedYetEndsTheConnection) {
  greet();
  verdict(wire::CarrierStep::kUp);
  expect_end("about another carrier");
}

TEST_F(BringUpCandidates, APeerThatComesBackToWhatWasPassedOverEndsTheConnection) {
  greet();
  about_first(wire::CarrierStep::kDown, "no");
  about_first(wire::CarrierStep::kUp);
  expect_end("about another carrier");
}

TEST_F(BringUpCandidates, WhatAnEarlierCarrierBroughtDoesNotCountForTheNext) {
  greet();
  about_first(wire::CarrierStep::kAddress, "here");
  side_.its().on_heard();
  about_first(wire::CarrierStep::kDown, "no");
  verdict(wire::CarrierStep::kUp);
  address();
  EXPECT_FALSE(side_.on_carrier()) << "it was never heard by this one";
}

TEST_F(BringUpCandidates, WhoRequiresBothTakesEitherAndNotTheBaseCarrier) {
  for (const auto step : {wire::CarrierStep::kUp, wire::CarrierStep::kDown}) {
    side_.reset({.policy = CarrierPolicy::kRequire, .other = CarrierPolicy::kRequire});
    greet();
    about_first(wire::CarrierStep::kDown, "no device");
    ASSERT_FALSE(side_.over);
    address();
    side_.its().on_heard();
    verdict(step);
    EXPECT_EQ(side_.on_carrier(), step == wire::CarrierStep::kUp);
  }
  expect_end("is required and not to be had");
}

TEST_F(BringUpTurns, WhatThePeerSaysIsCutShortAndHasNoLinesOfItsOwn) {
  side_.reset({});
  greet();
  address();
  side_.take_frame(
      message(wire::CarrierStep::kDown, "it broke\n\x1b[31mweft error: no" + std::string(2000, 'x')));
  const std::string refusal = side_.its().reason();
  EXPECT_NE(refusal.find("it broke??[31mweft error: no"), std::string::npos) << refusal;
  EXPECT_LT(refusal.size(), 600u);
}

TEST_F(BringUpTurns, WhatThePeerSaysOfItsOwnFailureIsToldAsThePeersAndGoesBackToIt) {
  for (const bool heard : {false, true}) {
    side_.reset({.policy = CarrierPolicy::kRequire});
    greet();
    address();
    if (heard) side_.its().on_heard();
    side_.take_frame(message(wire::CarrierStep::kDown, "its disk is full"));
    expect_end("the peer could not bring it up, and says: its disk is full");
    const std::string last = side_.queued.back();
    EXPECT_EQ(last.find("its disk is full") == std::string::npos, heard) << "a verdict is given once";
  }
}

TEST(RefuseDemands, OnlyOfWhoRequiresACarrier) {
  EXPECT_TRUE(refuse_demands({}).ok());
  EXPECT_TRUE(refuse_demands({{wire::CarrierKind::kUcx, std::string("\0offer", 6)}}).ok());
  const Status refused = refuse_demands({{wire::CarrierKind::kUcx, "\x01offer"}});
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.to_string().find("connect to a ucx:// URL"), std::string::npos);
}

}  // namespace
}  // namespace weft
