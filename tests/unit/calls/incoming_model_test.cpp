// SPDX-License-Identifier: Apache-2.0
// The attachment of a request whose handler runs already and chooses where it goes, in every order in which
// the handler, its caller, a device and the connection can get on, up to a depth: asked for, following its
// request, or there before. Whoever waits hears of one end; nothing writes to the handler's memory before it
// was given or after its end, nor outside of it; memory of the server's comes back once, and never while a
// device has it; what succeeded is what was sent; charges return. What a progress has counted is there, and
// it is nobody's from the end on. Capabilities: CR-8.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calls/gate/method_table.hpp"
#include "calls/landing/incoming_transfer.hpp"
#include "calls/session/session.hpp"
#include "support/fewer_steps.hpp"
#include "support/manual_time.hpp"
#include "support/model_walk.hpp"
#include "support/pattern.hpp"
#include "support/wire_bytes.hpp"
#include "unit/calls/device_carrier.hpp"
#include "unit/calls/model_calls.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/calls/terms/transfer_progress.hpp"

namespace weft::incoming_model {
namespace {

using namespace weft::detail;
using namespace std::chrono_literals;
using calls_testing::DeviceCarrier;
using calls_testing::Ground;
using calls_testing::table_of;
using testing::kFewerSteps;
using wire::FrameFlags;

constexpr std::uint64_t kId = 1;
constexpr std::size_t kPartBytes = std::size_t{64} * 1024;
/// Bytes that are copied in one turn of the loop.
constexpr std::size_t kManyBytes = std::size_t{1} << 20;
constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kUntouched{0xEE};
constexpr std::byte kSent{'p'};

enum class Act : std::uint8_t {
  kDeviceLanded,   // the device has written what it received
  kPeerAnnounces,  // a request with an attachment
  kPeerSends,      // the next part of that, when it may come
  kPeerMisplaces,  // a piece that does not come next
  kPeerCancels,
  kChoose,       // the handler receives it into memory of its own
  kReceive,      // or into the server's
  kCancel,       // its scope is cancelled
  kStopWaiting,  // its awaitable is destroyed
  kEnd,          // it answers, and its record goes
  kLose,
  kTime,   // long enough for the deadline, for who stands still, and to take memory back by force
  kTurns,  // all that the loop has to do is done
  kCount
};
const char* const kActNames[] = {"landed", "announces", "sends",  "misplaced", "peer cancels",
                                 "choose", "receive",   "cancel", "stop",      "handler ends",
                                 "lost",   "time",      "turns"};

/// The attachment waits to be asked for, it follows its request and its handler chooses later or at once, or
/// it is there before the handler runs. What may be copied is longer than one turn copies.
enum class Side : std::uint8_t { kAsked, kFollows, kFollowsAtOnce, kThere };

class Course final : private SessionOwner {
 public:
  Course(Ground& ground, Side side, bool counts)
      : ground_(ground),
        side_(side),
        counts_(counts),
        parts_{side == Side::kFollows || side == Side::kThere ? kManyBytes : kPartBytes, kPartBytes},
        landing_(all_bytes() + 2 * kGuardBytes, kUntouched),
        kept_(landing_),
        waiter_(*this),
        methods_(table_of(&serve, true)) {
    running = this;
    limits_.frame_timeout = 400ms;
    host_.methods = &methods_;
    host_.calls = MethodCounts{1};
    host_.memory.emplace(std::make_shared<MemoryBudget>(limits_.process_memory_max));
    free_ = host_.memory->free();
    auto carrier = std::make_unique<DeviceCarrier>(carrier_is_there_, kPartBytes,
                                                   [this](std::size_t bytes) { return own_memory(bytes); });
    carrier_ = carrier.get();
    auto connection = std::make_unique<Connection>(loop(), connection_options(limits_), std::move(carrier));
    const SessionSetup setup{loop(), *this, limits_, host_, ground_.logger, 1s};
    session_ = std::make_unique<Session>(setup, std::move(connection), 7);
    session_->start();
    arrive(testing::hello_bytes());
    loop().run_until_idle();
    carrier_->sent.clear();
  }
  ~Course() {
    if (session_ != nullptr) finish();
  }

  void act(Act act) {
    switch (act) {
      case Act::kDeviceLanded:
        if (!carrier_is_there_ || !carrier_->landing.active()) return;
        carrier_->finish_landing();
        carrier_->its_owner().on_readable();
        break;
      case Act::kPeerAnnounces:
        if (announced_ || closed_ != 0) return;
        announce();
        break;
      case Act::kPeerSends:
        if (!may_send()) return;
        send_part();
        break;
      case Act::kPeerMisplaces:
        if (follows() || !announced_ || misplaced_ || closed_ != 0) return;
        misplaced_ = true;
        send_piece({.id = kId, .offset = sent_parts_ == 0 ? parts_[0] : 0, .bytes = 8});
        break;
      case Act::kPeerCancels:
        if (!announced_ || given_up_ || closed_ != 0) return;
        if (follows() && sent_parts_ < parts_.size()) return;  // nothing comes between
        given_up_ = true;
        arrive(testing::control_bytes(wire::FrameType::kCancel, kId));
        break;
      case Act::kChoose:
      case Act::kReceive:
        if (served_ == nullptr || begun_) return;
        begin(act == Act::kChoose);
        break;
      case Act::kCancel:
        if (!scope_ || scope_->cancelled()) return;
        scope_->cancel(CancelReason::kRequested);
        break;
      case Act::kStopWaiting:
        if (!waits_) return;
        stop_waiting();
        break;
      case Act::kEnd:
        if (served_ == nullptr) return;
        end_handler();
        break;
      case Act::kLose:
        if (closed_ != 0) return;
        carrier_->its_owner().on_failed({StatusCode::kUnavailable, Layer::kTransport, "lost"});
        break;
      case Act::kTime:
        if (times_ == 2) return;
        ++times_;
        testing::pass(loop(), ground_.clock, 300ms);
        break;
      default:
        loop().run_until_idle();
    }
    // What comes next finds a copy under way, which goes on in a turn.
    const bool may_copy = act == Act::kDeviceLanded || act == Act::kChoose;
    if (!may_copy) loop().run_once(Duration::zero());
    check();
  }

  /// All that the next steps depend on.
  std::string state() {
    std::string text;
    const auto add = [&text](std::uint64_t number) { text += std::to_string(number) + ' '; };
    if (carrier_is_there_) {
      add(carrier_->landing.bytes);
      add(carrier_->landing.done ? 1 : 0);
      add(carrier_->sent.size());
      add(carrier_->arrived.size());
      add(session_->connection().outbox().queued_bytes());
    }
    for (const std::uint64_t number :
         {std::uint64_t{announced_}, std::uint64_t{sent_parts_}, std::uint64_t{misplaced_},
          std::uint64_t{given_up_}, std::uint64_t{served_ != nullptr}, std::uint64_t{begun_},
          std::uint64_t{chosen_}, std::uint64_t{waits_}, std::uint64_t{woken_}, std::uint64_t{ended_},
          std::uint64_t{scope_ && scope_->cancelled()}, std::uint64_t{static_cast<unsigned>(closed_)},
          std::uint64_t{static_cast<unsigned>(times_)}, std::uint64_t{static_cast<unsigned>(owned_)},
          std::uint64_t{served_ != nullptr ? transfer().received() : 0},
          std::uint64_t{progress_ ? progress_->received() : 0}, std::uint64_t{landing_[kGuardBytes] == kSent},
          std::uint64_t{*(landing_.end() - kGuardBytes - 1) == kSent}, std::uint64_t{host_.memory->free()}}) {
      add(number);
    }
    return text;
  }

  /// The session goes, then the handler, and all that they had is over.
  void finish() {
    session_.reset();
    loop().run_until_idle();
    if (waits_) complain("whoever waits was not told of the end");
    if (served_ != nullptr) end_handler();
    loop().run_until_idle();
    if (owned_ != 0) complain("memory of the server's did not come back");
    if (host_.memory->free() != free_) complain("something is charged still");
    check();
  }
  const std::string& wrong() const { return wrong_; }

 private:
  struct Waiter final : Ready {
    explicit Waiter(Course& its)
        : Ready([](Ready* self) noexcept { static_cast<Waiter*>(self)->course.on_woken(); }), course(its) {}
    Course& course;
  };
  /// Memory of the server's.
  struct Own {
    std::vector<std::byte> memory;
    Course& course;
  };

  Loop& loop() { return *ground_.loop; }
  IncomingTransfer& transfer() { return *served_->envelope().incoming; }
  std::size_t all_bytes() const { return parts_[0] + parts_[1]; }
  MutableBytes place() { return MutableBytes{landing_}.subspan(kGuardBytes, all_bytes()); }
  bool follows() const { return side_ == Side::kFollows || side_ == Side::kFollowsAtOnce; }
  void complain(std::string_view text) {
    if (wrong_.empty()) wrong_ = text;
  }

  Buffer own_memory(std::size_t bytes) {
    ++owned_;
    auto* const own = new Own{std::vector<std::byte>(bytes, kUntouched), *this};
    return Buffer::adopt(own->memory, own, [](void* its) noexcept {
      const std::unique_ptr<Own> ended{static_cast<Own*>(its)};
      Course& course = ended->course;
      --course.owned_;
      if (course.carrier_is_there_ && course.carrier_->landing.uses(Bytes{ended->memory})) {
        course.complain("a device writes to memory of the server's that was given back");
      }
    });
  }

  void arrive(std::string_view bytes) {
    if (closed_ != 0) return;
    carrier_->arrived += bytes;
    carrier_->its_owner().on_readable();
  }
  // Bytes that come behind their head land where they belong by the device; together they are copied there.
  void arrive(const wire::FrameHeader& header, std::size_t bytes) {
    arrive(testing::header_bytes(header));
    loop().run_until_idle();
    arrive(std::string(bytes, static_cast<char>(kSent)));
  }
  void send_piece(const wire::PieceHead& head) { arrive(head.header(), head.bytes); }
  void announce() {
    announced_ = true;
    unsigned flags = FrameFlags::kAttachment;
    if (!follows()) flags |= FrameFlags::kInPieces;
    if (side_ == Side::kAsked) flags |= FrameFlags::kExpectsContinue;
    wire::RequestHead head{.flags = static_cast<std::uint8_t>(flags), .id = kId, .method = 12, .schema = 22};
    head.timeout = 200'000;  // microseconds
    head.attachment_bytes = all_bytes();
    if (!follows()) return arrive(testing::header_bytes(head.header()));
    sent_parts_ = 1;
    arrive(head.header(), parts_[0]);
  }
  bool may_send() {
    if (!announced_ || sent_parts_ == parts_.size() || closed_ != 0) return false;
    return side_ != Side::kAsked || was_asked();
  }
  bool was_asked() {
    const std::string& bytes = carrier_->sent;
    for (std::size_t at = 0; at + wire::kHeaderBytes <= bytes.size();) {
      const auto header = wire::load_header(reinterpret_cast<const std::byte*>(bytes.data() + at));
      if (header.type == wire::FrameType::kContinue) return true;
      at += wire::kHeaderBytes + wire::padded(header.body_bytes) + wire::padded(header.following_bytes());
    }
    return false;
  }
  void send_part() {
    const std::size_t part = sent_parts_++;
    if (follows()) return arrive(std::string(parts_[part], static_cast<char>(kSent)));
    send_piece({.id = kId,
                .offset = part == 0 ? 0 : parts_[0],
                .bytes = parts_[part],
                .last = sent_parts_ == parts_.size()});
  }

  static void serve(const MethodEntry&, ServedCall& call) {
    Course& course = *running;
    call.hold();
    course.served_ = &call;
    course.scope_.emplace(&call.scope());
    if (course.side_ == Side::kFollowsAtOnce) course.begin(true);
  }
  void begin(bool chosen) {
    begun_ = true;
    chosen_ = chosen;
    lent_ = chosen;
    if (counts_) {
      progress_.emplace().on_change([this](const TransferProgress&) {
        if (!waits_) complain("somebody was told how far it is who does not wait");
      });
    }
    TransferProgress* const progress = counts_ ? &*progress_ : nullptr;
    waits_ = transfer().begin(chosen ? LandingView{place()} : LandingView{}, &*scope_, waiter_, progress);
    if (!waits_) take_outcome();
  }
  void on_woken() {
    if (!waits_ || woken_) complain("somebody was told of an end who does not wait");
    woken_ = true;
    waits_ = false;
    take_outcome();
  }
  void take_outcome() {
    ended_ = true;
    if (chosen_) {
      const Status failure = transfer().take_outcome();
      end_count(failure.ok());
      if (failure.ok() && !testing::all_are(place(), kSent))
        complain("the handler got something else than was sent");
      return give_back();
    }
    const Result<Buffer> data = transfer().take_buffer();
    end_count(data.ok());
    if (data.ok() && (data->size() != all_bytes() || !testing::all_are(data->bytes(), kSent))) {
      complain("the handler got something else than was sent");
    }
  }
  void stop_waiting() {
    transfer().stop_waiting();
    waits_ = false;
    ended_ = true;
    waiter_.unlink();
    end_count(false);
    give_back();
  }
  void end_count(bool whole) {
    if (!progress_) return;
    if (progress_->is_taken()) complain("a progress is lent after the end");
    if (whole && progress_->received() != all_bytes()) complain("the whole was not counted");
    progress_.reset();  // the sanitizer sees it when something is counted still
  }
  void check_count() {
    if (!progress_ || !chosen_) return;
    const std::uint64_t counted = progress_->received();
    if (counted > all_bytes() || !testing::all_are(place().first(counted), kSent))
      complain("something was counted that is not there");
  }
  void end_handler() {
    if (waits_) stop_waiting();
    scope_.reset();
    if (served_->begin_answer(0) != nullptr) served_->end_answer();
    std::exchange(served_, nullptr)->let_go();
  }
  /// The handler's memory is its own again, as it is now.
  void give_back() {
    if (!std::exchange(lent_, false)) return;
    check_device();
    kept_ = landing_;
  }

  void check_device() {
    if (carrier_is_there_ && carrier_->landing.uses(Bytes{landing_})) {
      complain("a device writes to what the handler has back");
    }
  }
  void check() {
    const Bytes all{landing_};
    if (!testing::all_are(all.first(kGuardBytes), kUntouched) ||
        !testing::all_are(all.last(kGuardBytes), kUntouched)) {
      complain("something was written outside of the handler's memory");
    }
    check_count();
    if (lent_) return;
    check_device();
    if (!testing::same_bytes(landing_, kept_))
      complain("something was written that the handler did not lend");
  }

  void on_session_ready(Session&) override {}
  void on_session_goaway(Session&) override {}
  void on_session_room(Session&) override {}
  void on_session_closed(Session&, const Status&) override { ++closed_; }

  inline static Course* running = nullptr;

  Ground& ground_;
  const Side side_;
  const bool counts_;
  const std::array<std::size_t, 2> parts_;
  RpcLimits limits_;
  /// Memory that the handler may choose, between guards.
  std::vector<std::byte> landing_;
  /// Bytes that it must have while it is not lent.
  std::vector<std::byte> kept_;
  Waiter waiter_;
  /// The handler's while it waits.
  std::optional<TransferProgress> progress_;
  MethodTable methods_;
  CallsHost host_;
  std::size_t free_ = 0;
  DeviceCarrier* carrier_ = nullptr;
  bool carrier_is_there_ = false;
  std::unique_ptr<Session> session_;
  ServedCall* served_ = nullptr;
  /// Scope of the handler, below its call's.
  std::optional<CancelScope> scope_;
  std::size_t sent_parts_ = 0;
  bool announced_ = false;
  bool misplaced_ = false;
  bool given_up_ = false;
  bool begun_ = false;
  bool chosen_ = false;
  bool lent_ = false;
  bool waits_ = false;
  bool woken_ = false;
  bool ended_ = false;
  int owned_ = 0;
  int closed_ = 0;
  int times_ = 0;
  std::string wrong_;
};

/// The least number of states that a walk meets: of `whole`, a part with fewer steps.
constexpr std::size_t at_least(std::size_t whole) {
  return kFewerSteps == 0 ? whole : whole / 8;
}

/// Walks through all that can become of the attachment within `depth` steps, which a progress `counts` or
/// not; returns how many states there are.
std::size_t walk(Side side, std::size_t depth, bool counts = false) {
  Ground ground;
  std::vector<Act> acts;
  for (int i = 0; i < static_cast<int>(Act::kCount); ++i) acts.push_back(static_cast<Act>(i));
  return testing::walk(acts, depth - 2 * kFewerSteps, kActNames,
                       [&] { return std::make_unique<Course>(ground, side, counts); });
}

TEST(IncomingModel, OfWhatIsAskedForEndsOnceInEveryOrderOfEvents) {
  EXPECT_GT(walk(Side::kAsked, 8), at_least(200));
}

TEST(IncomingModel, OfWhatFollowsItsRequestEndsOnceInEveryOrderOfEvents) {
  EXPECT_GT(walk(Side::kFollows, 8), at_least(100));
}

TEST(IncomingModel, OfWhatFollowsToAHandlerThatChoseAtOnceEndsOnceInEveryOrderOfEvents) {
  EXPECT_GT(walk(Side::kFollowsAtOnce, 8), at_least(50));
}

TEST(IncomingModel, OfWhatWasThereBeforeItsHandlerEndsOnceInEveryOrderOfEvents) {
  EXPECT_GT(walk(Side::kThere, 9), at_least(60));
}

TEST(IncomingModel, IsCountedAsItComesInEveryOrderOfEvents) {
  EXPECT_GT(walk(Side::kAsked, 7, true), at_least(50));
  EXPECT_GT(walk(Side::kFollows, 7, true), at_least(30));
  EXPECT_GT(walk(Side::kFollowsAtOnce, 7, true), at_least(20));
  EXPECT_GT(walk(Side::kThere, 8, true), at_least(30));
}

}  // namespace
}  // namespace weft::incoming_model
