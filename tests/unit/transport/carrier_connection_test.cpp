// SPDX-License-Identifier: Apache-2.0
// BU-6: a connection whose bytes move to a carrier, over memory:// and a carrier inside the process, on a
// clock that the tests move.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <string>

#include "conformance/fixture.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/wire/carrier.hpp"

namespace weft::conformance {

using namespace weft::detail;
namespace {

using namespace std::chrono_literals;

class LocalCarrier;

/// Place where the ends of local carriers find each other, and what is to go wrong with them.
struct Exchange {
  std::map<std::string, LocalCarrier*> ends;
  int made = 0;
  bool refuses_to_open = false;
  bool deaf = false;            ///< nobody hears anybody
  bool tells_nobody = false;    ///< what arrives is not told
  bool holds_landings = false;  ///< a landing ends only when it is reclaimed
  std::size_t in_use = 0;
  int landings_reclaimed = 0;
};

/// One end of a carrier inside the process. Bytes lie in a string; a landing is filled by a turn of its own,
/// so that there is a time at which the memory is the carrier's.
class LocalCarrier final : public CarrierEnd, public Carrier {
 public:
  LocalCarrier(Loop& loop, CarrierEndOwner& owner, Exchange& exchange)
      : loop_(loop),
        bring_up_(owner),
        exchange_(exchange),
        name_(std::to_string(exchange.made++)),
        tell_([this] { tell(); }) {
    exchange_.ends[name_] = this;
    report_to(owner);
  }
  ~LocalCarrier() override { shut(); }

  const Capabilities& capabilities() const override { return capabilities_; }
  std::string description() const override { return "a carrier of a test"; }
  std::string address() const override { return name_; }
  Carrier& carrier() override { return *this; }
  Status connect(std::string_view peer) override {
    const auto found = exchange_.ends.find(std::string{peer});
    if (found == exchange_.ends.end()) return {StatusCode::kUnavailable, Layer::kTransport, "no such end"};
    peer_ = found->second;
    peer_->peer_ = this;
    if (!exchange_.deaf) peer_->heard();
    return {};
  }
  Moved receive(std::span<const iovec> into, std::span<const iovec> landing) override {
    if (lands_in_ != nullptr) return landed_ > 0 ? take_landed() : Moved::begun();
    if (bytes_.empty()) return ended_ ? Moved::ended() : Moved::blocked();
    ++exchange_.in_use;
    if (!landing.empty()) return land(landing.front());
    std::size_t total = 0;
    for (const iovec& place : into) {
      const std::size_t part = std::min(place.iov_len, bytes_.size());
      std::memcpy(place.iov_base, bytes_.data(), part);
      bytes_.erase(0, part);
      total += part;
    }
    return Moved::some(total, bytes_.empty() && !ended_);
  }
  Moved reclaim(Lent) override {
    ++exchange_.landings_reclaimed;
    return lands_in_ != nullptr ? finish_landing() : Moved::blocked();
  }
  Moved send(std::span<const iovec> from, std::size_t) override {
    if (shut_ || peer_ == nullptr) return Moved::failed(ECONNRESET);
    ++exchange_.in_use;
    peer_->bytes_.append(static_cast<const char*>(from[0].iov_base), from[0].iov_len);
    peer_->wake();
    return Moved::some(from[0].iov_len, false);
  }
  void end_sending() override {
    left_ = true;
    if (peer_ != nullptr) peer_->ended_ = true;
    if (peer_ != nullptr) peer_->wake();
    wake();
  }
  bool all_left() const override { return left_; }
  void shut() override {
    if (std::exchange(shut_, true)) return;
    loop_.unschedule(tell_);
    exchange_.ends.erase(name_);
    if (peer_ != nullptr) peer_->peer_ = nullptr;
  }
  void break_down() {
    broken_ = true;
    wake();
  }

 private:
  struct Tell : Ready {
    explicit Tell(std::function<void()> its)
        : Ready([](Ready* node) noexcept { static_cast<Tell*>(node)->what(); }), what(std::move(its)) {}
    std::function<void()> what;
  };

  void wake() {
    if (!shut_ && !tell_.is_scheduled() && !exchange_.tells_nobody) loop_.schedule(tell_);
  }
  void heard() {
    heard_ = true;
    wake();
  }
  void tell() {
    if (std::exchange(heard_, false)) bring_up_.on_heard();
    if (!shut_ && lands_in_ != nullptr && !exchange_.holds_landings) fill_landing();
    if (!shut_ && (!bytes_.empty() || ended_ || landed_ > 0)) owner().on_readable();
    if (!shut_ && left_) owner().on_writable();
    if (!shut_ && broken_) owner().on_failed({StatusCode::kUnavailable, Layer::kTransport, "it broke"});
  }
  Moved land(const iovec& landing) {
    lands_in_ = static_cast<std::byte*>(landing.iov_base);
    landing_bytes_ = landing.iov_len;
    wake();
    return Moved::begun();
  }
  void fill_landing() {
    if (landed_ > 0) return;
    landed_ = std::min(bytes_.size(), landing_bytes_);
    std::memcpy(lands_in_, bytes_.data(), landed_);
    bytes_.erase(0, landed_);
  }
  Moved take_landed() {
    lands_in_ = nullptr;
    return Moved::some(std::exchange(landed_, 0), bytes_.empty() && !ended_);
  }
  Moved finish_landing() {
    fill_landing();
    return take_landed();
  }

  Loop& loop_;
  CarrierEndOwner& bring_up_;
  Exchange& exchange_;
  const std::string name_;
  Tell tell_;
  Capabilities capabilities_{.name = "local", .lease_bytes_min = 1024};
  LocalCarrier* peer_ = nullptr;
  std::string bytes_;
  std::byte* lands_in_ = nullptr;
  std::size_t landing_bytes_ = 0;
  std::size_t landed_ = 0;
  bool heard_ = false;
  bool ended_ = false;
  bool left_ = false;
  bool broken_ = false;
  bool shut_ = false;
};

class LocalProvider final : public CarrierProvider {
 public:
  explicit LocalProvider(Exchange& exchange) : exchange_(exchange) {}
  wire::CarrierKind kind() const override { return wire::CarrierKind::kSharedMemory; }
  std::string offer() const override { return {}; }
  Result<std::unique_ptr<CarrierEnd>> open(Loop& loop, CarrierEndOwner& owner,
                                           std::string_view) const override {
    if (exchange_.refuses_to_open) {
      return Status{StatusCode::kUnavailable, Layer::kTransport, "there is no room"};
    }
    return std::unique_ptr<CarrierEnd>{std::make_unique<LocalCarrier>(loop, owner, exchange_)};
  }

 private:
  Exchange& exchange_;
};

class CarrierConnections : public ConformanceTest {
 protected:
  ~CarrierConnections() override {
    client_.connection.reset();
    server_.connection.reset();
  }
  ConnectionOptions with(CarrierPolicy policy) {
    ConnectionOptions options;
    options.carriers = std::make_shared<CarrierChoices>(
        CarrierChoices{{{std::make_shared<LocalProvider>(exchange_), policy}}, kBringUp});
    return options;
  }
  void greet_preferring() {
    ASSERT_NO_FATAL_FAILURE(greet(with(CarrierPolicy::kPrefer), with(CarrierPolicy::kPrefer)));
  }
  bool on_carrier() const { return client_name() == "local"; }
  std::string client_name() const { return client_.connection->capabilities().name; }
  std::string server_name() const { return server_.connection->capabilities().name; }
  /// A request goes each way, whole.
  void expect_frames_pass(bool checksums = false) {
    server_.sink.frames.clear();
    client_.sink.frames.clear();
    client_.send(wire::RequestHead{.id = 1, .method = 7}.header(), "to the server", checksums);
    server_.send(wire::RequestHead{.id = 2, .method = 7}.header(), "to the client", checksums);
    ASSERT_TRUE(until([&] { return !server_.sink.frames.empty() && !client_.sink.frames.empty(); }))
        << client_.sink.why.to_string() << server_.sink.why.to_string();
    EXPECT_EQ(server_.sink.frames.back().body, "to the server");
    EXPECT_EQ(client_.sink.frames.back().body, "to the client");
  }
  std::string carrier_message(wire::CarrierStep step, std::string_view text = {}) {
    return wire::encode_carrier_frame({step, wire::CarrierKind::kSharedMemory, text});
  }
  /// The client speaks by hand: its hello offers the carrier.
  void greet_by_hand() {
    ASSERT_NO_FATAL_FAILURE(connect({}, with(CarrierPolicy::kPrefer)));
    server_.send_hello();
    const std::string hello =
        wire::encode_hello({.carriers = {{wire::CarrierKind::kSharedMemory, std::string(1, '\0')}}});
    std::memcpy(client_.outbox().append(hello.size()), hello.data(), hello.size());
    run_until_idle();
  }

  /// The one end there is, when the client has none. It is its own peer then.
  std::string server_address() const { return exchange_.ends.begin()->first; }

  static constexpr Duration kBringUp = 2s;
  Exchange exchange_;
};

INSTANTIATE_TEST_SUITE_P(OverMemory, CarrierConnections, ::testing::Values("memory"));

TEST_P(CarrierConnections, BytesGoByTheCarrierOnceBothAreUp) {
  ASSERT_NO_FATAL_FAILURE(greet_preferring());
  EXPECT_TRUE(on_carrier() && server_name() == "local");
  const std::size_t used = exchange_.in_use;
  ASSERT_NO_FATAL_FAILURE(expect_frames_pass());
  EXPECT_GT(exchange_.in_use, used);
}

TEST_P(CarrierConnections, AnAttachmentLandsWhereItIsWanted) {
  ASSERT_NO_FATAL_FAILURE(greet_preferring());
  CountedLease lease{pattern(100'000)};
  client_.request_with(3, lease, "with");
  ASSERT_TRUE(until([&] { return !server_.sink.frames.empty(); }));
  EXPECT_TRUE(server_.sink.frames[0].landed);
  EXPECT_EQ(server_.sink.frames[0].attachment, lease.bytes);
  EXPECT_EQ(lease.released, 1);
}

TEST_P(CarrierConnections, AnAbandonedLandingLeavesTheNextFramesWhole) {
  ASSERT_NO_FATAL_FAILURE(greet_preferring());
  exchange_.holds_landings = true;
  CountedLease lease{pattern(100'000)};
  client_.request_with(3, lease, "with");
  run_until_idle();
  ASSERT_TRUE(server_.sink.asked_landing == 1 && server_.sink.frames.empty());
  server_.connection->abandon_landing();
  const TimePoint before = clock_.now();
  ASSERT_TRUE(until([&] { return !server_.sink.frames.empty(); }));
  EXPECT_EQ(clock_.now(), before) << "all its bytes were here";
  EXPECT_FALSE(server_.sink.frames[0].landed);
  exchange_.holds_landings = false;
  ASSERT_NO_FATAL_FAILURE(expect_frames_pass());
}

// It may have been read ahead, while the landing before it was received, so that only the carrier knows
// whether a device writes to it.
TEST_P(CarrierConnections, ALandingIsReclaimedAlsoBeforeItWasReceivedInto) {
  ASSERT_NO_FATAL_FAILURE(greet_preferring());
  exchange_.holds_landings = true;
  CountedLease lease{pattern(100'000)};
  client_.request_with(1, lease, "with");
  run_until_idle();
  ASSERT_EQ(server_.sink.asked_landing, 1);
  server_.connection->abandon_landing();
  EXPECT_EQ(exchange_.landings_reclaimed, 1);
  client_.send({.type = wire::FrameType::kRequest,
                .flags = wire::FrameFlags::kAttachment,
                .id = 2,
                .attachment_bytes = 100'000});
  ASSERT_TRUE(until([&] { return server_.sink.asked_landing == 2; }));
  run_until_idle();
  server_.connection->abandon_landing();
  EXPECT_EQ(exchange_.landings_reclaimed, 2);
}

// Its carrier is shut in a later turn, and until then whoever dropped the attachment has the memory back.
TEST_P(CarrierConnections, ALandingIsReclaimedAlsoWhenTheConnectionIsClosing) {
  ASSERT_NO_FATAL_FAILURE(greet_preferring());
  exchange_.holds_landings = true;
  CountedLease lease{pattern(100'000)};
  client_.request_with(3, lease, "with");
  run_until_idle();
  ASSERT_EQ(server_.sink.asked_landing, 1);
  server_.connection->close({StatusCode::kCancelled, Layer::kUser, "enough"});
  EXPECT_EQ(exchange_.landings_reclaimed, 0);
  server_.connection->abandon_landing();
  EXPECT_EQ(exchange_.landings_reclaimed, 1);
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_EQ(server_.sink.why.message(), "enough");
}

TEST_P(CarrierConnections, BothEndsFinishInOrder) {
  ASSERT_NO_FATAL_FAILURE(greet_preferring());
  client_.request(1, "last words");
  client_.connection->finish();
  ASSERT_TRUE(until([&] { return client_.sink.closed() && server_.sink.closed(); }));
  EXPECT_TRUE(client_.sink.why.ok()) << client_.sink.why.to_string();
  EXPECT_TRUE(server_.sink.why.ok()) << server_.sink.why.to_string();
  EXPECT_EQ(server_.sink.frames.size(), 1u);
  EXPECT_TRUE(exchange_.ends.empty());
}

// BU-4: as a killed peer leaves it.
TEST_P(CarrierConnections, WhatLiesInTheCarrierWhenTheBaseCarrierEndsIsReceivedAndThenTheEnd) {
  ASSERT_NO_FATAL_FAILURE(greet_preferring());
  exchange_.tells_nobody = true;
  client_.request(1, "last words");
  run_until_idle();
  client_.connection.reset();
  const TimePoint before = clock_.now();
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_EQ(clock_.now(), before) << "noticed by a timeout only";
  EXPECT_EQ(server_.sink.frames.size(), 1u);
}

TEST_P(CarrierConnections, FallsBackToTheBaseCarrierWhenTheCarrierCannotBeOpened) {
  exchange_.refuses_to_open = true;
  ASSERT_NO_FATAL_FAILURE(greet_preferring());
  EXPECT_EQ(client_name(), "memory");
  ASSERT_NO_FATAL_FAILURE(expect_frames_pass());
  EXPECT_EQ(exchange_.in_use, 0u);
}

TEST_P(CarrierConnections, FallsBackToTheBaseCarrierWhenNobodyIsHeard) {
  exchange_.deaf = true;
  const TimePoint before = clock_.now();
  ASSERT_NO_FATAL_FAILURE(greet_preferring());
  EXPECT_EQ(clock_.now() - before, kBringUp);
  EXPECT_EQ(client_name(), "memory");
  ASSERT_NO_FATAL_FAILURE(expect_frames_pass());
  EXPECT_TRUE(exchange_.ends.empty()) << "an unused carrier stays";
}

TEST_P(CarrierConnections, ChecksumsHoldFromTheFirstFrameOnAfterFallingBack) {
  for (bool deaf : {true, false}) {
    exchange_.deaf = deaf;
    client_.sink.during_hello = [&] { client_.connection->use_checksums(); };
    // Queued inside on_hello: may arrive together with the verdict.
    server_.sink.during_hello = [&] {
      server_.connection->use_checksums();
      server_.send(wire::RequestHead{.id = 9, .method = 7}.header(), "at once", true);
    };
    ASSERT_NO_FATAL_FAILURE(greet_preferring());
    EXPECT_EQ(on_carrier(), !deaf);
    ASSERT_TRUE(until([&] { return !client_.sink.frames.empty(); })) << client_.sink.why.to_string();
    EXPECT_EQ(client_.sink.frames[0].body, "at once");
    ASSERT_NO_FATAL_FAILURE(expect_frames_pass(true));
    client_.connection.reset();
    server_.connection.reset();
    client_ = {};
    server_ = {};
  }
}

TEST_P(CarrierConnections, ARequiredCarrierThatDoesNotComeUpEndsBothSides) {
  exchange_.deaf = true;
  ASSERT_NO_FATAL_FAILURE(connect(with(CarrierPolicy::kRequire), with(CarrierPolicy::kPrefer)));
  client_.send_hello();
  server_.send_hello();
  ASSERT_TRUE(until([&] { return client_.sink.closed() && server_.sink.closed(); }));
  EXPECT_EQ(client_.sink.why.code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(client_.sink.hellos.empty());
}

TEST_P(CarrierConnections, BothSidesThatRequireACarrierSayWhyThereIsNone) {
  exchange_.refuses_to_open = true;
  ASSERT_NO_FATAL_FAILURE(connect(with(CarrierPolicy::kRequire), with(CarrierPolicy::kRequire)));
  client_.send_hello();
  server_.send_hello();
  ASSERT_TRUE(until([&] { return client_.sink.closed() && server_.sink.closed(); }));
  for (const Peer* peer : {&client_, &server_}) {
    EXPECT_EQ(peer->sink.why.code(), StatusCode::kFailedPrecondition);
    EXPECT_NE(peer->sink.why.to_string().find("there is no room"), std::string::npos);
    EXPECT_TRUE(peer->sink.hellos.empty());
  }
}

TEST_P(CarrierConnections, APeerThatIsCutOffDuringBringUpIsTheConnectionsEnd) {
  exchange_.deaf = true;
  ASSERT_NO_FATAL_FAILURE(connect(with(CarrierPolicy::kPrefer), with(CarrierPolicy::kPrefer)));
  client_.send_hello();
  server_.send_hello();
  run_until_idle();
  client_.connection.reset();
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_TRUE(exchange_.ends.empty());
  EXPECT_EQ(loop_->timers_armed(), 0u);
}

// The hook of the loop that watches a real base carrier tells of an end once, and it may be while the verdict
// is still unread.
TEST_P(CarrierConnections, ABaseCarrierThatEndsTogetherWithTheVerdictIsNoticed) {
  ASSERT_NO_FATAL_FAILURE(greet_by_hand());
  client_.send_raw(carrier_message(wire::CarrierStep::kAddress, server_address()));
  run_until_idle();
  client_.send_raw(carrier_message(wire::CarrierStep::kUp));
  client_.connection->finish();
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_EQ(server_.sink.hellos.size(), 1u);
}

TEST_P(CarrierConnections, AFrameOnTheBaseCarrierBehindTheVerdictIsTheConnectionsEnd) {
  for (const std::size_t cut : {std::size_t{1}, std::size_t{8}, std::size_t{1000}}) {
    ASSERT_NO_FATAL_FAILURE(greet_by_hand());
    client_.send_raw(carrier_message(wire::CarrierStep::kAddress, server_address()));
    run_until_idle();
    const std::string request =
        frame_head(wire::RequestHead{.id = 1, .method = 7}.header(), "by the wrong way");
    client_.send_raw(carrier_message(wire::CarrierStep::kUp) + request.substr(0, cut));
    ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
    EXPECT_EQ(server_.sink.why.code(), StatusCode::kInvalidArgument) << server_.sink.why.to_string();
    EXPECT_TRUE(server_.sink.frames.empty());
    client_.connection.reset();
    server_.connection.reset();
    client_ = {};
    server_ = {};
  }
}

TEST_P(CarrierConnections, BytesOnTheBaseCarrierWhileAnotherIsInUseAreTheConnectionsEnd) {
  ASSERT_NO_FATAL_FAILURE(greet_by_hand());
  client_.send_raw(carrier_message(wire::CarrierStep::kAddress, server_address()));
  run_until_idle();
  client_.send_raw(carrier_message(wire::CarrierStep::kUp));
  ASSERT_TRUE(until([&] { return server_.sink.hellos.size() == 1; }));
  client_.send_raw("x");
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_NE(server_.sink.why.to_string().find("sent on the stream"), std::string::npos);
}

TEST_P(CarrierConnections, ACarrierThatFailsBetweenTheVerdictsEndsTheConnectionOnce) {
  ASSERT_NO_FATAL_FAILURE(greet_by_hand());
  client_.send_raw(carrier_message(wire::CarrierStep::kAddress, server_address()));
  run_until_idle();
  exchange_.ends.begin()->second->break_down();
  run_until_idle();
  EXPECT_FALSE(server_.sink.closed()) << "the peer may say down";
  client_.send_raw(carrier_message(wire::CarrierStep::kUp));
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_NE(server_.sink.why.to_string().find("it broke"), std::string::npos);
  EXPECT_TRUE(server_.sink.hellos.empty());
}

TEST_P(CarrierConnections, ACarrierThatFailsInUseEndsTheConnectionOnce) {
  ASSERT_NO_FATAL_FAILURE(greet_preferring());
  exchange_.ends.begin()->second->break_down();
  ASSERT_TRUE(until([&] { return client_.sink.closed() && server_.sink.closed(); }));
}

TEST_P(CarrierConnections, AConnectionMayBeDestroyedAtEveryPointOfBringUp) {
  std::size_t points = 0;
  for (bool goes_on = true; goes_on; ++points) {
    ASSERT_NO_FATAL_FAILURE(connect(with(CarrierPolicy::kPrefer), with(CarrierPolicy::kPrefer)));
    client_.send_hello();
    server_.send_hello();
    for (std::size_t turn = 0; turn < points; ++turn) loop_->run_once(0s);
    goes_on = client_.sink.hellos.empty() || server_.sink.hellos.empty();
    client_.connection.reset();
    run_until_idle();
    server_.connection.reset();
    EXPECT_TRUE(exchange_.ends.empty());
    EXPECT_EQ(loop_->timers_armed(), 0u);
    client_ = {};
    server_ = {};
  }
  EXPECT_GT(points, 3u);
}

}  // namespace
}  // namespace weft::conformance
