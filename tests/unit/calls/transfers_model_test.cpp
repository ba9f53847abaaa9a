// SPDX-License-Identifier: Apache-2.0
// Attachments in pieces, in and out of one session, in every order in which their call, their peer, a device
// and the connection can get on, up to a depth: memory is given back once and never while a device has it,
// nothing is written outside, every call ends once, charges return, and of what was given up no further piece
// begins. Capabilities: CR-8.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calls/gate/method_table.hpp"
#include "calls/session/session.hpp"
#include "support/fewer_steps.hpp"
#include "support/manual_time.hpp"
#include "support/model_walk.hpp"
#include "support/wire_bytes.hpp"
#include "unit/calls/device_carrier.hpp"
#include "unit/calls/model_calls.hpp"
#include "weft/detail/calls/call/pending_call.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/calls/terms/transfer_progress.hpp"

namespace weft::transfers_model {
namespace {

using namespace weft::detail;
using namespace std::chrono_literals;
using calls_testing::CountingWaiter;
using calls_testing::DeviceCarrier;
using calls_testing::Ground;
using calls_testing::ModelTarget;
using calls_testing::no_text;
using calls_testing::table_of;
using testing::kFewerSteps;
using wire::FrameFlags;

constexpr std::size_t kPartBytes = std::size_t{64} * 1024;
constexpr std::size_t kParts = 3;
constexpr std::size_t kAllBytes = kParts * kPartBytes;
constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xEE};
constexpr std::byte kScribble{0xDD};

enum class Act : std::uint8_t {
  kDeviceSent,      // the device has read what it was given to send
  kDeviceLanded,    // it has written what it received
  kPeerAnnounces,   // an answer, or a request, whose attachment comes in pieces
  kPeerSendsPiece,  // the next one
  kPeerMisplaces,   // one that does not come next
  kPeerEnds,        // refuses our request, or cancels its own
  kCancel,
  kDrop,
  kLose,
  kTime,  // long enough to take memory back by force
  kCount
};
const char* const kActNames[] = {"sent",      "landed", "announces", "piece", "misplaced",
                                 "peer ends", "cancel", "drop",      "lost",  "time"};

const MethodKey kCalled{11, 22, "called", &no_text};

class ModelCall final : public PendingCall {
 public:
  ModelCall(CallTarget& target, CallDetails& details) : PendingCall(target, kCalled, &details) {
    set_waiter(&waiter_);
  }
  void begin_now() {
    const Begun begun = PendingCall::begin(nullptr, 0);
    if (begun.body != nullptr && begun.needs_sent()) sent();
  }
  int woken() const { return waiter_.runs; }

 private:
  std::size_t body_bytes() const override { return 0; }
  void encode_body(std::byte*) const override {}
  void decode_answer(Bytes, Status&) noexcept override {}
  CountingWaiter waiter_;
};

/// Caller: our request has an attachment, and its answer. Server: the peer's request has, and our answer; or
/// that has one in runs, of which one lies in two pieces.
enum class Side : std::uint8_t { kCaller, kServer, kServerWithRuns };

class Run final : private SessionOwner {
 public:
  Run(Ground& ground, Side side) : ground_(ground), side_(side), methods_(table_of(&serve, false)) {
    running = this;
    source_.fill(std::byte{'s'});
    landing_.fill(kGuard);
    host_.methods = &methods_;
    host_.calls = MethodCounts{1};
    host_.memory.emplace(std::make_shared<MemoryBudget>(limits_.process_memory_max));
    free_ = host_.memory->free();
    auto carrier = std::make_unique<DeviceCarrier>(
        carrier_is_there_, kPartBytes,
        [memory = memory_to_land()](std::size_t) mutable { return std::move(memory); });
    carrier_ = carrier.get();
    auto connection = std::make_unique<Connection>(loop(), connection_options(limits_), std::move(carrier));
    const SessionSetup setup{loop(), *this, limits_, host_, ground_.logger, 1s};
    session_ = std::make_unique<Session>(setup, std::move(connection), 7);
    session_->start();
    peer_sends(testing::hello_bytes());
    carrier_->sent.clear();
    if (side_ != Side::kCaller) return;
    target_.emplace(loop(), *session_);
    CallOptions options{.attachment = Bytes{source_}, .landing = place()};
    options.progress = &progress_;
    details_.emplace(options, false);
    call_.emplace(*target_, *details_);
    call_->begin_now();
    run_until_idle();
    id_ = wire::load_header(reinterpret_cast<const std::byte*>(carrier_->sent.data())).id;
  }
  ~Run() {
    if (session_ != nullptr) finish();
  }

  void act(Act act) {
    switch (act) {
      case Act::kDeviceSent:
        if (!carrier_->sending.active()) return;
        carrier_->finish_sending();
        carrier_->its_owner().on_writable();
        break;
      case Act::kDeviceLanded:
        if (!carrier_->landing.active()) return;
        carrier_->finish_landing();
        carrier_->its_owner().on_readable();
        break;
      case Act::kPeerAnnounces:
        if (!announced_) announce();
        break;
      case Act::kPeerSendsPiece:
        if (announced_ && pieces_ < kParts) send_piece(pieces_++);
        break;
      case Act::kPeerMisplaces:
        if (!announced_ || misplaced_ || closed_ != 0) return;
        misplaced_ = true;
        send_piece((pieces_ + 1) % kParts);
        break;
      case Act::kPeerEnds:
        end_by_peer();
        break;
      case Act::kCancel:
        if (call_) give_up([this] { call_->on_cancel(CancelReason::kRequested); });
        break;
      case Act::kDrop:
        if (call_) give_up([this] { drop(); });
        break;
      case Act::kLose:
        if (closed_ != 0) return;
        carrier_->its_owner().on_failed({StatusCode::kUnavailable, Layer::kTransport, "lost"});
        break;
      default:
        if (times_ == 2) return;
        ++times_;
        testing::pass(loop(), ground_.clock, 300ms);
    }
    run_until_idle();
    check();
  }

  /// All that the next steps depend on.
  std::string state() {
    std::string text;
    const auto add = [&text](std::uint64_t number) { text += std::to_string(number) + ' '; };
    for (const DeviceCarrier::Operation& each : {carrier_->sending, carrier_->landing}) {
      add(each.bytes);
      add(each.done ? 1 : 0);
    }
    for (const std::uint64_t number :
         {std::uint64_t{carrier_->sent.size()}, std::uint64_t{carrier_->arrived.size()},
          std::uint64_t{session_->connection().outbox().queued_bytes()}, std::uint64_t{pieces_},
          std::uint64_t{announced_}, std::uint64_t{misplaced_}, std::uint64_t{ended_},
          std::uint64_t{static_cast<unsigned>(closed_)}, std::uint64_t{static_cast<unsigned>(times_)},
          std::uint64_t{dropped_}, std::uint64_t{given_up_.has_value()},
          std::uint64_t{call_ && call_->done()}, progress_.sent(), progress_.received(),
          std::uint64_t{static_cast<unsigned>(handled_)}, std::uint64_t{static_cast<unsigned>(freed_)},
          std::uint64_t{static_cast<unsigned>(told_)}, std::uint64_t{host_.memory->free()}}) {
      add(number);
    }
    return text;
  }

  /// The session goes, and all that it had is over.
  void finish() {
    if (target_) target_->close();
    session_.reset();
    run_until_idle();
    if (call_ && (!call_->done() || call_->woken() != 1)) complain("the call did not end once");
    if (freed_ != handled_ || told_ != handled_) complain("the answer's memory did not come back once");
    if (side_ != Side::kCaller && !landed_) complain("memory that the peer fills did not come back");
    if (host_.memory->free() != free_) complain("something is charged still");
    call_.reset();
    check_landing();
  }
  const std::string& wrong() const { return wrong_; }

 private:
  Loop& loop() { return *ground_.loop; }
  /// The memory for what the peer sends to a handler.
  Buffer memory_to_land() {
    if (side_ == Side::kCaller) return {};
    return Buffer::adopt(place(), this, [](void* its) noexcept {
      Run& run = *static_cast<Run*>(its);
      if (run.landed_) run.complain("memory that the peer fills came back twice");
      if (run.carrier_is_there_ && run.carrier_->landing.uses(Bytes{run.landing_})) {
        run.complain("a device writes to memory that was given back");
      }
      run.landed_ = run.landing_;
    });
  }
  void run_until_idle() { loop().run_until_idle(); }
  void complain(std::string_view text) {
    if (wrong_.empty()) wrong_ = text;
  }
  MutableBytes place() { return MutableBytes{landing_}.subspan(kGuardBytes, kAllBytes); }
  void peer_sends(std::string_view bytes) {
    if (closed_ != 0) return;
    carrier_->arrived += bytes;
    carrier_->its_owner().on_readable();
    run_until_idle();
  }
  void announce() {
    announced_ = true;
    if (side_ == Side::kCaller) {
      if (ended_) return;
      wire::AnswerHead head{.flags = FrameFlags::kAttachment | FrameFlags::kInPieces, .id = id_};
      head.attachment_bytes = kAllBytes;
      return peer_sends(testing::header_bytes(head.header()));
    }
    wire::RequestHead head{
        .flags = FrameFlags::kAttachment | FrameFlags::kInPieces, .id = id_, .method = 12, .schema = 22};
    head.timeout = 200'000;  // is over while a piece lands, or not
    head.attachment_bytes = kAllBytes;
    peer_sends(testing::header_bytes(head.header()));
  }
  void send_piece(std::size_t number) {
    if (side_ == Side::kCaller && ended_) return;
    const wire::PieceHead head{.id = id_,
                               .offset = number * kPartBytes,
                               .bytes = kPartBytes,
                               .of_answer = side_ == Side::kCaller,
                               .last = number + 1 == kParts};
    peer_sends(testing::header_bytes(head.header()) + std::string(kPartBytes, 'p'));
  }
  // A failure for our request, before it was answered; or the end of what the peer asked for.
  void end_by_peer() {
    if (ended_) return;
    if (side_ != Side::kCaller) {
      if (!announced_) return;
      ended_ = true;
      return end_when_heard([this] { peer_sends(testing::control_bytes(wire::FrameType::kCancel, id_)); });
    }
    ended_ = true;
    wire::AnswerHead head{.id = id_};
    head.code = StatusCode::kUnavailable;
    head.layer = Layer::kRpc;
    end_when_heard([&] { peer_sends(testing::frame_bytes(head.header(), "no")); });
  }
  void drop() {
    call_.reset();
    dropped_ = true;
  }
  /// Nobody wants more of what is sent: what was begun then is all that may leave.
  template <typename End>
  void give_up(End end) {
    if (!given_up_) given_up_ = piece_heads() + queued_heads();
    end();
  }
  // Behind a piece that lands it is heard later.
  template <typename End>
  void end_when_heard(End end) {
    if (carrier_->landing.active()) return end();
    give_up(end);
  }
  // Pieces that are queued behind the one that the device has: of each all is, with its head.
  std::size_t queued_heads() {
    return (session_->connection().outbox().queued_bytes() - carrier_->sending.bytes) / kPartBytes;
  }
  std::size_t piece_heads() {
    std::size_t heads = 0;
    const std::string& bytes = carrier_->sent;
    for (std::size_t at = 0; at + wire::kHeaderBytes <= bytes.size();) {
      const auto header = wire::load_header(reinterpret_cast<const std::byte*>(bytes.data() + at));
      const std::size_t begins = at + wire::kHeaderBytes + wire::padded(header.body_bytes);
      at = begins + wire::padded(header.following_bytes());
      if (header.type != wire::FrameType::kPiece) continue;
      ++heads;
      const std::string_view inside =
          std::string_view{bytes}.substr(std::min(begins, bytes.size()), header.following_bytes());
      const char expected = wire::PieceView{header}.of_answer() ? 'a' : 's';
      if (!std::ranges::all_of(inside, [&](char each) { return each == expected; })) {
        complain("memory was read that its owner has back");
      }
    }
    return heads;
  }

  void check() {
    if (given_up_ && piece_heads() > *given_up_) complain("a piece of what was given up has begun");
    piece_heads();
    const bool over = dropped_ || (call_ && call_->done());
    if (over && side_ == Side::kCaller) {
      if (carrier_->sending.uses(Bytes{source_})) complain("a device reads what the caller has back");
      if (carrier_->landing.uses(Bytes{landing_})) complain("a device writes to what the caller has back");
      source_.fill(kScribble);
      if (!landed_) landed_ = landing_;
    }
    if (call_ && call_->woken() > 1) complain("the call ended twice");
    if (freed_ > handled_ || told_ > handled_) complain("the answer's memory came back twice");
    check_landing();
  }
  void check_landing() {
    const Bytes all{landing_};
    for (const Bytes guard : {all.first(kGuardBytes), all.last(kGuardBytes)}) {
      if (!std::ranges::all_of(guard, [](std::byte each) { return each == kGuard; })) {
        complain("something was written outside of the landing");
      }
    }
    if (landed_ && landing_ != *landed_)
      complain("something was written after the caller had its memory back");
  }

  static void serve(const MethodEntry&, ServedCall& call) {
    Run& run = *running;
    ++run.handled_;
    if (call.envelope().attachment.size() != kAllBytes ||
        !std::ranges::all_of(call.envelope().attachment.bytes(),
                             [](std::byte each) { return each == std::byte{'p'}; })) {
      run.complain("the handler got something else than was sent");
    }
    run.source_.fill(std::byte{'a'});
    Buffer memory = Buffer::adopt(MutableBytes{run.source_}, &run, [](void* its) noexcept {
      Run& freed = *static_cast<Run*>(its);
      ++freed.freed_;
      if (freed.carrier_is_there_ && freed.carrier_->sending.uses(Bytes{freed.source_})) {
        freed.complain("a device reads what the handler's owner has back");
      }
      freed.source_.fill(kScribble);
    });
    call.envelope().wishes = std::make_unique<AnswerWishes>();
    call.envelope().wishes->on_sent = [&run](bool) { ++run.told_; };
    if (run.side_ == Side::kServer) {
      call.context().set_attachment(std::move(memory));
    } else {
      const Bytes all{run.source_};
      std::array<Bytes, 2> runs{all.last(kAllBytes / 2), all.first(kAllBytes / 2)};
      call.context().set_attachment({runs, std::move(memory)});
      runs.fill(Bytes{run.landing_}.first(kAllBytes / 2));  // nobody looks there any more
    }
    if (call.begin_answer(0) != nullptr) call.end_answer();
  }

  void on_session_ready(Session&) override {}
  void on_session_goaway(Session&) override {}
  void on_session_room(Session&) override {}
  void on_session_closed(Session&, const Status&) override {
    ++closed_;
    if (target_) target_->close();
  }

  inline static Run* running = nullptr;

  Ground& ground_;
  const Side side_;
  const RpcLimits limits_;
  MethodTable methods_;
  CallsHost host_;
  std::size_t free_ = 0;
  DeviceCarrier* carrier_ = nullptr;
  bool carrier_is_there_ = false;
  std::array<std::byte, kAllBytes> source_;
  std::array<std::byte, kAllBytes + 2 * kGuardBytes> landing_;
  /// The landing as it was when the caller had it back.
  std::optional<std::array<std::byte, kAllBytes + 2 * kGuardBytes>> landed_;
  TransferProgress progress_;
  std::unique_ptr<Session> session_;
  std::optional<ModelTarget> target_;
  std::optional<CallDetails> details_;
  std::optional<ModelCall> call_;
  std::uint64_t id_ = 1;
  std::size_t pieces_ = 0;
  /// Pieces that were queued when nobody wanted more.
  std::optional<std::size_t> given_up_;
  bool announced_ = false;
  bool misplaced_ = false;
  bool ended_ = false;
  bool dropped_ = false;
  int closed_ = 0;
  int times_ = 0;
  int handled_ = 0;
  int freed_ = 0;
  int told_ = 0;
  std::string wrong_;
};

/// Walks through all that can become of the transfers within `depth` steps; returns how many states there
/// are.
std::size_t walk(Side side, std::size_t depth) {
  Ground ground;
  std::vector<Act> acts;
  for (int i = 0; i < static_cast<int>(Act::kCount); ++i) acts.push_back(static_cast<Act>(i));
  return testing::walk(acts, depth, kActNames, [&] { return std::make_unique<Run>(ground, side); });
}

TEST(TransfersModel, OfACallEndInEveryOrderOfEventsWithTheirMemoryGivenBackOnce) {
  EXPECT_GT(walk(Side::kCaller, 7 - kFewerSteps), kFewerSteps == 0 ? 1000u : 300u);
}

TEST(TransfersModel, OfAServedCallEndInEveryOrderOfEventsWithTheirMemoryGivenBackOnce) {
  EXPECT_GT(walk(Side::kServer, 13), 400u);
}

TEST(TransfersModel, OfAServedCallThatAnswersInRunsEndInEveryOrderOfEventsWithTheirMemoryGivenBackOnce) {
  EXPECT_GT(walk(Side::kServerWithRuns, 13), 400u);
}

}  // namespace
}  // namespace weft::transfers_model
