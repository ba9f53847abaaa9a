// SPDX-License-Identifier: Apache-2.0
// Attachments of a stream's items, from one session to another over devices that read and write memory when
// the test says so: in every order in which items are written, read, discarded, given up, answered, timed out
// and lost, frames are delivered, pieces sent and landed, and memory refused, up to a depth. An item is read
// whole and once, or never; memory goes back once, when no device has it, and nobody waits for that; charges
// return; nobody sends without credit or past an attachment; the stream ends once on each side; and another
// stream of the connection has all the room then.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calls/gate/method_table.hpp"
#include "calls/session/session.hpp"
#include "calls/stream/arriving_item.hpp"
#include "support/fewer_steps.hpp"
#include "support/model_walk.hpp"
#include "unit/calls/device_carrier.hpp"
#include "unit/calls/items_model_bytes.hpp"
#include "unit/calls/model_calls.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"

namespace weft::items_model {
namespace {

using namespace weft::detail;
using namespace std::chrono_literals;
using calls_testing::Ground;
using calls_testing::kStreamed;
using calls_testing::ModelStream;
using calls_testing::ModelTarget;
using testing::kFewerSteps;

constexpr std::size_t kLong = 2 * kPiece;
constexpr std::size_t kShort = kPiece;  // goes at once
constexpr std::size_t kTiny = 44;       // is copied
constexpr std::size_t kBody = 8;
constexpr std::uint32_t kWindow = 100'000;  // more than a short one, less than a long one
constexpr std::uint64_t kLargestCost = wire::item_cost(kBody, kLong);
constexpr Duration kFrameTimeout = 1s;

enum class Act : std::uint8_t {
  kWritesLong,
  kWritesShort,
  kWritesTiny,
  kWritesPlain,
  kEndsWriting,
  kReads,
  kDiscards,
  kClientCancels,
  kClientDrops,
  kServerAnswers,
  kServerFails,
  kSent,      // the writer's device has read what it was given
  kToReader,  // a frame without its attachment, or half a piece
  kLanded,    // the reader's device has written what it received
  kToWriter,
  kNoMemory,  // the reader's memory is all taken from now on
  kTime,      // long enough for what does not get on
  kLose,
  kCount
};
const char* const kActNames[] = {
    "writes long",   "writes short",   "writes tiny",   "writes plain", "ends",         "reads",
    "discards",      "client cancels", "client drops",  "answers",      "server fails", "sent",
    "to the reader", "landed",         "to the writer", "no memory",    "time",         "lost"};

RpcLimits model_limits() {
  RpcLimits limits;
  limits.stream_window = kWindow;
  limits.streams_max = 1;
  limits.connection_memory_max = kLong;
  limits.frame_timeout = kFrameTimeout;
  limits.ping_interval = Duration::zero();
  return limits;
}

/// One end: its session, and a device.
struct End : private SessionOwner {
  End(Ground& ground, const RpcLimits& limits, const MethodTable* methods, Complaints& complaints,
      DeviceCarrier::Memory memory)
      : way(complaints) {
    host.methods = methods;
    if (methods != nullptr) host.calls = MethodCounts{1};
    host.memory.emplace(std::make_shared<MemoryBudget>(limits.process_memory_max));
    free = host.memory->free();
    auto its_carrier = std::make_unique<DeviceCarrier>(carrier_is_there, kPiece, std::move(memory));
    carrier = its_carrier.get();
    auto connection =
        std::make_unique<Connection>(*ground.loop, connection_options(limits), std::move(its_carrier));
    const SessionSetup setup{*ground.loop, *this, limits, host, ground.logger, 1s};
    session = std::make_unique<Session>(setup, std::move(connection), 7);
    session->start();
  }

  CallsHost host;
  std::size_t free = 0;
  bool carrier_is_there = false;
  DeviceCarrier* carrier = nullptr;
  std::unique_ptr<Session> session;
  bool closed = false;
  UniqueFunction<void()> on_closed;
  /// Carries what it sends.
  Way way;
  /// Ends and failures that were seen of it, which stay.
  bool saw_over = false;
  bool saw_end = false;
  StatusCode saw_failure = StatusCode::kOk;

 private:
  void on_session_ready(Session&) override {}
  void on_session_goaway(Session&) override {}
  void on_session_room(Session&) override {}
  void on_session_closed(Session&, const Status&) override {
    closed = true;
    if (on_closed) on_closed();
  }
};

enum class Writer : std::uint8_t { kServer, kClient };

class Run final {
 public:
  Run(Ground& ground, Blocks& blocks, Writer writes, unsigned items_max)
      : ground_(ground),
        blocks_(blocks),
        items_max_(items_max),
        limits_(model_limits()),
        methods_(table()),
        server_(ground, limits_, &methods_, complaints_, lender(server_)),
        client_(ground, limits_, nullptr, complaints_, lender(client_)),
        writer_(writes == Writer::kServer ? server_ : client_),
        reader_(writes == Writer::kServer ? client_ : server_) {
    running = this;
    run_until_idle();
    std::string hello = std::exchange(client_.carrier->sent, {});
    arrive(client_, std::exchange(server_.carrier->sent, {}));
    arrive(server_, hello);
    target_.emplace(loop(), *client_.session);
    client_.on_closed = [this] { target_->close(); };
    open();
  }
  ~Run() {
    if (client_.session != nullptr) finish();
    running = nullptr;
  }

  void act(Act act) {
    switch (act) {
      case Act::kWritesLong:
        write(kLong);
        break;
      case Act::kWritesShort:
        write(kShort);
        break;
      case Act::kWritesTiny:
        write(kTiny);
        break;
      case Act::kWritesPlain:
        write(0);
        break;
      case Act::kEndsWriting:
        end_writing();
        break;
      case Act::kReads:
        read();
        break;
      case Act::kDiscards:
        discard();
        break;
      case Act::kClientCancels:
        cancel();
        break;
      case Act::kClientDrops:
        drop();
        break;
      case Act::kServerAnswers:
      case Act::kServerFails:
        if (served_ != nullptr) answer(act == Act::kServerAnswers);
        break;
      case Act::kSent:
        device_has_sent(writer_);
        break;
      case Act::kToReader:
        deliver(writer_, reader_);
        break;
      case Act::kLanded:
        device_has_landed();
        break;
      case Act::kToWriter:
        deliver(reader_, writer_);
        break;
      case Act::kNoMemory:
        if (hogged_ == 0 && !reader_.closed) hog();
        break;
      case Act::kTime:
        pass_time();
        break;
      default:
        lose();
    }
    run_until_idle();
    check();
  }

  /// All that the next steps depend on.
  std::string state() {
    std::string text;
    const auto add = [&text](std::uint64_t number) { text += std::to_string(number) + ' '; };
    for (End* const end : {&client_, &server_}) {
      end->way.describe(text);
      add(end->closed ? 1 : 0);
      add(end->host.memory->free());
      add(end->closed ? 0 : end->session->connection().outbox().queued_bytes());
      if (!end->closed) {
        for (const DeviceCarrier::Operation& each : {end->carrier->sending, end->carrier->landing}) {
          add(each.bytes);
        }
        add(end->carrier->arrived.size());
      }
      StreamSide* const side = side_of(*end);
      if (side == nullptr) continue;
      add(static_cast<unsigned>(side->writing()));
      add(static_cast<unsigned>(side->failure().code()));
      add(side->incoming().held());
      add(side->incoming().has_item() ? 1 : 0);
      add(side->incoming().have_ended() ? 1 : 0);
      add(side->sends_attachment() ? 1 : 0);
      const ArrivingItem* const arriving = side->incoming().arriving();
      add(arriving != nullptr ? 1 + arriving->received() : 0);
    }
    for (const std::uint64_t number :
         {std::uint64_t{sizes_.size()}, std::uint64_t{read_}, std::uint64_t{ended_},
          std::uint64_t{discarded_}, std::uint64_t{gave_up_}, std::uint64_t{answered_}, std::uint64_t{timed_},
          std::uint64_t{hogged_ != 0}, std::uint64_t{shows_}, sent_cost_, granted_,
          std::uint64_t{stream_ ? 1u + (stream_->done() ? 1u : 0u) : 0u},
          std::uint64_t{served_ != nullptr}}) {
      add(number);
    }
    for (const auto& each : lent_) add(each->size + static_cast<unsigned>(each->returned));
    return text;
  }

  /// Both go on as long as they can, then end, and the connection stands or is gone: nothing is left.
  void finish() {
    if (hogged_ != 0) reader_.host.memory->release(std::exchange(hogged_, 0));
    const bool stands = !client_.closed && !server_.closed;
    if (stands) {
      go_on();
      if (!gave_up_ && stream_) end_well();
      end_stream();
      expect_nothing_held();
      use_again();
    }
    part();
    for (End* const end : {&client_, &server_}) {
      end->session.reset();
      run_until_idle();
      if (end->host.memory->free() != end->free) complain("something is charged still");
    }
    for (const auto& each : lent_) {
      if (each->returned != 1) complain("memory did not come back once");
      each->check();
    }
    if (loop().chunks().chunks_out() != 0) complain("a chunk is held still");
  }
  const std::string& wrong() const { return complaints_.first; }

 private:
  Loop& loop() { return *ground_.loop; }
  void run_until_idle() { loop().run_until_idle(); }
  void complain(std::string_view text) { complaints_.add(text); }
  StreamSide* side_of(End& end) {
    if (&end == &server_) return served_ != nullptr ? served_->stream().get() : nullptr;
    return stream_ ? &stream_->side() : nullptr;
  }
  Lent& lend(End& end, std::size_t bytes, const DeviceCarrier::Operation& operation) {
    lent_.push_back(std::make_unique<Lent>(complaints_, blocks_, bytes));
    lent_.back()->carrier_is_there = &end.carrier_is_there;
    lent_.back()->operation = &operation;
    return *lent_.back();
  }
  DeviceCarrier::Memory lender(End& end) {
    return [this, &end](std::size_t bytes) { return lend(end, bytes, end.carrier->landing).buffer(); };
  }

  void open() {
    stream_.emplace(*target_);
    stream_->open_now();
    run_until_idle();
    flush();
    while (!client_.way.empty()) deliver(client_, server_);
    if (served_ == nullptr) complain("the stream was not opened");
    sent_cost_ = 0;
    granted_ = kWindow;
  }

  // ---- What the sides do. ----

  void write(std::size_t attachment) {
    StreamSide* const side = side_of(writer_);
    if (side == nullptr || sizes_.size() == items_max_) return;
    if (side->writing() != StreamSide::Writing::kReady) return;
    if (sent_cost_ >= granted_) complain("an item may be written without credit");
    const auto number = static_cast<unsigned>(sizes_.size());
    sizes_.push_back(attachment);
    sent_cost_ += attachment != 0 ? wire::item_cost(kBody, attachment) : wire::item_cost(kBody);
    Attachment given;
    if (attachment != 0) {
      Lent& lent = lend(writer_, attachment, writer_.carrier->sending);
      std::ranges::fill(lent.bytes(), byte_of(number));
      given = attachment == kLong ? in_runs(lent.buffer()) : lent.buffer();
    }
    std::byte* const body = side->begin_item(kBody, attachment != 0 ? &given : nullptr);
    if (body == nullptr) return complain("an item could not be begun");
    weft::detail::store_le<std::uint64_t>(body, number);
    side->end_item();
    if (attachment != 0 && !side->send_attachment(std::move(given)))
      complain("an attachment could not be sent");
  }
  /// The same memory, its second half first.
  static Attachment in_runs(Attachment whole) {
    const Bytes all = whole.owner().bytes();
    const std::array<Bytes, 2> runs{all.last(all.size() / 2), all.first(all.size() / 2)};
    return {runs, std::move(whole.owner())};
  }
  static std::byte byte_of(unsigned number) { return static_cast<std::byte>('a' + number); }
  void end_writing() {
    StreamSide* const side = side_of(writer_);
    if (side == nullptr) return;
    side->end_writing();
    ended_ = true;
  }
  /// Reads as a reader does: what was shown before is taken. The attachment is kept until then.
  bool read() {
    StreamSide* const side = side_of(reader_);
    if (side == nullptr) return false;
    side->take_item();
    shows_ = false;
    kept_ = Buffer{};
    if (!side->incoming().has_item()) return false;
    const Bytes item = side->incoming().show();
    shows_ = true;
    if (item.size() != kBody || weft::detail::load_le<std::uint64_t>(item.data()) != read_ ||
        read_ >= sizes_.size()) {
      complain("an item was lost, or doubled, or came out of order");
      return false;
    }
    const std::size_t size = sizes_[read_];
    Buffer* const attachment = side->incoming().attachment();
    if ((attachment != nullptr ? attachment->size() : 0) != size) {
      complain("an attachment has another size");
    } else if (attachment != nullptr) {
      if (!are_all(attachment->bytes(), byte_of(read_))) complain("an attachment is not what was written");
      kept_ = std::move(*attachment);
    }
    ++read_;
    return true;
  }
  void discard() {
    StreamSide* const side = side_of(reader_);
    if (side == nullptr) return;
    discarded_ = true;
    shows_ = false;
    kept_ = Buffer{};
    side->took(side->incoming().discard());
  }
  void cancel() {
    if (!stream_ || stream_->done()) return;
    gave_up_ = true;
    stream_->on_cancel(CancelReason::kRequested);
    if (!stream_->done()) complain("a cancelled stream is not done");
    if (stream_->side().incoming().has_item()) complain("a cancelled stream shows an item");
  }
  void drop() {
    if (!stream_) return;
    gave_up_ = gave_up_ || !stream_->done();
    stream_.reset();
    client_.saw_over = client_.saw_end = false;
    client_.saw_failure = StatusCode::kOk;
  }
  void answer(bool well) {
    ServedCall* const call = std::exchange(served_, nullptr);
    if (!call->answered()) answered_ = true;
    if (well) {
      if (call->begin_answer(0) != nullptr) call->end_answer();
    } else {
      call->fail({StatusCode::kAborted, Layer::kUser, "no more"});
    }
    call->let_go();
    server_.saw_over = server_.saw_end = false;
    server_.saw_failure = StatusCode::kOk;
  }
  void hog() {
    hogged_ = reader_.host.memory->free();
    if (!reader_.host.memory->try_reserve(hogged_)) complain("free memory could not be reserved");
  }
  // A piece that stands still takes the connection with it, an attachment between its pieces only its stream.
  void pass_time() {
    if (timed_ || reader_.closed) return;
    timed_ = true;
    testing::pass(loop(), ground_.clock, 2 * kFrameTimeout + 1ms);
    StreamSide* const side = side_of(reader_);
    if (side != nullptr && side->incoming().arriving() != nullptr) {
      complain("an attachment that stands still is awaited");
    }
    if (writer_.closed) complain("the writer ended the connection for its own time");
    if (reader_.closed) lose();
  }
  void lose() {
    flush();
    for (End* const end : {&client_, &server_}) {
      if (!end->closed)
        end->carrier->its_owner().on_failed({StatusCode::kUnavailable, Layer::kTransport, "lost"});
      end->way.clear();
    }
    run_until_idle();
  }

  // ---- Devices, and the way between. ----

  void device_has_sent(End& end) {
    if (end.closed || !end.carrier->sending.active()) return;
    end.carrier->finish_sending();
    end.carrier->its_owner().on_writable();
    run_until_idle();
    flush();
  }
  void device_has_landed() {
    if (reader_.closed || !reader_.carrier->landing.active()) return;
    reader_.carrier->finish_landing();
    reader_.carrier->its_owner().on_readable();
    run_until_idle();
  }
  void flush() {
    run_until_idle();
    for (End* const end : {&client_, &server_}) {
      if (!end->closed) end->way.append(std::exchange(end->carrier->sent, {}));
    }
  }
  void arrive(End& end, std::string_view bytes) {
    end.carrier->arrived += bytes;
    end.carrier->its_owner().on_readable();
    run_until_idle();
  }
  void deliver(End& from, End& to) {
    flush();
    if (to.closed || from.way.empty()) return;
    wire::FrameHeader header;
    const std::string unit = from.way.take(&header);
    if (header.type == wire::FrameType::kCredit) granted_ = header.typed64;
    arrive(to, unit);
    flush();
    if (client_.closed || server_.closed) complain("a side ended the connection");
  }
  bool deliver_all() {
    bool moved = false;
    flush();
    for (;;) {
      const bool device = (writer_.carrier->sending.active() || reader_.carrier->landing.active());
      if (!device && writer_.way.empty() && reader_.way.empty()) return moved;
      moved = true;
      device_has_sent(writer_);
      device_has_landed();
      deliver(writer_, reader_);
      deliver(reader_, writer_);
      if (!complaints_.first.empty()) return false;
    }
  }

  // ---- The end. ----

  /// Reads all that there is until nothing comes.
  void go_on() {
    for (bool moves = true; moves;) {
      moves = deliver_all();
      moves = read() || moves;
      flush();
      moves = moves || !reader_.way.empty();
    }
  }
  bool has_reader_failed() {
    StreamSide* const side = side_of(reader_);
    return side != nullptr && !side->failure().ok();
  }
  void end_well() {
    if (!answered_) {
      if (stream_->done()) return complain("a stream was done before its answer");
      const bool reads = !has_reader_failed();
      if (reads) {
        const auto wanted = ended_ ? StreamSide::Writing::kOver : StreamSide::Writing::kReady;
        if (side_of(writer_)->writing() != wanted) complain("all is read, and nobody may write");
        if (read_ != sizes_.size() && !discarded_) complain("the reader did not get all");
      } else if (reader_failure() != StatusCode::kResourceExhausted && !timed_) {
        complain("the reader failed, and there was no reason");
      }
      end_writing();
      go_on();
      if (reads && !side_of(reader_)->incoming().have_ended()) complain("the reader saw no end");
      if (stream_->done()) complain("a stream ended without its answer");
      answer(true);
    }
    go_on();
    if (!stream_->done()) return complain("an answered stream is not done");
    if (stream_->woken() != 1) complain("the stream did not end once");
    const bool client_reads = &reader_ == &client_;
    if (stream_->status().ok() && client_reads && !discarded_ && read_ != sizes_.size()) {
      complain("a stream ended well without some of its items");
    }
  }
  StatusCode reader_failure() { return side_of(reader_)->failure().code(); }
  /// Nobody wants it any more, and all that was under way arrives.
  void end_stream() {
    kept_ = Buffer{};
    stream_.reset();
    go_on();
    if (StreamSide* const side = side_of(server_)) {
      if (!served_->answered() && side->writing() != StreamSide::Writing::kOver) {
        complain("the server writes on a stream that the client has dropped");
      }
      answer(false);
    }
    go_on();
    kept_ = Buffer{};
  }
  void expect_nothing_held() {
    for (const auto& each : lent_) {
      if (each->returned != 1) complain("memory did not come back when its stream was over");
    }
    for (End* const end : {&client_, &server_}) {
      if (end->host.memory->free() != end->free) complain("something of a stream that is over is charged");
      if (!end->session->streams().may_hold(std::uint64_t{1} << 20)) {
        complain("something of a stream that is over counts as held");
      }
    }
  }
  /// Another stream has the place of the one before, and may announce as much as a connection may.
  void use_again() {
    if (!wrong().empty()) return;
    sizes_.clear();
    read_ = 0;
    ended_ = discarded_ = answered_ = gave_up_ = false;
    open();
    if (!wrong().empty()) return;
    write(kLong);
    go_on();
    if (read_ != 1) complain("there is no room for another attachment");
    end_stream();
  }
  /// The connection ends, and whoever is left hears of it.
  void part() {
    target_->close();
    lose();
    if (stream_) {
      if (!stream_->done() || stream_->woken() != 1) complain("the stream did not end once");
      stream_.reset();
    }
    if (served_ != nullptr) {
      StreamSide& side = *side_of(server_);
      if (side.writing() != StreamSide::Writing::kOver || !side.incoming().have_ended()) {
        complain("a served stream goes on without a connection");
      }
      std::exchange(served_, nullptr)->let_go();
    }
    kept_ = Buffer{};
  }

  void check() {
    flush();
    if (stream_ && stream_->woken() > 1) complain("the stream ended twice");
    for (End* const end : {&client_, &server_}) {
      if (end->carrier_is_there && end->carrier->waited != 0) complain("somebody waited for a device");
      if (StreamSide* const side = side_of(*end)) check_side(*end, *side);
    }
  }
  void check_side(End& end, StreamSide& side) {
    const ArrivingItem* const arriving = side.incoming().arriving();
    const std::uint64_t held = side.incoming().held() + (arriving != nullptr ? arriving->cost() : 0);
    if (held >= kWindow + kLargestCost) complain("more is held than a window and one item");
    if (arriving != nullptr && side.incoming().have_ended()) complain("an attachment is awaited by nobody");
    const bool over = side.writing() == StreamSide::Writing::kOver;
    if (std::exchange(end.saw_over, over) && !over) complain("a side writes again after its end");
    const bool ended = side.incoming().have_ended();
    if (std::exchange(end.saw_end, ended) && !ended) complain("a side reads again after its end");
    const StatusCode failure = side.failure().code();
    const StatusCode before = std::exchange(end.saw_failure, failure);
    if (before != StatusCode::kOk && before != failure) complain("a side failed twice");
  }

  static void serve(const MethodEntry&, ServedCall& call) {
    call.hold();
    running->served_ = &call;
  }
  static MethodTable table() {
    MethodEntry entry{kStreamed, {}};
    entry.kind = HandlerKind::kRecord;
    entry.serve_record = &serve;
    return MethodTable::build({entry}).value();
  }

  inline static Run* running = nullptr;

  Ground& ground_;
  Blocks& blocks_;
  const unsigned items_max_;
  const RpcLimits limits_;
  Complaints complaints_;
  /// Longer than whoever has it.
  std::vector<std::unique_ptr<Lent>> lent_;
  MethodTable methods_;
  End server_;
  End client_;
  End& writer_;
  End& reader_;
  std::optional<ModelTarget> target_;
  std::optional<ModelStream> stream_;
  ServedCall* served_ = nullptr;
  /// Attachments of the items that were written: their sizes.
  std::vector<std::size_t> sizes_;
  unsigned read_ = 0;
  Buffer kept_;
  bool shows_ = false;
  bool ended_ = false;
  bool discarded_ = false;
  bool gave_up_ = false;
  bool answered_ = false;
  bool timed_ = false;
  std::size_t hogged_ = 0;
  std::uint64_t sent_cost_ = 0;
  std::uint64_t granted_ = 0;
};

/// Walks through all that can become of so many items, within `depth` of `acts`.
std::size_t walk(Writer writer, unsigned items_max, const std::vector<Act>& acts, std::size_t depth) {
  Ground ground;
  Blocks blocks;
  return testing::walk(acts, depth, kActNames,
                       [&] { return std::make_unique<Run>(ground, blocks, writer, items_max); });
}

std::vector<Act> all_acts() {
  std::vector<Act> acts;
  for (int i = 0; i < static_cast<int>(Act::kCount); ++i) acts.push_back(static_cast<Act>(i));
  return acts;
}

/// Depth that no walk reaches, except under a sanitizer, as in fewer_steps.hpp.
constexpr std::size_t kToTheEnd = kFewerSteps == 0 ? SIZE_MAX : 7;
constexpr std::size_t kStatesMin = kFewerSteps == 0 ? 2500 : 300;

/// A long attachment, its pieces, and all that ends them.
const std::vector<Act> kOneLong{Act::kWritesLong,    Act::kEndsWriting,   Act::kReads,
                                Act::kDiscards,      Act::kClientCancels, Act::kClientDrops,
                                Act::kServerAnswers, Act::kServerFails,   Act::kSent,
                                Act::kToReader,      Act::kLanded,        Act::kToWriter};
/// The same with what comes from outside.
const std::vector<Act> kOneThatFails{Act::kWritesLong, Act::kReads,    Act::kClientDrops, Act::kServerAnswers,
                                     Act::kSent,       Act::kToReader, Act::kLanded,      Act::kToWriter,
                                     Act::kNoMemory,   Act::kTime,     Act::kLose};
const std::vector<Act> kTwo{Act::kWritesLong,  Act::kWritesShort,   Act::kReads,
                            Act::kClientDrops, Act::kServerAnswers, Act::kSent,
                            Act::kToReader,    Act::kLanded,        Act::kToWriter};

TEST(ItemsModel, OfAServersItemsEndInEveryOrderOfEventsWithAllMemoryGivenBackOnce) {
  EXPECT_GT(walk(Writer::kServer, 3, all_acts(), 5 - kFewerSteps), 1000u);
}
TEST(ItemsModel, OfAClientsItemsEndInEveryOrderOfEventsWithAllMemoryGivenBackOnce) {
  EXPECT_GT(walk(Writer::kClient, 3, all_acts(), 5 - kFewerSteps), 1000u);
}
TEST(ItemsModel, OfOneOfAServersEndSoInEveryOrder) {
  EXPECT_GT(walk(Writer::kServer, 1, kOneLong, kToTheEnd), kStatesMin);
}
TEST(ItemsModel, OfOneOfAClientsEndSoInEveryOrder) {
  EXPECT_GT(walk(Writer::kClient, 1, kOneLong, kToTheEnd), kStatesMin);
}
TEST(ItemsModel, OfOneOfAServersThatMayFailEndSoInEveryOrder) {
  EXPECT_GT(walk(Writer::kServer, 1, kOneThatFails, kToTheEnd), kStatesMin);
}
TEST(ItemsModel, OfOneOfAClientsThatMayFailEndSoInEveryOrder) {
  EXPECT_GT(walk(Writer::kClient, 1, kOneThatFails, kToTheEnd), kStatesMin);
}
TEST(ItemsModel, OfTwoOfAServersEndSoInEveryOrder) {
  EXPECT_GT(walk(Writer::kServer, 2, kTwo, kToTheEnd), kStatesMin);
}
TEST(ItemsModel, OfTwoOfAClientsEndSoInEveryOrder) {
  EXPECT_GT(walk(Writer::kClient, 2, kTwo, kToTheEnd), kStatesMin);
}

}  // namespace
}  // namespace weft::items_model
