// SPDX-License-Identifier: Apache-2.0
// One connection that serves and calls: streams with and without attachments, calls whose attachments land
// where somebody chose, credits and cancels. The input is its peer, which says a hello that is right and then
// frames that are right, nearly right or raw, whole and cut; it says as well what this side does meanwhile.
// Whatever that is, every call ends once, and all memory comes back.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calls/gate/method_table.hpp"
#include "calls/landing/incoming_transfer.hpp"
#include "calls/session/session.hpp"
#include "support/manual_time.hpp"
#include "support/wire_bytes.hpp"
#include "unit/calls/fake_carrier.hpp"
#include "unit/calls/model_calls.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/calls/call/call_details.hpp"
#include "weft/detail/calls/call/pending_call.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/wire/crc32c.hpp"

namespace weft {
namespace {

using namespace weft::detail;
using namespace std::chrono_literals;
using calls_testing::CountingWaiter;
using calls_testing::FakeCarrier;
using calls_testing::Ground;
using calls_testing::ModelStream;
using calls_testing::ModelTarget;
using wire::FrameFlags;

constexpr std::size_t kDeedsMax = 400;
constexpr std::size_t kOwnMax = 6;
constexpr std::size_t kPieceBytes = 4096;
constexpr std::size_t kLandingBytes = 20'000;
constexpr std::uint64_t kAttachmentMax = 1u << 20;
/// Lengths on both sides of what the code tells apart.
constexpr std::uint64_t kLengths[] = {
    0, 1,      7, 8, 44, 100, 1000, 1024, 4096, 4097, 10'000, 20'000, kAttachmentMax, kAttachmentMax + 1,
    5, 300'000};

std::string no_text(const MethodKey&) {
  return {};
}
const MethodKey kTaking{13, 22, "taking", &no_text};
const MethodKey kChoosing{14, 22, "choosing", &no_text, {}, {}, true};

/// Reads what is to be done out of the input; zeros behind its end.
class Script {
 public:
  explicit Script(std::string_view input) : left_(input) {}

  bool is_over() const { return left_.empty(); }
  unsigned byte() {
    const unsigned first = left_.empty() ? 0 : static_cast<unsigned char>(left_.front());
    left_.remove_prefix(std::min<std::size_t>(1, left_.size()));
    return first;
  }
  std::string_view take(std::size_t bytes) {
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(taken.size());
    return taken;
  }
  std::uint64_t number() {
    std::uint64_t number = 0;
    const std::string_view bytes = take(8);
    std::memcpy(&number, bytes.data(), bytes.size());
    return number;
  }
  std::uint64_t length() { return kLengths[byte() % std::size(kLengths)]; }
  template <typename T, std::size_t kCount>
  T any_of(const T (&choices)[kCount]) {
    return choices[byte() % kCount];
  }

 private:
  std::string_view left_;
};

/// Loop of all inputs: making one takes longer than an input does.
Ground& ground() {
  static Ground its;
  return its;
}

/// Memory that a call reads and writes until it has ended: there for longer than it.
struct CallMemory {
  explicit CallMemory(std::size_t attachment) : outgoing(attachment, std::byte{'s'}), landing(kLandingBytes) {
    its_details.options.attachment = AttachmentView{Bytes{outgoing}};
    its_details.options.landing = LandingView{MutableBytes{landing}};
  }
  std::vector<std::byte> outgoing;
  std::vector<std::byte> landing;
  CallDetails its_details{CallOptions{}, false};
  CountingWaiter its_end;
};

/// Call of one answer with an attachment in each direction.
class FuzzCall final : private CallMemory, public PendingCall {
 public:
  FuzzCall(CallTarget& target, const MethodKey& method, std::size_t attachment)
      : CallMemory(attachment), PendingCall(target, method, &its_details) {
    set_waiter(&its_end);
  }
  void begin_now() {
    const Begun begun = PendingCall::begin(nullptr, 0);
    is_refused_ = begun.body == nullptr;
    if (!is_refused_ && begun.needs_sent()) sent();
  }
  void check() const {
    WEFT_ASSERT(its_end.runs == (done() && !is_refused_ ? 1 : 0), "whoever waits hears of one end");
  }

 private:
  std::size_t body_bytes() const override { return 0; }
  void encode_body(std::byte*) const override {}
  void decode_answer(Bytes, Status&) noexcept override {}

  bool is_refused_ = false;
};

/// A call as its handler has it, until the input ends it.
struct Served {
  explicit Served(ServedCall& its_call) : call(its_call) {}

  ServedCall& call;
  std::vector<std::byte> landing;
  CountingWaiter landed;
};

/// Attachment that the peer has announced, and how far it has come.
struct Announced {
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
  bool of_answer = false;
  bool of_item = false;
};

RpcLimits limits_of(Script& script) {
  RpcLimits limits;
  limits.attachment_bytes_max = kAttachmentMax;
  limits.body_bytes_max = script.any_of({1u << 20, 100u});
  limits.stream_window = script.any_of({100'000u, 1u, 300u, 2u << 20});
  limits.streams_max = script.any_of({100u, 1u});
  limits.connection_memory_max = script.any_of<std::size_t>({8u << 20, 30'000});
  limits.process_memory_max = script.any_of<std::size_t>({64u << 20, 50'000});
  limits.outbox_high_water = script.any_of<std::size_t>({4u << 20, 5000});
  limits.calls_in_flight_max = script.any_of({100u, 2u});
  limits.frame_timeout = 1s;
  limits.ping_interval = script.any_of<Duration>({Duration::zero(), 500ms});
  return limits;
}

class World final : private SessionOwner {
 public:
  explicit World(Script& script)
      : script_(script), checksums_(script.byte() % 4 == 1), limits_(limits_of(script)), methods_(table()) {
    running = this;
    host_.methods = &methods_;
    host_.table_secret = 0;  // the same input does the same
    host_.calls = MethodCounts{methods_.entries().size()};
    host_.memory.emplace(std::make_shared<MemoryBudget>(limits_.process_memory_max));
    free_ = host_.memory->free();
    auto carrier = std::make_unique<FakeCarrier>(
        Capabilities{.name = "fuzzed", .lease_bytes_min = 1024, .piece_bytes = kPieceBytes});
    carrier_ = carrier.get();
    auto connection = std::make_unique<Connection>(loop(), connection_options(limits_), std::move(carrier));
    SessionSetup setup{loop(), *this, limits_, host_, ground().logger, 1s, checksums_};
    setup.connecting = script_.byte() % 2 == 0;
    session_ = std::make_unique<Session>(setup, std::move(connection), 7);
    session_->start();
    target_ = std::make_unique<ModelTarget>(loop(), *session_);
    run_until_idle();
    static_cast<void>(carrier_->take_sent());  // our hello
    say_hello();
  }
  ~World() {
    const bool calls_go_first = script_.byte() % 2 == 0;
    release_hogged();
    if (calls_go_first) drop_own();
    target_->close();
    if (script_.byte() % 2 == 0 && closed_ == 0) {
      session_->close({StatusCode::kUnavailable, Layer::kRpc, "over"});
      run_until_idle();
    }
    session_.reset();
    run_until_idle();
    for (const auto& call : calls_) WEFT_ASSERT(call->done(), "a call ends with its connection");
    drop_own();
    while (!served_.empty()) let_go(served_.size() - 1);
    run_until_idle();
    WEFT_ASSERT(lent_ == 0, "what was lent comes back");
    WEFT_ASSERT(host_.memory->free() == free_, "charges return");
    WEFT_ASSERT(host_.running.get() == 0, "no record is left");
    WEFT_ASSERT(loop().chunks().chunks_out() == 0, "chunks return");
    running = nullptr;
  }

  void run() {
    for (std::size_t deeds = 0; deeds < kDeedsMax && !script_.is_over(); ++deeds) {
      script_.byte() % 2 == 0 ? peer_acts() : side_acts();
      run_until_idle();
      hear();
      for (const auto& call : calls_) call->check();
    }
  }

 private:
  Loop& loop() { return *ground().loop; }
  void run_until_idle() { loop().run_until_idle(); }

  // ---- The peer. ----

  void say_hello() {
    wire::Hello hello;
    hello.features_supported =
        wire::Features::kAll & ~std::uint64_t{script_.byte() % 16 == 1 ? script_.byte() : 0};
    hello.body_bytes_max = script_.any_of({1u << 16, 8u});
    hello.attachment_bytes_max = script_.any_of<std::uint64_t>({kAttachmentMax, 0, 100});
    hello.calls_in_flight_max = script_.any_of({100u, 1u});
    hello.stream_window_bytes = script_.any_of({100'000u, 1u, 300u, UINT32_MAX});
    says(wire::encode_hello(hello));
  }
  void peer_acts() {
    switch (script_.byte() % 16) {
      case 0:
        return says(script_.take(script_.byte() % 64));
      case 1:
      case 2:
        return say_request();
      case 3:
      case 4:
      case 5:
        return say_item();
      case 6:
      case 7:
      case 8:
      case 9:
        return say_piece();
      case 10:
        return say_credit();
      case 11:
        return say_answer();
      case 12:
        return say({.type = wire::FrameType::kCancel, .id = any_id(script_.byte() % 8 == 0)});
      case 13:
        return say_other();
      case 14:
        return say_any_header();
      default:
        return script_.byte() % 2 == 0 ? carrier_->end()
                                       : carrier_->fail({StatusCode::kUnavailable, Layer::kTransport, "cut"});
    }
  }
  /// Sends `bytes`, of which some may come later: then before all that is said then.
  void says(std::string_view bytes) {
    withheld_ += bytes;
    const unsigned part = script_.byte();
    const std::size_t now = part < 192 ? withheld_.size() : withheld_.size() * (part - 192) / 64;
    carrier_->arrive(std::string_view{withheld_}.substr(0, now));
    withheld_.erase(0, now);
    run_until_idle();
  }
  /// A whole frame, of which the header says what it likes but for the length of the body.
  void say(wire::FrameHeader header, std::string_view body = {}, std::uint64_t attachment = 0) {
    header.body_bytes = static_cast<std::uint32_t>(body.size());
    if (attachment != 0) {
      header.flags |= FrameFlags::kAttachment;
      header.attachment_bytes = attachment;
    }
    std::string bytes = testing::header_bytes(header);
    testing::append_padded(bytes, body);
    if (checksums_) {
      bytes.resize(bytes.size() + 8);
      wire::finish_frame(reinterpret_cast<std::byte*>(bytes.data()), header.body_bytes, true);
    }
    if (attachment == 0) return says(bytes);
    const std::string attached(static_cast<std::size_t>(attachment), 'a');
    testing::append_padded(bytes, attached);
    if (checksums_) {
      bytes.resize(bytes.size() + 8);
      detail::store_le<std::uint64_t>(reinterpret_cast<std::byte*>(bytes.data() + bytes.size() - 8),
                                      wire::crc32c(as_bytes(attached)));
    }
    says(bytes);
  }
  std::string body_of(std::uint64_t most) {
    return std::string(static_cast<std::size_t>(std::min(script_.length(), most)), 'b');
  }
  /// An id of a call that one of the sides began, or another.
  std::uint64_t any_id(bool ours) {
    const unsigned which = script_.byte();
    if (which == 255) return script_.number();
    if (ours) return asked_.empty() ? which : asked_[which % asked_.size()];
    return 1 + which % 6;
  }
  void announce(const Announced& announced) {
    if (announced.bytes == 0) return;
    announced_[next_announced_++ % announced_.size()] = announced;
  }
  void say_request() {
    static constexpr std::uint64_t kMethods[] = {12, 12, 12, 13, 14, 99};
    wire::RequestHead head{.id = any_id(false), .method = script_.any_of(kMethods), .schema = 22};
    const unsigned how = script_.byte();
    if (how % 8 == 1) head.schema = 21;
    if (how % 4 == 2) head.timeout = 1000;
    const std::string body = how % 16 == 3 ? body_of(5000) : std::string{};
    const std::uint64_t attachment = how >= 64 ? script_.length() : 0;
    if (attachment == 0 || how % 2 == 0) {
      return say(head.header(), body, attachment);
    }
    head.flags = FrameFlags::kInPieces | FrameFlags::kAttachment;
    if (how >= 128) head.flags |= FrameFlags::kExpectsContinue;
    head.attachment_bytes = attachment;
    announce({.id = head.id, .bytes = attachment});
    say(head.header(), body);
  }
  void say_item() {
    const unsigned how = script_.byte();
    const bool ours = how % 2 == 0;
    const std::string body = body_of(how % 8 == 2 || how % 8 == 3 ? kAttachmentMax : 100);
    wire::ItemHead head{.id = any_id(ours), .of_answer = ours};
    if (how % 16 == 4) {
      head.last = true;
      return say(head.header());
    }
    if (how >= 64) head.attachment_bytes = script_.length();
    announce({.id = head.id, .bytes = head.attachment_bytes, .of_answer = ours, .of_item = true});
    say(head.header(), body);
  }
  /// The next piece of something that was announced, or not quite.
  void say_piece() {
    Announced& announced = announced_[script_.byte() % announced_.size()];
    const unsigned how = script_.byte();
    const std::uint64_t left = announced.bytes - announced.offset;
    std::uint64_t bytes = how % 4 == 0 ? left : std::min(left, script_.length());
    if (how % 32 == 31) bytes = left + 1;
    if (bytes == 0 || bytes > kAttachmentMax) return;
    wire::PieceHead head{.id = announced.id,
                         .offset = announced.offset,
                         .bytes = bytes,
                         .of_answer = announced.of_answer,
                         .last = bytes == left,
                         .of_item = announced.of_item};
    if (how == 201) head.offset += 8;
    if (how == 202) head.last = !head.last;
    if (how == 203) head.of_item = !head.of_item;
    if (how == 204) head.id = any_id(head.of_answer);
    announced.offset = std::min(announced.bytes, announced.offset + bytes);
    say(head.header(), {}, bytes);
  }
  void say_credit() {
    const unsigned how = script_.byte();
    wire::CreditHead head{.id = any_id(how % 2 == 0), .of_answer = how % 2 == 0};
    head.granted = how < 128 ? (granted_ += script_.length()) : script_.number();
    say(head.header());
  }
  void say_answer() {
    const unsigned how = script_.byte();
    wire::AnswerHead head{.id = any_id(true)};
    if (how % 4 == 1) {
      head.code = StatusCode::kAborted;
      head.layer = Layer::kUser;
    }
    const std::uint64_t attachment = how >= 64 ? script_.length() : 0;
    if (attachment == 0 || how % 2 == 0) {
      return say(head.header(), body_of(100), attachment);
    }
    head.flags = FrameFlags::kInPieces | FrameFlags::kAttachment;
    head.attachment_bytes = attachment;
    announce({.id = head.id, .bytes = attachment, .of_answer = true});
    say(head.header());
  }
  void say_other() {
    static constexpr wire::FrameType kTypes[] = {wire::FrameType::kPing,     wire::FrameType::kPong,
                                                 wire::FrameType::kContinue, wire::FrameType::kContinue,
                                                 wire::FrameType::kGoaway,   wire::FrameType::kSkippable,
                                                 wire::FrameType::kRate};
    wire::FrameHeader header{.type = script_.any_of(kTypes)};
    if (header.type == wire::FrameType::kContinue) header.id = any_id(true);
    if (header.type == wire::FrameType::kRate) {
      header.id = any_id(false);
      header.typed64 = script_.number();
    }
    if (header.type == wire::FrameType::kPing || header.type == wire::FrameType::kPong)
      header.id = script_.byte();
    if (header.type == wire::FrameType::kGoaway && script_.byte() % 2 == 0) header.typed64 = script_.length();
    say(header, header.type == wire::FrameType::kGoaway ? "so it is" : "");
  }
  void say_any_header() {
    std::string bytes{script_.take(wire::kHeaderBytes)};
    bytes.resize(wire::kHeaderBytes);
    const wire::FrameHeader header = wire::load_header(reinterpret_cast<const std::byte*>(bytes.data()));
    const std::uint64_t rest =
        wire::padded(header.body_bytes) + wire::padded(header.attachment_bytes % kAttachmentMax);
    bytes.resize(bytes.size() + static_cast<std::size_t>(std::min(rest, kAttachmentMax)));
    says(bytes);
  }
  /// The peer looks for the ids of what this side asks.
  void hear() {
    heard_ += carrier_->take_sent();
    std::size_t at = 0;
    while (heard_.size() - at >= wire::kHeaderBytes) {
      const wire::FrameHeader header =
          wire::load_header(reinterpret_cast<const std::byte*>(heard_.data() + at));
      const std::uint64_t follows = header.following_bytes();
      const std::uint64_t size = wire::head_bytes(header.body_bytes, checksums_) + wire::padded(follows) +
                                 (checksums_ && follows != 0 ? 8 : 0);
      if (heard_.size() - at < size) break;
      if (header.type == wire::FrameType::kRequest) asked_.push_back(header.id);
      at += static_cast<std::size_t>(size);
    }
    heard_.erase(0, at);
  }

  // ---- This side. ----

  void side_acts() {
    switch (script_.byte() % 20) {
      case 0:
      case 1:
        return open_stream();
      case 2:
        return begin_call();
      case 3:
      case 4:
      case 5:
        return write();
      case 6:
        return wait_or_end();
      case 7:
      case 8:
      case 9:
        return read();
      case 10:
        if (StreamSide* const side = any_side()) side->took(side->incoming().discard());
        return;
      case 11:
        return give_up();
      case 12:
        return answer();
      case 13:
        if (!served_.empty()) let_go(script_.byte() % served_.size());
        return;
      case 14:
      case 15:
        return want_attachment();
      case 16:
        return carrier_->set_room(script_.any_of<std::size_t>({0, 100, 5000, SIZE_MAX}));
      case 17:
        return testing::pass(loop(), ground().clock, script_.any_of<Duration>({2ms, 300ms, 1100ms, 31s}));
      case 18:
        return hogged_ == 0 ? hog() : release_hogged();
      default:
        return end_connection();
    }
  }
  bool may_begin() { return closed_ == 0 && session_->has_room(); }
  void open_stream() {
    if (streams_.size() == kOwnMax || !may_begin()) return;
    streams_.push_back(std::make_unique<ModelStream>(*target_));
    streams_.back()->open_now();
  }
  void begin_call() {
    if (calls_.size() == kOwnMax || !may_begin()) return;
    const MethodKey& method = script_.byte() % 2 == 0 ? kTaking : kChoosing;
    calls_.push_back(
        std::make_unique<FuzzCall>(*target_, method, static_cast<std::size_t>(script_.length())));
    calls_.back()->begin_now();
    run_until_idle();
  }
  /// Its stream that the input names, of those that were opened and those that are served.
  StreamSide* any_side() {
    std::vector<StreamSide*> sides;
    for (const auto& stream : streams_) sides.push_back(&stream->side());
    for (const auto& each : served_) {
      if (each->call.stream() != nullptr) sides.push_back(each->call.stream().get());
    }
    return sides.empty() ? nullptr : sides[script_.byte() % sides.size()];
  }
  void wait_or_end() {
    StreamSide* const side = any_side();
    const unsigned how = script_.byte();
    if (side == nullptr) return;
    if (how % 3 == 0) return side->end_writing();
    if (how % 3 == 1 && side->writer() == nullptr) side->set_writer(&wait_somewhere());
    if (how % 3 == 2 && side->reader() == nullptr) side->set_reader(&wait_somewhere());
  }
  /// Somebody who waits, and stays where it is.
  Ready& wait_somewhere() {
    waiters_.push_back(std::make_unique<CountingWaiter>());
    return *waiters_.back();
  }
  void write() {
    StreamSide* const side = any_side();
    if (side == nullptr || side->writing() != StreamSide::Writing::kReady) return;
    const std::size_t bytes = static_cast<std::size_t>(std::min<std::uint64_t>(script_.length(), 20'000));
    const unsigned how = script_.byte();
    const std::size_t attachment = how % 2 == 0 ? static_cast<std::size_t>(script_.length()) : 0;
    Attachment given;
    if (attachment != 0) given = in_runs(lend(attachment), how / 16);
    std::byte* const body = side->begin_item(bytes, attachment != 0 ? &given : nullptr);
    if (body == nullptr) return;
    std::memset(body, 'i', bytes);
    if (how % 16 == 15) return side->take_back_item(body, bytes, attachment);
    side->end_item();
    if (attachment != 0) side->send_attachment(std::move(given));
  }
  /// The same memory, in so many runs, the last first.
  static Attachment in_runs(Buffer whole, std::size_t count) {
    if (count < 2) return whole;
    const Bytes all = whole.bytes();
    std::vector<Bytes> runs;
    for (std::size_t i = count; i > 0; --i) {
      const std::size_t begin = all.size() * (i - 1) / count;
      runs.push_back(all.subspan(begin, all.size() * i / count - begin));
    }
    return {runs, std::move(whole)};
  }
  Buffer lend(std::size_t bytes) {
    struct Loan {
      std::vector<std::byte> memory;
      World& world;
    };
    Loan* const loan = new Loan{std::vector<std::byte>(bytes, std::byte{'l'}), *this};
    ++lent_;
    return Buffer::adopt(MutableBytes{loan->memory}, loan, [](void* its) noexcept {
      const std::unique_ptr<Loan> back{static_cast<Loan*>(its)};
      --back->world.lent_;
    });
  }
  void read() {
    StreamSide* const side = any_side();
    if (side == nullptr) return;
    side->take_item();
    if (!side->incoming().has_item()) return;
    const Bytes item = side->incoming().show();
    WEFT_ASSERT(item.size() <= limits_.body_bytes_max, "an item keeps to the limit");
    if (Buffer* const attachment = side->incoming().attachment()) {
      WEFT_ASSERT(!attachment->empty(), "an attachment has bytes");
      if (script_.byte() % 2 == 0) const Buffer taken = std::move(*attachment);
    }
  }
  void give_up() {
    const unsigned how = script_.byte();
    if (how % 2 == 0 && !calls_.empty()) {
      const std::size_t which = how / 4 % calls_.size();
      if (how % 4 == 0) return calls_[which]->on_cancel(CancelReason::kRequested);
      calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(which));
    } else if (how % 2 == 1 && !streams_.empty()) {
      const std::size_t which = how / 4 % streams_.size();
      if (how % 4 == 1) return streams_[which]->on_cancel(CancelReason::kRequested);
      streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
  void drop_own() {
    streams_.clear();
    calls_.clear();
    run_until_idle();
  }
  static void serve(const MethodEntry&, ServedCall& call) {
    call.hold();
    running->served_.push_back(std::make_unique<Served>(call));
  }
  void answer() {
    if (served_.empty()) return;
    ServedCall& call = served_[script_.byte() % served_.size()]->call;
    const unsigned how = script_.byte();
    if (call.answered()) return;
    if (how % 4 == 0) return call.fail({StatusCode::kAborted, Layer::kUser, "no"});
    if (how % 4 == 1) {
      call.context().set_attachment(in_runs(lend(static_cast<std::size_t>(script_.length())), how / 16));
    }
    if (call.begin_answer(0) != nullptr) call.end_answer();
  }
  void let_go(std::size_t which) {
    const std::unique_ptr<Served> gone = std::move(served_[which]);
    served_.erase(served_.begin() + static_cast<std::ptrdiff_t>(which));
    if (!gone->call.answered()) gone->call.fail({StatusCode::kAborted, Layer::kUser, "no"});
    gone->call.let_go();
    run_until_idle();
  }
  void want_attachment() {
    if (served_.empty()) return;
    Served& served = *served_[script_.byte() % served_.size()];
    CallEnvelope* const envelope = served.call.envelope_if_any();
    IncomingTransfer* const incoming = envelope != nullptr ? envelope->incoming.get() : nullptr;
    if (incoming == nullptr || !incoming->can_begin()) return;
    if (script_.byte() % 2 == 0) served.landing.resize(kAttachmentMax);
    incoming->begin(LandingView{MutableBytes{served.landing}}, &served.call.scope(), served.landed);
  }
  void hog() {
    hogged_ = host_.memory->free();
    WEFT_ASSERT(host_.memory->try_reserve(hogged_), "free memory can be reserved");
  }
  void release_hogged() { host_.memory->release(std::exchange(hogged_, 0)); }
  void end_connection() {
    if (closed_ != 0) return;
    switch (script_.byte() % 8) {
      case 0:
        return session_->close({StatusCode::kUnavailable, Layer::kRpc, "over"});
      case 1:
        return session_->close_with_goaway({StatusCode::kUnavailable, Layer::kRpc, "over"});
      case 2:
        return session_->finish();
      default:
        return session_->send_goaway("it is late", script_.byte() % 2 == 0);
    }
  }

  static MethodTable table() {
    std::vector<MethodEntry> entries{{calls_testing::kStreamed, {}}, {kTaking, {}}, {kChoosing, {}}};
    for (MethodEntry& entry : entries) {
      entry.kind = HandlerKind::kRecord;
      entry.takes_attachment = !entry.key.streams;
      entry.serve_record = &serve;
    }
    return MethodTable::build(std::move(entries)).value();
  }

  void on_session_ready(Session&) override {}
  void on_session_goaway(Session&) override {}
  void on_session_room(Session&) override {}
  void on_session_closed(Session&, const Status& why) override {
    WEFT_ASSERT(++closed_ == 1, "a connection ends once");
    WEFT_ASSERT(!why.ok() && !why.message().empty(), "its end has a reason");
    target_->close();
  }

  inline static World* running = nullptr;

  Script& script_;
  const bool checksums_;
  const RpcLimits limits_;
  MethodTable methods_;
  CallsHost host_;
  std::size_t free_ = 0;
  FakeCarrier* carrier_ = nullptr;
  std::unique_ptr<ModelTarget> target_;
  std::unique_ptr<Session> session_;
  std::vector<std::unique_ptr<CountingWaiter>> waiters_;
  std::vector<std::unique_ptr<ModelStream>> streams_;
  std::vector<std::unique_ptr<FuzzCall>> calls_;
  std::vector<std::unique_ptr<Served>> served_;
  /// Bytes that the peer has begun to send.
  std::string withheld_;
  std::array<Announced, 4> announced_{};
  std::size_t next_announced_ = 0;
  std::uint64_t granted_ = 100'000;
  /// Bytes that the peer has received and not understood yet, and the ids of requests among the others.
  std::string heard_;
  std::vector<std::uint64_t> asked_;
  int closed_ = 0;
  int lent_ = 0;
  std::size_t hogged_ = 0;
};

}  // namespace
}  // namespace weft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 65536) return 0;
  weft::Script script{{reinterpret_cast<const char*>(data), size}};
  weft::World world{script};
  world.run();
  return 0;
}
