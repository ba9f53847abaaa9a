// SPDX-License-Identifier: Apache-2.0
// Both sides of one stream, over two sessions whose frames the test delivers one by one: in every order in
// which they write, read, end, give up, answer and lose the connection, up to a depth. No item is lost or
// doubled, nobody holds more than a window and one item, who may write again can, the stream ends once, and
// all memory is given back. Once more with a server's side that goes through the exchange of a handler which
// blocks; its thread is the test's, and does only what would not wait.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calls/gate/method_table.hpp"
#include "calls/session/session.hpp"
#include "support/fewer_steps.hpp"
#include "support/model_walk.hpp"
#include "support/wire_bytes.hpp"
#include "unit/calls/fake_carrier.hpp"
#include "unit/calls/model_calls.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/serve/served_exchange.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/calls/threads/exchange_reader.hpp"
#include "weft/detail/calls/threads/exchange_writer.hpp"

namespace weft::streams_model {
namespace {

using namespace weft::detail;
using namespace std::chrono_literals;
using calls_testing::Ground;
using calls_testing::kStreamed;
using calls_testing::ModelStream;
using calls_testing::ModelTarget;
using testing::kFewerSteps;

constexpr std::uint32_t kWindow = 100;
constexpr std::size_t kSmall = 8;    // costs 48, so that three are let through
constexpr std::size_t kLarge = 200;  // more than the window

enum class Act : std::uint8_t {
  kClientWrites,
  kClientWritesLarge,
  kClientEnds,
  kClientReads,
  kClientDiscards,
  kClientCancels,
  kClientDrops,
  kServerWrites,
  kServerWritesLarge,
  kServerEnds,
  kServerReads,
  kServerAnswers,
  kServerFails,
  kToServer,
  kToClient,
  kLose,
  kCount
};
const char* const kActNames[] = {
    "client writes",       "client writes large", "client ends",  "client reads",
    "client discards",     "client cancels",      "client drops", "server writes",
    "server writes large", "server ends",         "server reads", "server answers",
    "server fails",        "to server",           "to client",    "lost"};

RpcLimits model_limits() {
  RpcLimits limits;
  limits.stream_window = kWindow;
  limits.streams_max = 1;
  return limits;
}

/// One end: its session, and what the test knows of what it sent and got.
struct End : private SessionOwner {
  End(Ground& ground, const RpcLimits& limits, const MethodTable* methods) {
    host.methods = methods;
    if (methods != nullptr) host.calls = MethodCounts{1};
    host.memory.emplace(std::make_shared<MemoryBudget>(limits.process_memory_max));
    free = host.memory->free();
    auto its_carrier = std::make_unique<calls_testing::FakeCarrier>();
    carrier = its_carrier.get();
    auto connection =
        std::make_unique<Connection>(*ground.loop, connection_options(limits), std::move(its_carrier));
    const SessionSetup setup{*ground.loop, *this, limits, host, ground.logger, 1s};
    session = std::make_unique<Session>(setup, std::move(connection), 7);
    session->start();
  }

  CallsHost host;
  std::size_t free = 0;
  calls_testing::FakeCarrier* carrier = nullptr;
  std::unique_ptr<Session> session;
  bool closed = false;
  UniqueFunction<void()> on_closed;

  /// Frames that it sent and that are not delivered.
  std::deque<std::string> on_the_way;
  unsigned written = 0;
  bool ended = false;
  unsigned got = 0;
  bool discarded = false;
  bool saw_end = false;
  std::uint64_t granted = 0;
  /// Cost of what was delivered to it and not read.
  std::deque<std::uint64_t> held;

 private:
  void on_session_ready(Session&) override {}
  void on_session_goaway(Session&) override {}
  void on_session_room(Session&) override {}
  void on_session_closed(Session&, const Status&) override {
    closed = true;
    if (on_closed) on_closed();
  }
};

/// The served side as a worker's thread has it.
struct Blocking {
  explicit Blocking(ServedCall& call) : exchange(call.loop(), *call.stream()) {}

  ServedExchange exchange;
  ExchangeReader reader{exchange};
  ExchangeWriter writer{exchange};
};

class Run final {
 public:
  explicit Run(Ground& ground, bool blocks = false)
      : ground_(ground),
        blocks_(blocks),
        limits_(model_limits()),
        methods_(table()),
        server_(ground, limits_, &methods_),
        client_(ground, limits_, nullptr) {
    running = this;
    run_until_idle();
    const std::string hello = client_.carrier->take_sent();
    client_.carrier->arrive(server_.carrier->take_sent());
    server_.carrier->arrive(hello);
    run_until_idle();
    target_.emplace(loop(), *client_.session);
    client_.on_closed = [this] { target_->close(); };
    begin();
  }
  ~Run() {
    if (client_.session != nullptr) finish();
    running = nullptr;
  }

  void act(Act act) {
    switch (act) {
      case Act::kClientWrites:
        if (stream_) write(client_, stream_->side(), kSmall);
        break;
      case Act::kClientWritesLarge:
        if (stream_) write(client_, stream_->side(), kLarge);
        break;
      case Act::kClientEnds:
        if (stream_) end_writing(client_, stream_->side());
        break;
      case Act::kClientReads:
        if (stream_) read(client_, stream_->side());
        break;
      case Act::kClientDiscards:
        if (!stream_) break;
        client_.discarded = true;
        client_.held.clear();
        stream_->side().took(stream_->side().incoming().discard());
        break;
      case Act::kClientCancels:
        if (!stream_ || stream_->done()) break;
        gave_up_ = true;
        client_.held.clear();
        stream_->on_cancel(CancelReason::kRequested);
        if (!stream_->done()) complain("a cancelled stream is not done");
        if (stream_->side().incoming().has_item()) complain("a cancelled stream shows an item");
        break;
      case Act::kClientDrops:
        if (!stream_) break;
        gave_up_ = gave_up_ || !stream_->done();
        stream_.reset();
        client_.held.clear();
        break;
      case Act::kServerWrites:
        if (served_ != nullptr) serve_write(kSmall);
        break;
      case Act::kServerWritesLarge:
        if (served_ != nullptr) serve_write(kLarge);
        break;
      case Act::kServerEnds:
        if (served_ != nullptr) serve_end();
        break;
      case Act::kServerReads:
        if (served_ != nullptr) serve_read();
        break;
      case Act::kServerAnswers:
      case Act::kServerFails:
        if (served_ != nullptr) answer(act == Act::kServerAnswers);
        break;
      case Act::kToServer:
        deliver(client_, server_);
        break;
      case Act::kToClient:
        deliver(server_, client_);
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
      for (const std::string& frame : end->on_the_way) {
        const auto header = wire::load_header(reinterpret_cast<const std::byte*>(frame.data()));
        add(static_cast<unsigned>(header.type) * 1000 + header.body_bytes + header.flags * 100'000u);
        add(header.typed64);
      }
      text += "| ";
      for (const std::uint64_t cost : end->held) add(cost);
      text += "| ";
      for (const std::uint64_t number :
           {std::uint64_t{end->written}, std::uint64_t{end->got}, std::uint64_t{end->ended},
            std::uint64_t{end->discarded}, std::uint64_t{end->saw_end}, end->granted,
            std::uint64_t{end->closed}}) {
        add(number);
      }
      StreamSide* const side = side_of(*end);
      if (side == nullptr) continue;
      add(static_cast<unsigned>(side->writing()));
      add(static_cast<unsigned>(side->failure().code()));
      add(side->incoming().has_item() ? 1 : 0);
      add(side->incoming().have_ended() ? 1 : 0);
    }
    if (blocking_) {
      add(blocking_->reader.would_wait() ? 1 : 0);
      add(blocking_->exchange.put().would_wait() ? 1 : 0);
      add(static_cast<unsigned>(blocking_->exchange.failure().code()));
    }
    add(stream_ ? (stream_->done() ? 2 : 1) : 0);
    add(served_ != nullptr ? 1 : 0);
    add(gave_up_ ? 1 : 0);
    add(answered_ ? 1 : 0);
    return text;
  }

  /// Both go on as long as they can, then end, and the connection stands or is gone: nothing is left.
  void finish() {
    const bool stands = !client_.closed && !server_.closed;
    if (stands) go_on();
    if (stands && !gave_up_ && stream_) end_well();
    if (stands) expect_a_place();
    stream_.reset();
    second_.reset();
    run_until_idle();
    flush();
    if (stands && served_ != nullptr && !served_->answered()) {
      deliver_all();
      if (served_ != nullptr && served().writing() != StreamSide::Writing::kOver) {
        complain("the server writes on a stream that the client has dropped");
      }
    }
    target_->close();
    if (!client_.closed) client_.session->close({StatusCode::kUnavailable, Layer::kRpc, "over"});
    if (!server_.closed) server_.session->close({StatusCode::kUnavailable, Layer::kRpc, "over"});
    run_until_idle();
    if (served_ != nullptr) {
      if (served().writing() != StreamSide::Writing::kOver || !served().incoming().have_ended()) {
        complain("a served stream goes on without a connection");
      }
      if (blocking_ && (blocking_->reader.would_wait() || blocking_->exchange.put().would_wait())) {
        complain("a worker waits without a connection");
      }
      blocking_.reset();
      std::exchange(served_, nullptr)->let_go();
    }
    blocking_.reset();
    while (!late_.empty()) {
      late_.back()->let_go();
      late_.pop_back();
    }
    client_.session.reset();
    server_.session.reset();
    run_until_idle();
    if (client_.host.memory->free() != client_.free) complain("something of the client's is charged still");
    if (server_.host.memory->free() != server_.free) complain("something of the server's is charged still");
    if (loop().chunks().chunks_out() != 0) complain("a chunk is held still");
  }
  const std::string& wrong() const { return wrong_; }

 private:
  Loop& loop() { return *ground_.loop; }
  void run_until_idle() { loop().run_until_idle(); }
  void complain(std::string_view text) {
    if (wrong_.empty()) wrong_ = text;
  }
  StreamSide& served() { return *served_->stream(); }
  StreamSide* side_of(End& end) {
    if (&end == &server_) return served_ != nullptr ? &served() : nullptr;
    return stream_ ? &stream_->side() : nullptr;
  }

  void begin() {
    stream_.emplace(*target_);
    stream_->open_now();
    run_until_idle();
    flush();
    deliver(client_, server_);
    run_until_idle();
    if (served_ == nullptr) complain("the stream was not opened");
  }

  // ---- What the sides do. ----

  static std::string item_of(unsigned number, std::size_t size) {
    std::string text(size, static_cast<char>('a' + number % 20));
    weft::detail::store_le<std::uint32_t>(reinterpret_cast<std::byte*>(text.data()), number);
    return text;
  }
  void write(End& end, StreamSide& side, std::size_t size) {
    if (side.writing() != StreamSide::Writing::kReady) return;
    const std::string item = item_of(end.written, size);
    std::byte* const body = side.begin_item(size);
    if (body == nullptr) return complain("an item could not be begun");
    std::memcpy(body, item.data(), size);
    side.end_item();
    ++end.written;
  }
  void end_writing(End& end, StreamSide& side) {
    side.end_writing();
    end.ended = true;
  }
  /// The same three of the side that serves; a worker does none of them where it would wait.
  void serve_write(std::size_t size) {
    if (!blocks_) return write(server_, served(), size);
    ExchangeWriter& writer = blocking_->writer;
    if (blocking_->exchange.put().would_wait() || !writer.await_room()) return;
    const std::string item = item_of(server_.written, size);
    std::byte* const body = writer.begin_item(size);
    if (body == nullptr) return complain("an item could not be begun");
    std::memcpy(body, item.data(), size);
    if (writer.end_item()) ++server_.written;
  }
  void serve_end() {
    if (!blocks_) return end_writing(server_, served());
    blocking_->exchange.put().end_writing();
    server_.ended = true;
  }
  bool serve_read() {
    if (!blocks_) return read(server_, served());
    ExchangeReader& reader = blocking_->reader;
    const bool would_wait = reader.would_wait();
    const auto item = reader.try_next();
    if (would_wait) return false;
    if (!item) {
      server_.saw_end = true;
      return false;
    }
    got(server_, *item);
    return true;
  }
  /// Reads as a reader does: what was shown before is taken.
  bool read(End& end, StreamSide& side) {
    side.take_item();
    if (!side.incoming().has_item()) {
      if (side.incoming().have_ended()) end.saw_end = true;
      return false;
    }
    got(end, side.incoming().show());
    return true;
  }
  void got(End& end, Bytes item) {
    if (item.size() != kSmall && item.size() != kLarge) {
      complain("an item has another size");
    } else if (weft::detail::load_le<std::uint32_t>(item.data()) != end.got) {
      complain("an item was lost, or doubled, or came out of order");
    } else if (as_text(item) != item_of(end.got, item.size())) {
      complain("an item was changed");
    }
    ++end.got;
    if (end.held.empty()) {
      complain("an item was read that was not delivered");
    } else {
      end.held.pop_front();
    }
  }
  void answer(bool well) {
    // A worker's end waits until all that was put is on its way, or the stream is over.
    if (blocking_) {
      if (!blocking_->exchange.put().have_left()) return;
      if (!blocking_->exchange.put().flush().ok() && !gave_up_ && !client_.closed) {
        complain("something was lost");
      }
      blocking_.reset();
    }
    ServedCall* const call = std::exchange(served_, nullptr);
    server_.held.clear();
    if (!call->answered()) answered_ = true;
    if (well) {
      if (call->begin_answer(0) != nullptr) call->end_answer();
    } else {
      call->fail({StatusCode::kAborted, Layer::kUser, "no more"});
    }
    call->let_go();
  }
  void lose() {
    if (client_.closed || server_.closed) return;
    flush();
    client_.carrier->fail({StatusCode::kUnavailable, Layer::kTransport, "lost"});
    server_.carrier->fail({StatusCode::kUnavailable, Layer::kTransport, "lost"});
    client_.on_the_way.clear();
    server_.on_the_way.clear();
  }

  // ---- The way between. ----

  void flush() {
    run_until_idle();
    for (End* const end : {&client_, &server_}) {
      if (end->closed) continue;
      const std::string bytes = end->carrier->take_sent();
      for (std::size_t at = 0; at < bytes.size();) {
        const auto header = wire::load_header(reinterpret_cast<const std::byte*>(bytes.data() + at));
        const std::size_t size = wire::head_bytes(header.body_bytes, false);
        if (header.type == wire::FrameType::kCredit) {
          if (header.typed64 <= end->granted) complain("a credit that grants nothing was sent");
          end->granted = header.typed64;
        }
        end->on_the_way.push_back(bytes.substr(at, size));
        at += size;
      }
    }
  }
  void deliver(End& from, End& to) {
    flush();
    if (from.on_the_way.empty() || to.closed) return;
    const std::string frame = std::move(from.on_the_way.front());
    from.on_the_way.pop_front();
    const auto header = wire::load_header(reinterpret_cast<const std::byte*>(frame.data()));
    if (header.type == wire::FrameType::kItem && !wire::ItemView{header}.is_last()) {
      StreamSide* const side = side_of(to);
      if (side != nullptr && !side->incoming().have_ended() && !to.discarded) {
        to.held.push_back(wire::item_cost(header.body_bytes));
      }
    }
    to.carrier->arrive(frame);
    run_until_idle();
    flush();
    if (client_.closed || server_.closed) complain("a side ended the connection");
  }
  void deliver_all() {
    flush();
    while (!client_.on_the_way.empty() || !server_.on_the_way.empty()) {
      deliver(client_, server_);
      deliver(server_, client_);
    }
  }

  // ---- The end. ----

  /// Reads all that there is, on both sides, until nothing comes.
  void go_on() {
    bool moves = true;
    while (moves) {
      deliver_all();
      moves = false;
      if (stream_) moves = read(client_, stream_->side()) || moves;
      if (served_ != nullptr) moves = serve_read() || moves;
      flush();
      moves = moves || !client_.on_the_way.empty() || !server_.on_the_way.empty();
    }
  }
  void end_well() {
    if (!answered_) {
      if (stream_->done()) return complain("a stream was done before its answer");
      for (End* const end : {&client_, &server_}) {
        const auto wanted = end->ended ? StreamSide::Writing::kOver : StreamSide::Writing::kReady;
        if (side_of(*end)->writing() != wanted) complain("all is read, and nobody may write");
      }
      // What was shown at the end counts as read only when it is taken, which go_on() does.
      if (server_.got != client_.written) complain("the server did not get all");
      end_writing(client_, *side_of(client_));
      serve_end();
      run_until_idle();
      go_on();
      if (!client_.saw_end && !client_.discarded) complain("the client saw no end");
      if (!server_.saw_end) complain("the server saw no end");
      if (stream_->done()) complain("a stream ended without its answer");
      answer(true);
      if (!stream_) return;
    }
    go_on();
    if (!stream_->done()) return complain("an answered stream is not done");
    run_until_idle();
    if (stream_->woken() != 1) complain("the stream did not end once");
    if (!client_.discarded && client_.got != server_.written) complain("the client did not get all");
    const StatusCode code = stream_->status().code();
    if (code != StatusCode::kOk && code != StatusCode::kAborted) complain("the stream ended otherwise");
  }
  /// A stream that has ended has left its place: streams_max is one.
  void expect_a_place() {
    deliver_all();
    if (stream_ && !stream_->done()) stream_.reset();
    stream_.reset();
    deliver_all();
    blocking_.reset();
    if (served_ != nullptr) late_.push_back(std::exchange(served_, nullptr));
    deliver_all();
    second_.emplace(*target_);
    second_->open_now();
    deliver_all();
    if (second_->done()) complain("a stream that has ended keeps its place");
    if (served_ == nullptr) complain("there is no place for another stream");
    blocking_.reset();
    if (served_ != nullptr) late_.push_back(std::exchange(served_, nullptr));
  }

  void check() {
    flush();
    for (End* const end : {&client_, &server_}) {
      std::uint64_t sum = 0;
      for (const std::uint64_t cost : end->held) sum += cost;
      if (sum >= kWindow + wire::item_cost(kLarge)) complain("more is held than a window and one item");
      const End& other = end == &client_ ? server_ : client_;
      if (end->got > other.written) complain("more was read than was written");
    }
    if (stream_ && stream_->woken() > 1) complain("the stream ended twice");
  }

  static void serve(const MethodEntry&, ServedCall& call) {
    call.hold();
    running->served_ = &call;
    if (running->blocks_) running->blocking_.emplace(call);
  }
  static MethodTable table() {
    MethodEntry entry{kStreamed, {}};
    entry.kind = HandlerKind::kRecord;
    entry.serve_record = &serve;
    return MethodTable::build({entry}).value();
  }

  inline static Run* running = nullptr;

  Ground& ground_;
  const bool blocks_;
  const RpcLimits limits_;
  MethodTable methods_;
  End server_;
  End client_;
  std::optional<ModelTarget> target_;
  std::optional<ModelStream> stream_;
  std::optional<ModelStream> second_;
  ServedCall* served_ = nullptr;
  std::optional<Blocking> blocking_;
  /// Records that are over and were not let go.
  std::vector<ServedCall*> late_;
  bool gave_up_ = false;
  bool answered_ = false;
  std::string wrong_;
};

/// Walks through all that can become of the stream within `depth` of `acts`; returns how many states there
/// are.
std::size_t walk(const std::vector<Act>& acts, std::size_t depth, bool blocks = false) {
  Ground ground;
  return testing::walk(acts, depth, kActNames, [&] { return std::make_unique<Run>(ground, blocks); });
}

std::vector<Act> all_acts() {
  std::vector<Act> acts;
  for (int i = 0; i < static_cast<int>(Act::kCount); ++i) acts.push_back(static_cast<Act>(i));
  return acts;
}

TEST(StreamsModel, EndsOnceInEveryOrderOfEventsAndLosesNothing) {
  EXPECT_GT(walk(all_acts(), 6 - kFewerSteps), 1000u);
}

TEST(StreamsModel, OfItemsOneWayGoesThroughItsWindowInEveryOrder) {
  EXPECT_GT(walk({Act::kServerWrites, Act::kServerWritesLarge, Act::kClientReads, Act::kToClient,
                  Act::kToServer, Act::kServerAnswers},
                 24 - 8 * kFewerSteps),
            300u);
  EXPECT_GT(walk({Act::kClientWrites, Act::kClientWritesLarge, Act::kClientEnds, Act::kServerReads,
                  Act::kToClient, Act::kToServer},
                 24 - 8 * kFewerSteps),
            300u);
}

TEST(StreamsModel, OfAHandlerThatBlocksEndsOnceInEveryOrderOfEventsAndLosesNothing) {
  EXPECT_GT(walk(all_acts(), 6 - kFewerSteps, true), 1000u);
}

TEST(StreamsModel, OfAHandlerThatBlocksGoesThroughItsWindowInEveryOrder) {
  EXPECT_GT(walk({Act::kServerWrites, Act::kServerWritesLarge, Act::kClientReads, Act::kToClient,
                  Act::kToServer, Act::kServerAnswers},
                 14 - 4 * kFewerSteps, true),
            300u);
  EXPECT_GT(walk({Act::kClientWrites, Act::kClientWritesLarge, Act::kClientEnds, Act::kServerReads,
                  Act::kToClient, Act::kToServer},
                 24 - 8 * kFewerSteps, true),
            300u);
}

}  // namespace
}  // namespace weft::streams_model
