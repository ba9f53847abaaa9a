// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "transport/bring_up.hpp"
#include "weft/detail/runtime/clock.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/wire/frame.hpp"

/// One side of a BringUp for tests: its carrier is noted and goes nowhere, its connection's wire is a list.
namespace weft::bring_up_testing {

using namespace weft::detail;

inline constexpr Duration kBringUp = std::chrono::seconds{1};

/// Fault of one side, whatever the order of events.
enum class Fault : std::uint8_t { kNone, kOpen, kConnect, kMemoryAtOpen, kMemoryAtConnect };

struct SideOptions {
  CarrierPolicy policy = CarrierPolicy::kPrefer;
  Fault fault = Fault::kNone;
  /// The carrier lets the peer hear of it only once the peer is ready.
  bool needs_peer_ready = false;
  /// This side has no room for it yet when it connects.
  bool waits_for_us = false;
  /// There is a second carrier, of a higher number, with this policy.
  CarrierPolicy other = CarrierPolicy::kForbid;
  Fault other_fault = Fault::kNone;
  /// Secret of the base carrier, see QuietBase; zero: none.
  int secret = 0;
  /// This side connected.
  bool connecting = false;
};

inline Status no_memory() {
  return {StatusCode::kResourceExhausted, Layer::kTransport, "out of memory for a carrier"};
}

/// A carrier that does nothing, and notes what is asked of it.
struct CarrierLog {
  bool made = false;
  int connects = 0;
  int readies = 0;
  int shuts = 0;
  bool ended = false;
  /// Bytes that this side has sent, and those of the peer that it may receive.
  std::string sent;
  std::string arrived;
};

class NotedCarrier final : public CarrierEnd, public Carrier {
 public:
  NotedCarrier(CarrierLog& log, const SideOptions& options)
      : log_(log),
        fault_(options.fault),
        needs_peer_ready_(options.needs_peer_ready),
        waits_for_us_(options.waits_for_us) {}
  ~NotedCarrier() override {
    shut();
    log_.ended = true;
  }
  const Capabilities& capabilities() const override { return capabilities_; }
  std::string description() const override { return "a carrier of a test"; }
  std::string address() const override { return "here"; }
  Status connect(std::string_view peer_address) override {
    EXPECT_EQ(peer_address, "here");
    EXPECT_EQ(log_.shuts, 0) << "connected after its end";
    ++log_.connects;
    if (fault_ == Fault::kMemoryAtConnect) return no_memory();
    return fault_ == Fault::kConnect ? Status{StatusCode::kUnavailable, Layer::kTransport, "no way there"}
                                     : Status{};
  }
  bool connecting() const override { return waits_for_us_; }
  bool has_address() const override { return !waits_for_us_; }
  bool needs_peer_ready() const override { return needs_peer_ready_; }
  void on_peer_ready() override {
    EXPECT_EQ(log_.connects, 1) << "the peer is ready before this side is";
    EXPECT_EQ(log_.shuts, 0) << "told after its end";
    ++log_.readies;
  }
  Carrier& carrier() override { return *this; }
  Moved receive(std::span<const iovec> into, std::span<const iovec>) override {
    EXPECT_EQ(log_.shuts, 0) << "received from after its end";
    if (log_.arrived.empty()) return Moved::blocked();
    const std::size_t bytes = std::min(into.front().iov_len, log_.arrived.size());
    std::copy_n(log_.arrived.begin(), bytes, static_cast<char*>(into.front().iov_base));
    log_.arrived.erase(0, bytes);
    return Moved::some(bytes, false);
  }
  Moved send(std::span<const iovec> from, std::size_t) override {
    EXPECT_EQ(log_.shuts, 0) << "sent by after its end";
    EXPECT_TRUE(!needs_peer_ready_ || log_.readies == 1) << "that would get lost";
    log_.sent.append(static_cast<const char*>(from.front().iov_base), from.front().iov_len);
    return Moved::some(from.front().iov_len, false);
  }
  void end_sending() override {}
  void shut() override { log_.shuts = 1; }

 private:
  CarrierLog& log_;
  const Fault fault_;
  const bool needs_peer_ready_;
  const bool waits_for_us_;
  Capabilities capabilities_;
};

/// A base carrier on which nothing happens.
class QuietBase final : public BaseCarrier, private BaseSecret {
 public:
  /// One that fails when it is less than zero.
  void begin_with(int its_secret) { number_ = its_secret; }
  BaseSecret* secret() noexcept override { return number_ != 0 ? this : nullptr; }
  bool derive(std::string_view purpose, MutableBytes into) noexcept override {
    EXPECT_TRUE(purpose == "ucx" || purpose == "verbs");
    if (number_ < 0) return false;
    for (std::size_t i = 0; i < into.size(); ++i) {
      into[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(number_) + purpose.size());
    }
    return true;
  }
  const Capabilities& capabilities() const override { return capabilities_; }
  Moved receive(std::span<const iovec>, std::span<const iovec>) override { return Moved::blocked(); }
  Moved send(std::span<const iovec>, std::size_t) override { return Moved::blocked(); }
  void end_sending() override {}
  void shut() override {}

 private:
  int number_ = 0;
  Capabilities capabilities_;
};

class NotedProvider final : public CarrierProvider {
 public:
  NotedProvider(CarrierLog& log, const SideOptions& options, wire::CarrierKind kind = wire::CarrierKind::kUcx)
      : log_(log), options_(options), kind_(kind) {}
  wire::CarrierKind kind() const override { return kind_; }
  std::string offer() const override { return "offer"; }
  Result<std::unique_ptr<CarrierEnd>> open(Loop&, CarrierEndOwner&,
                                           std::string_view peer_offer) const override {
    EXPECT_EQ(peer_offer, "offer");
    if (options_.fault == Fault::kOpen)
      return Status{StatusCode::kFailedPrecondition, Layer::kTransport, "not here"};
    if (options_.fault == Fault::kMemoryAtOpen) return no_memory();
    log_.made = true;
    return std::unique_ptr<CarrierEnd>{std::make_unique<NotedCarrier>(log_, options_)};
  }

 private:
  CarrierLog& log_;
  const SideOptions options_;
  const wire::CarrierKind kind_;
};

/// One side: a BringUp, and what its connection would be.
class Side final : public BringUpHost, public FrameSink {
 public:
  explicit Side(const SideOptions& options) : loop_(Loop::create({.clock = &clock_}).value()) {
    reset(options);
  }
  ~Side() { bring_up_.reset(); }

  void reset(const SideOptions& options) {
    bring_up_.reset();
    EXPECT_EQ(loop_->timers_armed(), 0u);
    carrier = other = {};
    queued.clear();
    hellos = frames = 0;
    over = false;
    why = {};
    const auto carriers = std::make_shared<CarrierChoices>();
    carriers->choices = {{std::make_shared<NotedProvider>(carrier, options), options.policy}};
    SideOptions of_other = options;
    of_other.fault = options.other_fault;
    carriers->choices.push_back(
        {std::make_shared<NotedProvider>(other, of_other, wire::CarrierKind::kVerbs), options.other});
    carriers->bring_up_timeout = kBringUp;
    carriers->connecting = options.connecting;
    base_.begin_with(options.secret);
    bring_up_ = std::make_unique<BringUp>(*loop_, *this, base_, carriers);
    bring_up_->set_sink(*this);
  }

  std::string hello() const { return wire::encode_hello({.carriers = bring_up_->candidates().offers()}); }
  void take_hello(const std::string& hello) {
    take(as_sink().on_hello(wire::decode_hello(as_bytes(hello)).value()));
  }
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
  FrameSink& as_sink() { return *bring_up_; }
  BringUp& its() { return *bring_up_; }
  /// The carrier reports that there is something to receive.
  void hear_of_bytes() { static_cast<CarrierOwner&>(*bring_up_).on_readable(); }
  bool on_carrier() const { return bring_up_->moves(); }
  bool settled() const { return over || (bring_up_->decided() && hellos == 1); }
  void end(Status status) {
    if (over) return;
    over = true;
    why = std::move(status);
    bring_up_->shut();
  }

  void pass_time(Duration time) {
    clock_.set(clock_.now() + time);
    loop_->run_until_idle();
  }
  TimePoint now() { return clock_.now(); }

  CarrierLog carrier;
  /// That of the second carrier.
  CarrierLog other;
  std::deque<std::string> queued;
  int hellos = 0;
  int frames = 0;
  int let_out = 0;
  bool over = false;
  Status why;

  // What a BringUp asks of a connection.
  bool queue_carrier_frame(std::string_view frame) override {
    queued.emplace_back(frame);
    return true;
  }
  std::size_t queued_bytes() const override { return 0; }
  void send_what_is_queued() override { ++let_out; }
  void on_carrier_decided() override { take(bring_up_->hand_up_hello(*this)); }
  void on_bring_up_failed(Status status) override { end(std::move(status)); }
  bool has_looked(TimePoint) const noexcept override { return true; }
  void on_peer_gone(int) override {}

  // What the connection's owner hears.
  Status on_hello(const wire::Hello&) override {
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
  QuietBase base_;
  std::unique_ptr<BringUp> bring_up_;
};

}  // namespace weft::bring_up_testing
