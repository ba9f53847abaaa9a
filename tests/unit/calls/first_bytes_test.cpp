// SPDX-License-Identifier: Apache-2.0
// The first bytes of a connection choose its protocol.
#include "calls/server/first_bytes.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/manual_time.hpp"
#include "unit/calls/fake_carrier.hpp"

namespace weft::calls_testing {
namespace {

using namespace std::chrono_literals;

/// A protocol of connections that begin with a word.
class WordProtocol final : public Protocol {
 public:
  explicit WordProtocol(std::string word) : word_(std::move(word)) {}
  std::string_view name() const override { return word_; }
  Recognized recognizes(Bytes first) const override {
    const std::string_view text = as_text(first);
    if (text.starts_with(word_)) return Recognized::kYes;
    return std::string_view{word_}.starts_with(text) ? Recognized::kMore : Recognized::kNo;
  }
  std::unique_ptr<ServedConnection> make(const ServedConnectionSetup&,
                                         std::unique_ptr<BaseCarrier>) const override {
    return nullptr;
  }

 private:
  const std::string word_;
};

class FirstBytesRig final : private FirstBytesOwner {
 public:
  FirstBytesRig() {
    auto carrier = std::make_unique<FakeCarrier>();
    carrier_ = carrier.get();
    first_.emplace(*loop_, static_cast<FirstBytesOwner&>(*this), protocols_, std::move(carrier),
                   ConnectionOptions{}, 10s);
    loop_->run_until_idle();
  }

  void arrives(std::string_view bytes) {
    carrier_->arrive(bytes);
    EXPECT_TRUE(chosen_.empty()) << "the owner was told inside the carrier's callback";
    loop_->run_until_idle();
  }
  void run() { loop_->run_until_idle(); }
  void pass(Duration time) { testing::pass(*loop_, clock_, time); }

  FakeCarrier& carrier() { return *carrier_; }
  FirstBytes& first() { return *first_; }
  void destroy() { first_.reset(); }
  /// Name of the protocol; "none" for Weft's own or an unknown one. Empty until it is known.
  const std::string& chosen() const { return chosen_; }
  const std::string& received() const { return received_; }
  const std::optional<Status>& left() const { return left_; }

 private:
  void on_protocol(FirstBytes& first, const Protocol* protocol) override {
    EXPECT_TRUE(chosen_.empty()) << "told twice";
    chosen_ = protocol != nullptr ? protocol->name() : "none";
    received_ = as_text(first.received());
    // The owner may destroy the carrier at once.
    first.take_carrier().reset();
  }
  void on_no_protocol(FirstBytes&, const Status& why) override {
    EXPECT_FALSE(left_) << "told twice";
    left_ = why;
  }

  static std::unique_ptr<Loop> make_loop(ManualClock& clock) {
    LoopOptions options;
    options.clock = &clock;
    return Loop::create(options).value();
  }

  ManualClock clock_;
  const std::unique_ptr<Loop> loop_ = make_loop(clock_);
  const std::vector<std::shared_ptr<const Protocol>> protocols_{std::make_shared<WordProtocol>("GET "),
                                                                std::make_shared<WordProtocol>("GOOD")};
  FakeCarrier* carrier_ = nullptr;
  std::optional<FirstBytes> first_;
  std::string chosen_;
  std::string received_;
  std::optional<Status> left_;
};

TEST(FirstBytes, ChooseAProtocolAndAreHandedOver) {
  FirstBytesRig rig;
  rig.arrives("G");
  EXPECT_EQ(rig.chosen(), "") << "both protocols begin so";
  rig.arrives("ET /");
  EXPECT_EQ(rig.chosen(), "GET ");
  EXPECT_EQ(rig.received(), "GET /");
}

TEST(FirstBytes, ThatNoProtocolKnowsAreWefts) {
  FirstBytesRig rig;
  rig.arrives("GOO");
  EXPECT_EQ(rig.chosen(), "");
  rig.arrives("F");
  EXPECT_EQ(rig.chosen(), "none");
  EXPECT_EQ(rig.received(), "GOOF");
}

TEST(FirstBytes, TakeNoMoreThanAProtocolMayNeed) {
  FirstBytesRig rig;
  rig.arrives(std::string(1000, 'x'));
  EXPECT_EQ(rig.chosen(), "none");
  EXPECT_EQ(rig.received().size(), Protocol::kFirstBytesMax);
}

TEST(FirstBytes, OfAPeerThatLeavesAreNone) {
  FirstBytesRig rig;
  rig.arrives("G");
  rig.carrier().end();
  rig.run();
  ASSERT_TRUE(rig.left());
  EXPECT_EQ(rig.left()->code(), StatusCode::kUnavailable);
  EXPECT_EQ(rig.chosen(), "");
}

TEST(FirstBytes, OfASilentPeerAreAwaitedForATime) {
  FirstBytesRig rig;
  rig.pass(9s);
  EXPECT_FALSE(rig.left());
  rig.pass(2s);
  ASSERT_TRUE(rig.left());
  EXPECT_NE(rig.left()->message().find("sent nothing"), std::string::npos) << rig.left()->to_string();
}

TEST(FirstBytes, OfAFailedCarrierAreNone) {
  FirstBytesRig rig;
  rig.carrier().fail({StatusCode::kUnavailable, Layer::kTransport, "reset"});
  rig.run();
  ASSERT_TRUE(rig.left());
  EXPECT_EQ(rig.left()->message(), "reset");
}

TEST(FirstBytes, ThatAreAbandonedTellNobody) {
  FirstBytesRig rig;
  rig.carrier().arrive("GET ");
  rig.first().abandon();
  EXPECT_TRUE(rig.carrier().is_shut());
  rig.pass(20s);
  EXPECT_EQ(rig.chosen(), "");
  EXPECT_FALSE(rig.left());
}

TEST(FirstBytes, MayBeDestroyedOnceTheProtocolIsKnown) {
  FirstBytesRig rig;
  rig.carrier().arrive("GET ");
  rig.destroy();
  rig.pass(20s);
  EXPECT_EQ(rig.chosen(), "");
  EXPECT_FALSE(rig.left());
}

}  // namespace
}  // namespace weft::calls_testing
