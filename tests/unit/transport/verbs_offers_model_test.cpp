// SPDX-License-Identifier: Apache-2.0
// The two halves of a rendezvous by RDMA against each other, in every order in which two sides, two wires and
// a device can get on: nothing is lost or doubled, no memory is read that its owner has back, and nobody
// waits for ever. Capabilities: CR-18.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "support/model_walk.hpp"
#include "support/pattern.hpp"
#include "support/simulated_rdma.hpp"
#include "transport/verbs/fetched_offers.hpp"
#include "transport/verbs/offered_bytes.hpp"
#include "weft/detail/transport/landings_ahead.hpp"

namespace weft::detail::verbs_carrier {
namespace {

constexpr std::size_t kHeadBytes = 3;
constexpr std::size_t kAttachmentBytes = 32;
constexpr std::size_t kAttachments = 2;
/// A head before each attachment, and one behind the last.
constexpr std::size_t kPieces = 2 * kAttachments + 1;

/// A run of an attachment that is a list: two, which do not end where blocks of the landing do.
constexpr std::size_t kRunSent = 16;
/// A block of a landing that is a list: three, the last of which is short.
constexpr std::size_t kRunBytes = 12;
/// Number of them that are listed at a time, and that are filled by a read.
constexpr std::size_t kRunsListed = 2;
constexpr std::size_t kRunsOfARead = 1;

/// Says how the receiver takes an attachment.
enum class Lands : std::uint8_t {
  kRegistered,
  kRuns,           ///< in blocks
  kFirstRunKnown,  ///< in blocks, the first of which is registered
  kPlain,
  kNowhere
};

constexpr bool is_attachment(std::size_t piece) {
  return piece % 2 == 1;
}
constexpr std::size_t size_of(std::size_t piece) {
  return is_attachment(piece) ? kAttachmentBytes : kHeadBytes;
}

/// Memory that both sides use, registered once for all runs.
struct Machines {
  Machines() {
    for (std::size_t i = 0; i < kAttachments; ++i) {
      kept.push_back(registrations->add(MutableBytes{sources[i]}, {.remote_read = true}).value());
      kept.push_back(registrations->add(MutableBytes{landings[i]}, {}).value());
      kept.push_back(registrations->add(MutableBytes{half_known[i]}.first(kRunBytes), {}).value());
    }
  }
  testing::SimulatedRdma rdma{{testing::roce_device("sim", 1)}};
  std::shared_ptr<Registrations> registrations = std::make_shared<Registrations>(
      verbs::ProtectionDomain::create(verbs::Device::open("sim", rdma).value()).value());
  std::array<std::array<std::byte, kAttachmentBytes>, kAttachments> sources{};
  std::array<std::array<std::byte, kAttachmentBytes>, kAttachments> landings{};
  std::array<std::array<std::byte, kAttachmentBytes>, kAttachments> half_known{};
  std::array<std::array<std::byte, kAttachmentBytes>, kAttachments> plain{};
  std::vector<std::shared_ptr<const Registration>> kept;
};

constexpr MessageProtocol::Rules kRules{.kinds = (bit_of(kLastMessageKind) << 1) - 2,
                                        .credit_max = 1000,
                                        .all_cost = true,
                                        .credit_due = 5,
                                        .over = "in a test"};

/// States that were reached, those of them in which the second attachment was read before its turn, and those
/// in which a head had gone with an offer.
struct Explored {
  std::size_t states = 0;
  std::size_t ahead = 0;
  std::size_t joined = 0;
};

class Run {
 public:
  enum class Action : std::uint8_t {
    kSend,
    kJoin,
    kArrive,
    kReceive,
    kReadAhead,
    kRead,
    kAnswer,
    kWithdraw,
    kTakeBack,
    kAbandon,
    kCount
  };

  Run(Machines& machines, std::array<Lands, kAttachments> lands, std::size_t reads_max, Explored& explored)
      : its_(machines), lands_(lands), explored_(explored) {
    queue_.reads_max = reads_max;
    for (auto* const memory : {&its_.landings[1], &its_.half_known[1]}) memory->fill(std::byte{0});
    sender_.credit().take_terms(900);
    receiver_.credit().take_terms(900);
    for (std::size_t i = 0; i < kPieces; ++i) {
      expected_[i] = testing::pattern(size_of(i), static_cast<unsigned>(i + 1));
      sent_from_[i] = expected_[i];
      if (is_attachment(i)) std::ranges::copy(expected_[i], its_.sources[i / 2].begin());
    }
  }

  void act(Action action) {
    switch (action) {
      case Action::kSend:
        send();
        break;
      case Action::kJoin:
        join();
        break;
      case Action::kArrive:
        arrive();
        break;
      case Action::kReceive:
        receive();
        break;
      case Action::kReadAhead:
        read_ahead();
        break;
      case Action::kRead:
        read();
        break;
      case Action::kAnswer:
        answer();
        break;
      case Action::kWithdraw:
        withdraw();
        break;
      case Action::kTakeBack:
        take_back();
        break;
      default:
        abandon();
    }
    collect(sender_, to_receiver_);
    collect(receiver_, to_sender_);
  }
  /// All that the next steps depend on.
  std::string state() {
    std::string text;
    const auto add = [&text](std::size_t number) {
      text.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    for (const std::size_t number :
         {consumed_, offered_.begun(), received_, fetched_, declined_, queue_.reads.size(), arrived_,
          dropped_, inbox_.offers_in_front(), reported_reads_, std::size_t{offered_.waits_for_answer()},
          std::size_t{offered_.idle()}, std::size_t{offered_.may_get_on(false)},
          std::size_t{offers_.declining()}, std::size_t{withdrawn_}, std::size_t{taken_back_}, reads_done_,
          std::size_t{abandoned_}}) {
      add(number);
    }
    for (const auto* wire : {&to_receiver_, &to_sender_}) {
      add(wire->size());
      for (const Message& message : *wire) {
        add(static_cast<std::size_t>(message.kind));
        add(message.value + message.bytes.size());
      }
    }
    return text;
  }
  void finish() {
    explored_.ahead += queue_.begun_for_second && received_ < kAttachmentBytes + 2 * kHeadBytes ? 1 : 0;
    explored_.joined += joined_ > 0 ? 1 : 0;
  }
  void stand_still() {
    if (consumed_ != kTotal || received_ != kTotal) wrong_ = "they wait for ever";
  }
  std::string wrong() const {
    if (sender_.misbehaves()) return sender_.misbehaviour().to_string();
    if (receiver_.misbehaves()) return receiver_.misbehaviour().to_string();
    const auto is_untouched = [](std::byte byte) { return byte == std::byte{0xEE}; };
    if (abandoned_ && !std::ranges::all_of(its_.landings[1], is_untouched))
      return "memory was written to late";
    return wrong_;
  }

 private:
  static constexpr std::size_t kTotal = kAttachments * (kAttachmentBytes + kHeadBytes) + kHeadBytes;

  struct Message {
    MessageKind kind;
    std::uint32_t value = 0;
    std::vector<std::byte> bytes{};
    /// Runs of an offer, at the end of its bytes.
    std::size_t runs = 0;
  };
  struct ReadUnderWay {
    std::uint64_t from = 0;
    std::vector<ibv_sge> into{};
  };
  struct Queue final : RendezvousQueue {
    bool send_offer(const BytesBefore& before, std::span<const verbs::RemoteMemory> runs) noexcept override {
      Message message{.kind = MessageKind::kOffer, .runs = runs.size()};
      for (const iovec& piece : before.pieces) {
        const auto* const bytes = static_cast<const std::byte*>(piece.iov_base);
        message.bytes.insert(message.bytes.end(), bytes, bytes + piece.iov_len);
      }
      for (const verbs::RemoteMemory& run : runs) {
        const auto encoded = run.encode();
        message.bytes.insert(message.bytes.end(), encoded.begin(), encoded.end());
      }
      wire->push_back(std::move(message));
      return true;
    }
    bool send_again() noexcept override {
      wire->push_back({MessageKind::kAgain});
      return true;
    }
    std::size_t places_for_reads() const noexcept override { return reads_max - reads.size(); }
    std::size_t begin_reads(std::span<const ReadRequest> begun) noexcept override {
      for (const ReadRequest& read : begun) {
        const auto into = reinterpret_cast<const std::byte*>(read.into[0].addr);
        begun_for_second = begun_for_second || (into >= second && into < second + kAttachmentBytes);
        reads.push_back({read.from.address, {read.into.begin(), read.into.end()}});
      }
      return begun.size();
    }
    std::deque<Message>* wire = nullptr;
    std::deque<ReadUnderWay> reads;
    std::size_t reads_max = 0;
    const std::byte* second = nullptr;
    bool begun_for_second = false;
  };
  /// Knows what comes behind `piece`, which is an attachment.
  class Ahead final : public LandingsAhead {
   public:
    Ahead(Run& run, std::size_t piece) : run_(run), piece_(piece) {}
    std::uint64_t next(Bytes between) override {
      if (!std::ranges::equal(between, run_.expected_[piece_ + 1])) run_.wrong_ = "another head was shown";
      piece_ += 2;
      return piece_ < kPieces ? kAttachmentBytes : 0;
    }
    weft::detail::Landing place() override {
      const Lands lands = run_.lands_[piece_ / 2];
      if (lands == Lands::kNowhere) return weft::detail::Landing::skip();
      const MutableBytes memory{run_.memory_of(lands, piece_)};
      if (lands != Lands::kFirstRunKnown) return weft::detail::Landing::into(memory);
      for (std::size_t i = 0; i < blocks_.size(); ++i) {
        blocks_[i] = memory.subspan(i * kRunBytes, std::min(kRunBytes, memory.size() - i * kRunBytes));
      }
      return weft::detail::Landing::into(
          RunCursor<std::byte>{MemoryRuns<std::byte>{std::span<const MutableBytes>{blocks_}}}, memory.size());
    }

   private:
    Run& run_;
    std::size_t piece_;
    std::array<MutableBytes, (kAttachmentBytes + kRunBytes - 1) / kRunBytes> blocks_;
  };

  /// The piece at `position`, which becomes the position in it.
  static std::size_t piece_at(std::size_t& position) {
    std::size_t piece = 0;
    for (; piece < kPieces && position >= size_of(piece); ++piece) position -= size_of(piece);
    return piece;
  }
  static void collect(MessageProtocol& protocol, std::deque<Message>& wire) {
    while (const auto due = protocol.due()) {
      protocol.stamp(*due);
      wire.push_back({due->kind, due->value});
    }
  }

  // The sender.

  void consume(std::size_t bytes) {
    const std::size_t before = consumed_;
    consumed_ += bytes;
    std::size_t end = 0;
    for (std::size_t i = 0; i < kPieces; ++i) {
      end += size_of(i);
      // Who sent it may do with it what he likes now.
      if (is_attachment(i) && before < end && end <= consumed_) its_.sources[i / 2].fill(std::byte{0xDD});
    }
  }
  void send() {
    if (const std::size_t done = offered_.take_done(); done > 0) return consume(done);
    if (!offered_.goes_on()) return;
    std::size_t at = consumed_ + offered_.begun();
    const std::size_t piece = piece_at(at);
    if (piece == kPieces) return;
    const bool lent = is_attachment(piece) && !(taken_back_ && piece == kTakenBack);
    std::byte* const memory = lent ? its_.sources[piece / 2].data() : sent_from_[piece].data();
    // The second one is a list.
    const std::size_t run = lent && piece == kList ? kRunSent : size_of(piece);
    std::vector<iovec> next;
    for (std::size_t from = at; from < size_of(piece); from += next.back().iov_len) {
      next.push_back({memory + from, std::min(run - from % run, size_of(piece) - from)});
    }
    const std::size_t leased = lent ? next.front().iov_len : 0;
    if (const std::size_t pieces = offered_.takes(next, leased); pieces > 0) {
      offered_.offer(std::span{next}.first(pieces), leased);
      return;
    }
    to_receiver_.push_back({MessageKind::kBytes, 0, {memory + at, memory + size_of(piece)}});
    offered_.choice().copied(size_of(piece) - at);
    offered_.sent(size_of(piece) - at);
  }
  // The second head and the offer of what is behind it in one message.
  void join() {
    if (const std::size_t done = offered_.take_done(); done > 0) return consume(done);
    if (!offered_.goes_on()) return;
    std::size_t at = consumed_ + offered_.begun();
    const std::size_t piece = piece_at(at);
    if (piece + 1 != kList || at > 0 || taken_back_ || !offered_.choice().looks_ahead()) return;
    std::vector<iovec> next;
    for (std::size_t from = 0; from < kAttachmentBytes; from += kRunSent) {
      next.push_back({its_.sources[kList / 2].data() + from, kRunSent});
    }
    const std::size_t pieces = offered_.takes(next, next.front().iov_len);
    const iovec head{sent_from_[piece].data(), kHeadBytes};
    if (pieces == 0) return;
    if (offered_.offer(std::span{next}.first(pieces), next.front().iov_len, {{&head, 1}, kHeadBytes}))
      ++joined_;
  }
  void answer() {
    if (to_sender_.empty()) return;
    const Message message = to_sender_.front();
    to_sender_.pop_front();
    if (message.kind == MessageKind::kFetched) {
      fetched_ += message.value;
      offered_.fetched(message.value);
    } else {
      declined_ += message.value;
      offered_.declined(message.value);
    }
  }
  void withdraw() {
    if (withdrawn_ || !offered_.waits_for_answer()) return;
    withdrawn_ = true;
    offered_.withdraw({});
  }
  // The owner of the second attachment goes, and a copy is sent instead.
  void take_back() {
    if (taken_back_ || !withdrawn_ || offered_.waits_for_answer()) return;
    consume(offered_.take_back());
    taken_back_ = true;
    its_.sources[kTakenBack / 2].fill(std::byte{0xDD});
  }

  // The receiver.

  void arrive() {
    if (to_receiver_.empty()) return;
    const Message message = to_receiver_.front();
    to_receiver_.pop_front();
    switch (message.kind) {
      case MessageKind::kBytes:
        keep(message.bytes);
        break;
      case MessageKind::kOffer: {
        const std::size_t named = message.runs * verbs::RemoteMemory::kEncodedBytes;
        keep(Bytes{message.bytes}.first(message.bytes.size() - named));
        ++arrived_;
        offers_.offered(Bytes{message.bytes}.last(named));
        break;
      }
      case MessageKind::kAgain:
        offers_.comes_again();
        break;
      default:
        decline();
        offers_.withdrawn();
    }
  }
  void keep(Bytes bytes) {
    if (bytes.empty() || offers_.declining()) return;
    slots_.emplace_back(bytes.begin(), bytes.end());
    inbox_.add_bytes(static_cast<std::uint32_t>(slots_.size() - 1), kMessageHeaderBytes);
    ++arrived_;
  }
  void decline() {
    offers_.decline_what_waits([this](std::uint32_t) { ++dropped_; });
  }
  void receive() {
    if (inbox_.empty()) return;
    std::size_t at = received_;
    const std::size_t piece = piece_at(at);
    if (piece == kPieces) {
      wrong_ = "more came than was sent";
      return;
    }
    if (inbox_.begins_with(Inbox::Kind::kBytes)) {
      const std::vector<std::byte>& bytes = slots_[inbox_.pop_front().slot];
      if (at + bytes.size() > size_of(piece)) wrong_ = "bytes came that do not belong there";
      if (wrong_.empty()) take_in(piece, at, bytes);
      return;
    }
    if (!is_attachment(piece)) {
      wrong_ = "an offer came where a head belongs";
      return;
    }
    fetch(piece, at);
  }
  void fetch(std::size_t piece, std::size_t at) {
    const Lands lands = lands_[piece / 2];
    if (lands == Lands::kNowhere) {
      received_ += offers_.skip(kAttachmentBytes - at);
      return;
    }
    auto& memory = memory_of(lands, piece);
    std::vector<iovec> landing;
    std::size_t listed = at;
    while (listed < kAttachmentBytes && landing.size() < kRunsListed) {
      const bool in_runs = lands == Lands::kRuns || lands == Lands::kFirstRunKnown;
      const std::size_t run = in_runs ? kRunBytes - listed % kRunBytes : kAttachmentBytes;
      landing.push_back({&memory[listed], std::min(run, kAttachmentBytes - listed)});
      listed += landing.back().iov_len;
    }
    const auto moved = offers_.fetch(landing, listed == kAttachmentBytes);
    if (!moved) return decline();
    if (moved->kind != Moved::Kind::kSome) return;
    ++reported_reads_;
    take_in(piece, at, Bytes{memory}.subspan(at, moved->bytes));
  }
  std::array<std::byte, kAttachmentBytes>& memory_of(Lands lands, std::size_t piece) {
    if (lands == Lands::kPlain) return its_.plain[piece / 2];
    return lands == Lands::kFirstRunKnown ? its_.half_known[piece / 2] : its_.landings[piece / 2];
  }
  void take_in(std::size_t piece, std::size_t at, Bytes bytes) {
    if (!std::ranges::equal(bytes, Bytes{expected_[piece]}.subspan(at, bytes.size()))) {
      wrong_ = "other bytes came than were sent";
    }
    received_ += bytes.size();
  }
  void read_ahead() {
    std::size_t at = received_;
    const std::size_t piece = piece_at(at);
    const bool lands = piece < kPieces && is_attachment(piece) && lands_[piece / 2] != Lands::kNowhere;
    if (!lands || !inbox_.begins_with(Inbox::Kind::kOffer)) return;
    Ahead ahead{*this, piece};
    offers_.read_ahead(kAttachmentBytes - at, ahead,
                       [this](const Inbox::Arrival& message) { return Bytes{slots_[message.slot]}; });
  }
  // The call that waits for the second attachment goes, when the device does not write to its memory.
  void abandon() {
    if (abandoned_ || lands_[1] != Lands::kRegistered || offers_.reads_under_way()) return;
    if (received_ >= kTotal - kAttachmentBytes - kHeadBytes) return;
    abandoned_ = true;
    lands_[1] = Lands::kNowhere;
    its_.landings[1].fill(std::byte{0xEE});
  }
  void read() {
    if (queue_.reads.empty()) return;
    ++reads_done_;
    const ReadUnderWay read = queue_.reads.front();
    queue_.reads.pop_front();
    const auto* from = reinterpret_cast<const std::byte*>(read.from);
    for (const ibv_sge& piece : read.into) {
      std::memcpy(reinterpret_cast<std::byte*>(piece.addr), from, piece.length);
      from += piece.length;
    }
    offers_.on_read();
  }

  static constexpr std::size_t kTakenBack = 3;
  static constexpr std::size_t kList = 3;

  Machines& its_;
  std::array<Lands, kAttachments> lands_;
  Explored& explored_;
  std::array<std::vector<std::byte>, kPieces> expected_;
  std::array<std::vector<std::byte>, kPieces> sent_from_;
  std::deque<Message> to_receiver_;
  std::deque<Message> to_sender_;
  MessageProtocol sender_{kRules};
  MessageProtocol receiver_{kRules};
  Registrations::View view_{*its_.registrations};
  Queue queue_ = [this] {
    Queue made;
    made.wire = &to_receiver_;
    made.second = its_.landings[1].data();
    return made;
  }();
  OfferedBytes offered_{view_, queue_, sender_, {.bytes_min = kAttachmentBytes, .run_bytes_min = kRunSent}};
  Inbox inbox_{64};
  FetchedOffers offers_{inbox_, view_, queue_, receiver_, kRunsOfARead};
  std::vector<std::vector<std::byte>> slots_;
  std::size_t consumed_ = 0;
  std::size_t received_ = 0;
  std::size_t fetched_ = 0;
  std::size_t declined_ = 0;
  std::size_t joined_ = 0;
  std::size_t arrived_ = 0;
  std::size_t dropped_ = 0;
  std::size_t reported_reads_ = 0;
  std::size_t reads_done_ = 0;
  bool abandoned_ = false;
  bool withdrawn_ = false;
  bool taken_back_ = false;
  std::string wrong_;
};

const char* const kActionNames[] = {"send", "join",   "arrive",   "receive",   "read ahead",
                                    "read", "answer", "withdraw", "take back", "abandon"};

/// Walks through all that can become of these two attachments.
Explored explore(Machines& machines, std::array<Lands, kAttachments> lands, std::size_t reads_max) {
  Explored found;
  std::vector<Run::Action> all;
  for (int i = 0; i < static_cast<int>(Run::Action::kCount); ++i) all.push_back(static_cast<Run::Action>(i));
  found.states = testing::walk(all, SIZE_MAX, kActionNames,
                               [&] { return std::make_unique<Run>(machines, lands, reads_max, found); });
  return found;
}

TEST(VerbsOffersModel, InEveryOrderEverythingArrivesOnceAndNothingIsReadThatWasGivenBack) {
  Machines machines;
  constexpr std::array kFirst{Lands::kRegistered, Lands::kRuns, Lands::kPlain, Lands::kNowhere};
  constexpr std::array kSecond{Lands::kRegistered, Lands::kFirstRunKnown, Lands::kPlain, Lands::kNowhere};
  for (const Lands first : kFirst) {
    for (const Lands second : kSecond) {
      SCOPED_TRACE(static_cast<int>(first) * 10 + static_cast<int>(second));
      const bool lands_first = first == Lands::kRegistered || first == Lands::kRuns;
      const bool may_read_ahead = lands_first && second == Lands::kRegistered;
      // The second one is a list of two, which are read ahead while the first one is, if there are places.
      const Explored found = explore(machines, {first, second}, may_read_ahead ? 3 : 2);
      EXPECT_GT(found.states, 100u);
      EXPECT_EQ(found.ahead > 0, may_read_ahead);
      EXPECT_GT(found.joined, 100u);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace weft::detail::verbs_carrier
