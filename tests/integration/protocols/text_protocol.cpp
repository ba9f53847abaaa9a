// SPDX-License-Identifier: Apache-2.0
#include "integration/protocols/text_protocol.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <new>
#include <utility>
#include <vector>

#include "calls/gate/method_table.hpp"
#include "calls/serve/served_calls.hpp"
#include "calls/stream/item_sink.hpp"
#include "integration/protocols/hex.hpp"
#include "weft/detail/calls/terms/answer_sink.hpp"
#include "weft/detail/calls/terms/metadata.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/transport/byte_connection.hpp"

namespace weft::testing {

using namespace weft::detail;
namespace {

constexpr std::size_t kLineMax = std::size_t{1} << 20;
constexpr FixedFailure kUnsendable{StatusCode::kDataLoss, Layer::kRpc, Retry::kNever,
                                   "the text protocol cannot send the item"};
constexpr FixedFailure kNoMemory{StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
                                 "out of memory"};
constexpr FixedFailure kAttached{StatusCode::kUnimplemented, Layer::kRpc, Retry::kNever, "no attachments"};

/// Removes the first word of `line`.
std::string_view word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view first = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return first;
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

class TextConnection final : public ServedConnection, ByteSink, AnswerSink, ItemSink {
 public:
  TextConnection(const ServedConnectionSetup& setup, std::unique_ptr<BaseCarrier> carrier)
      : AnswerSink(setup.connection_id),
        ItemSink(setup.loop, setup.limits, *setup.host.memory),
        loop_(setup.loop),
        limits_(setup.limits),
        owner_(setup.owner),
        host_(setup.host),
        connection_(setup.loop, std::move(carrier), setup.limits.stall_timeout),
        served_(*this, setup.host, setup.loop, setup.limits) {}
  ~TextConnection() override {
    connection_.abandon();
    end_calls();
    release();
  }

  void start(Bytes received) override {
    set_peer_identity(connection_.peer_identity());
    connection_.start(*this, received);
  }
  void drain() override {
    draining_ = true;
    finish_if_done();
  }
  void close(const Status& why) override { leave(why.to_string()); }
  std::string remote_endpoint() const override { return connection_.remote_endpoint(); }
  ConnectionStats traffic() const noexcept override { return connection_.stats(); }

 private:
  // The connection reports.
  std::size_t on_bytes(Bytes bytes) override {
    try {
      std::string_view text = as_text(bytes);
      while (!is_over_ && !connection_.is_held()) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) {
          keep(text);
          return bytes.size();
        }
        const std::string line = std::exchange(begun_, {}).append(text.substr(0, end));
        text.remove_prefix(end + 1);
        take(line);
        host_.memory->release(std::exchange(begun_charge_, 0));
        if (!connection_.has_room()) connection_.pause_receiving();
      }
      return is_over_ ? bytes.size() : bytes.size() - text.size();
    } catch (const std::bad_alloc&) {
      connection_.close(Status::of<kNoMemory>());
      return bytes.size();
    }
  }
  void on_peer_end() override {
    served_.list().give_up_streams();
    drain();
  }
  void on_drained() override {
    host_.memory->release(std::exchange(items_charge_, 0));
    connection_.resume_receiving();
    wake_room_waiter();
    wake_writers();
  }
  void on_closed(const Status& why) override {
    is_over_ = true;
    end_calls();
    owner_.on_connection_closed(*this, why);
  }

  // The calls report.
  std::byte* begin_answer(std::uint64_t id, std::size_t bytes, std::uint64_t attachment_bytes) override {
    if (attachment_bytes != 0) {
      fail(id, Status::of<kAttached>());
      return nullptr;
    }
    answered_ = id;
    return room_for(bytes);
  }
  void end_answer() override { say("ok", answered_, to_hex(body_)); }
  void take_back_answer(const std::byte*) override {}
  void end_answer_with(std::uint64_t, Attachment&, std::unique_ptr<AnswerWishes> wishes) override {
    end_answer();
    if (wishes != nullptr) wishes->end(true);
  }
  void fail(std::uint64_t id, const Status& failure) override {
    served_.counting().failed(id, failure.code());
    say("fail", id, std::string{to_string(failure.code())} + ' ' + failure.to_string());
  }
  void refuse(std::uint64_t id, RefusalReason reason, const Status& why) override {
    host_.refusals.count(reason);
    served_.counting().refused(id, why.code());
    say("fail", id, std::string{to_string(why.code())} + ' ' + why.to_string());
  }
  void refuse_without_memory(std::uint64_t id) override {
    refuse(id, RefusalReason::kOverProcessMemory, Status::of<kNoMemory>());
  }
  bool has_room() const noexcept override { return is_gone() || connection_.has_room(); }
  void add_room_waiter(RoomWaiter& waiter) override { room_waiters_.push_back(waiter); }
  bool charge_answer(std::size_t bytes) override { return served_.admission().admit_answer(bytes); }
  void wake_room_waiter() override {
    if (!room_waiters_.empty() && has_room()) loop_.schedule(room_waiters_.pop_front().node);
  }
  void forget(ServedCall& call) override {
    served_.forget(call);
    wake_room_waiter();
    finish_if_done();
  }
  std::string local_endpoint() const override { return connection_.local_endpoint(); }
  std::shared_ptr<void>& connection_tag() override { return tag_; }
  ItemSink* streams() override { return this; }
  void finish() override { connection_.finish(); }

  // The streams report.
  std::uint64_t first_credit() const noexcept override { return kTextCredit; }
  std::uint32_t item_bytes_max() const noexcept override { return limits_.body_bytes_max; }
  bool has_room_for_items() noexcept override { return connection_.has_room(); }
  bool reserve_item(std::size_t bytes) noexcept override {
    if (!host_.memory->try_reserve(2 * bytes)) return false;
    items_charge_ += 2 * bytes;
    return true;
  }
  std::byte* begin_item(const StreamPlace&, std::uint32_t bytes) noexcept override { return room_for(bytes); }
  Status end_item(const StreamPlace& place) noexcept override {
    if (body_.size() == 1 && body_.front() == std::byte{0xFF}) return Status::of<kUnsendable>();
    say("item", place.id, to_hex(body_));
    return {};
  }
  void take_back_item(const std::byte*) noexcept override {}
  void end_items(const StreamPlace& place) noexcept override { say("end", place.id); }
  void send_credit(const StreamPlace& place, std::uint64_t granted) noexcept override {
    say("credit", place.id, std::to_string(granted));
  }

  /// Keeps the beginning of a line.
  void keep(std::string_view text) {
    if (begun_.size() + text.size() > kLineMax) return leave("the line is too long");
    if (!host_.memory->try_reserve(text.size())) return leave("out of memory");
    begun_charge_ += text.size();
    begun_ += text;
  }
  void take(std::string_view line) {
    const std::string_view verb = word(line);
    const std::uint64_t id = number(word(line));
    if (verb == "call") return call(id, line);
    ServedCall* const served = served_.find(id);
    if (served == nullptr || served->answered()) return;
    if (verb == "cancel") return served->cancel_by_peer();
    StreamSide* const stream = served->stream().get();
    if (stream == nullptr) return leave("the call is no stream");
    if (verb == "end" && stream->on_last_item()) return;
    if (verb == "credit" && stream->on_credit(number(line))) return;
    std::string item;
    using Arrival = IncomingItems::Arrival;
    if (verb == "item" && from_hex(line, item) && item.size() <= limits_.body_bytes_max) {
      const Arrival arrival = stream->on_item(as_bytes(std::string_view{item}), {});
      if (arrival != Arrival::kNoCredit && arrival != Arrival::kAfterLast) return;
    }
    leave("a line that its stream does not allow: " + std::string{verb});
  }
  void call(std::uint64_t id, std::string_view line) {
    if (served_.find(id) != nullptr) return leave("two calls in flight have the same id");
    if (draining_) return say("fail", id, "UNAVAILABLE the server stops");
    const std::uint64_t timeout = number(word(line));
    const std::string_view name = word(line);
    std::string bytes;
    if (!from_hex(word(line), bytes)) return leave("the arguments are not hexadecimal");
    Metadata metadata;
    while (!line.empty()) {
      const std::string_view pair = word(line);
      const std::size_t is = std::min(pair.find('='), pair.size() - 1);
      if (!metadata.set(pair.substr(0, is), pair.substr(is + 1)).ok()) return leave("bad metadata");
    }
    const MethodEntry* method = host_.methods->find_any(hash_name(name));
    if (method != nullptr && method->key.name != name) method = nullptr;
    if (!served_.begin_whole(id, method, metadata.view())) return;
    const Bytes pairs = metadata.view().bytes();
    request_.assign(wire::padded(pairs.size()), std::byte{0});
    std::copy(pairs.begin(), pairs.end(), request_.begin());
    const Bytes arguments = as_bytes(std::string_view{bytes});
    request_.insert(request_.end(), arguments.begin(), arguments.end());
    const Deadline deadline = Deadline::after(loop_.now(), std::chrono::milliseconds{timeout});
    served_.serve_whole(*method, {id, request_, pairs.size()}, timeout == 0 ? Deadline{} : deadline);
  }
  std::byte* room_for(std::size_t bytes) noexcept {
    try {
      body_.resize(std::max<std::size_t>(bytes, 1));
      body_.resize(bytes);
      return body_.data();
    } catch (const std::bad_alloc&) {
      connection_.close(Status::of<kNoMemory>());
      return nullptr;
    }
  }
  void say(std::string_view verb, std::uint64_t id, std::string_view rest = {}) noexcept {
    try {
      std::string line = std::string{verb} + ' ' + std::to_string(id);
      if (!rest.empty()) line.append(" ").append(rest);
      line += '\n';
      if (is_gone() || connection_.send(as_bytes(std::string_view{line}))) return;
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): as without room
    }
    connection_.close(Status::of<kNoMemory>());
  }
  /// Says why, and ends the connection.
  void leave(std::string_view why) {
    if (std::exchange(is_over_, true)) return;
    connection_.send(as_bytes(std::string_view{"bye " + std::string{why} + '\n'}));
    end_calls();
    connection_.finish();
  }
  void finish_if_done() {
    if (draining_ && !is_gone() && served_.admission().calls() == 0) connection_.finish();
  }
  void end_calls() noexcept {
    set_gone();
    while (!room_waiters_.empty()) loop_.schedule(room_waiters_.pop_front().node);
    std::size_t all = SIZE_MAX;
    served_.orphan_some(all);
  }
  void release() noexcept {
    host_.memory->release(std::exchange(begun_charge_, 0) + std::exchange(items_charge_, 0));
  }

  Loop& loop_;
  const RpcLimits& limits_;
  ServedConnectionOwner& owner_;
  CallsHost& host_;
  ByteConnection connection_;
  ServedCalls served_;
  IntrusiveList<RoomWaiter, RoomWaiterTag> room_waiters_;
  std::shared_ptr<void> tag_;
  /// The beginning of a line that has not arrived as a whole, and the memory that it is charged.
  std::string begun_;
  std::size_t begun_charge_ = 0;
  std::size_t items_charge_ = 0;
  std::vector<std::byte> request_;
  std::vector<std::byte> body_;
  std::uint64_t answered_ = 0;
  bool draining_ = false;
  bool is_over_ = false;
};

class TextProtocol final : public Protocol {
 public:
  std::string_view name() const override { return "text"; }
  Recognized recognizes(Bytes first) const override {
    const std::string_view begin = as_text(first);
    if (begin.starts_with("call ")) return Recognized::kYes;
    return std::string_view{"call "}.starts_with(begin) ? Recognized::kMore : Recognized::kNo;
  }
  std::unique_ptr<ServedConnection> make(const ServedConnectionSetup& setup,
                                         std::unique_ptr<BaseCarrier> carrier) const override {
    return std::make_unique<TextConnection>(setup, std::move(carrier));
  }
};

}  // namespace

std::shared_ptr<const Protocol> text_protocol() {
  return std::make_shared<TextProtocol>();
}

}  // namespace weft::testing
