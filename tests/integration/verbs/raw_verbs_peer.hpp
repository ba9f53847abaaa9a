// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "integration/raw_carrier_peer.hpp"
#include "transport/message_header.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/verbs.hpp"

namespace weft::verbs_testing {

using namespace weft::detail;

/// A client of verbs:// that is made of a socket and of a queue pair, and says what a test wants, whether it
/// has credit for it or not. Every message that comes gets a new receive.
class RawVerbsPeer final : public carrier_testing::RawCarrierPeer, private verbs::CompletionHandler {
 public:
  using Kind = MessageKind;
  static constexpr std::uint32_t kReceives = 64;
  static constexpr std::size_t kMessageBytes = 32 * 1024;
  static constexpr std::uint32_t kMessageBytesSaid = 16 * 1024;

  RawVerbsPeer(const std::string& url, verbs::Driver& driver, Loop& loop)
      : RawCarrierPeer(url, wire::CarrierKind::kVerbs), driver_(driver), loop_(loop) {}
  ~RawVerbsPeer() { base().close(); }

  bool greet(const std::string& offer = {static_cast<char>(kMessageVersion)}) {
    return RawCarrierPeer::greet(offer);
  }
  /// Takes the server's address, and makes the queue pair.
  bool open() {
    const auto said = hear(wire::CarrierStep::kAddress);
    if (!said || said->size() != verbs::AddressInfo::kEncodedBytes + 8) return false;
    const Bytes bytes = as_bytes(*said);
    const auto info = verbs::AddressInfo::decode(bytes.first(verbs::AddressInfo::kEncodedBytes));
    if (!info.ok()) return false;
    server_ = *info;
    credit_ = weft::detail::load_le<std::uint32_t>(bytes.data() + verbs::AddressInfo::kEncodedBytes + 4);
    return make_queue_pair();
  }
  std::string address() const { return address_with(kMessageBytesSaid, kReceives / 2); }
  std::string address_with(std::uint32_t message_bytes, std::uint32_t granted) const {
    const auto encoded = pair_->address().encode();
    std::string text{as_text(encoded)};
    text.resize(encoded.size() + 8);
    auto* const at = reinterpret_cast<std::byte*>(text.data()) + encoded.size();
    weft::detail::store_le(at, message_bytes);
    weft::detail::store_le(at + 4, granted);
    return text;
  }
  /// Both queue pairs are connected, and both sides know.
  bool connect() {
    return say(wire::CarrierStep::kAddress, address()) && pair_->connect(server_).ok() &&
           hear(wire::CarrierStep::kReady) && say(wire::CarrierStep::kReady);
  }
  /// All of it, as an honest peer does: the carrier is up afterwards.
  bool come_up() {
    if (!greet() || !open() || !connect()) return false;
    send(MessageKind::kProbe);
    return progress_until([this] { return received_ > 0; }) && hear(wire::CarrierStep::kUp) &&
           say(wire::CarrierStep::kUp);
  }

  MessageHeader header(MessageKind kind) const { return {kind, kReceives / 2 + received_, 0, sent_}; }
  void send(MessageKind kind, std::string_view bytes = {}) { send(header(kind), bytes); }
  void send(const MessageHeader& its, std::string_view bytes = {}) {
    std::string text(kMessageHeaderBytes, '\0');
    store_message_header(reinterpret_cast<std::byte*>(text.data()), its);
    send_text(text.append(bytes));
  }
  /// Any bytes for a message.
  void send_text(std::string_view message) {
    progress_until([this] { return sent_ - completed_ < kSlots || lost_; });
    std::byte* const at = sends_->memory().data() + sent_ % kSlots * kMessageBytes;
    std::memcpy(at, message.data(), message.size());
    ibv_sge piece{reinterpret_cast<std::uintptr_t>(at), static_cast<std::uint32_t>(message.size()),
                  sends_->memory().block()->registration()->lkey};
    ibv_send_wr request{};
    request.wr_id = completions_->id_for(place_, kSendCookie);
    request.sg_list = &piece;
    request.num_sge = message.empty() ? 0 : 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* refused = nullptr;
    if (ibv_post_send(pair_->handle(), &request, &refused) == 0) ++sent_;
  }
  /// Sends `count` messages of one byte, at most kSlots, which the device is given at once. Waits until it is
  /// done with them.
  void send_many(std::uint32_t count) {
    progress_until([this] { return sent_ == completed_ || lost_; });
    std::vector<ibv_sge> pieces(count);
    std::vector<ibv_send_wr> requests(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::byte* const at = sends_->memory().data() + i % kSlots * kMessageBytes;
      MessageHeader its = header(MessageKind::kBytes);
      its.sequence += i;
      store_message_header(at, its);
      pieces[i] = {reinterpret_cast<std::uintptr_t>(at), kMessageHeaderBytes + 1,
                   sends_->memory().block()->registration()->lkey};
      ibv_send_wr& request = requests[i];
      request.wr_id = completions_->id_for(place_, kSendCookie);
      request.next = &request == &requests.back() ? nullptr : &request + 1;
      request.sg_list = &pieces[i];
      request.num_sge = 1;
      request.opcode = IBV_WR_SEND;
      request.send_flags = IBV_SEND_SIGNALED;
    }
    ibv_send_wr* refused = nullptr;
    if (ibv_post_send(pair_->handle(), requests.data(), &refused) == 0) sent_ += count;
    progress_until([this] { return sent_ == completed_ || lost_; });
  }
  bool lost() const { return lost_; }
  /// Returns how many messages the server said it takes; what came since is not counted.
  std::uint32_t credit() const { return credit_; }
  std::uint32_t sent() const { return sent_; }

  template <typename Condition>
  bool progress_until(Condition condition) {
    return turn_until_here(condition, [this] {
      if (completions_ != nullptr) completions_->poll();
    });
  }
  /// The server has ended the connection.
  bool dismissed() {
    return progress_until([this] { return stream_has_ended(); });
  }

 private:
  static constexpr std::uint32_t kSlots = 32;
  static constexpr std::uint32_t kSendCookie = kReceives;

  bool make_queue_pair() {
    auto device = verbs::Device::open({}, driver_);
    auto domain = verbs::ProtectionDomain::create(device.value());
    completions_ = verbs::CompletionQueue::create(loop_, device.value(), {.entries = 256}).value();
    place_ = completions_->add(*this);
    verbs::QueuePairOptions options;
    options.port = device.value()->active_port().value().number;
    options.receives_max = kReceives;
    options.inline_bytes = 0;
    pair_ = verbs::QueuePair::create(domain.value(), *completions_, options).value();
    sends_.emplace(verbs::MemoryRegion::allocate(domain.value(), kSlots * kMessageBytes).value());
    receives_.emplace(verbs::MemoryRegion::allocate(domain.value(), kReceives * kMessageBytesSaid).value());
    for (std::uint32_t i = 0; i < kReceives; ++i) post_receive(i);
    return true;
  }
  void post_receive(std::uint32_t slot) noexcept {
    ibv_sge piece{
        reinterpret_cast<std::uintptr_t>(receives_->memory().data() + std::size_t{slot} * kMessageBytesSaid),
        kMessageBytesSaid, receives_->memory().block()->registration()->lkey};
    ibv_recv_wr request{};
    request.wr_id = completions_->id_for(place_, slot);
    request.sg_list = &piece;
    request.num_sge = 1;
    ibv_recv_wr* refused = nullptr;
    static_cast<void>(ibv_post_recv(pair_->handle(), &request, &refused));
  }
  void on_completion(std::uint32_t cookie, const ibv_wc& completion) noexcept override {
    if (cookie == kSendCookie) ++completed_;
    if (completion.status != IBV_WC_SUCCESS) {
      lost_ = true;
    } else if (cookie != kSendCookie) {
      ++received_;
      post_receive(cookie);
    }
  }

  verbs::Driver& driver_;
  Loop& loop_;
  verbs::AddressInfo server_;
  std::uint32_t credit_ = 0;
  std::unique_ptr<verbs::CompletionQueue> completions_;
  std::uint32_t place_ = 0;
  std::optional<verbs::MemoryRegion> sends_;
  std::optional<verbs::MemoryRegion> receives_;
  std::unique_ptr<verbs::QueuePair> pair_;
  std::uint32_t sent_ = 0;
  std::uint32_t completed_ = 0;
  std::uint32_t received_ = 0;
  bool lost_ = false;
};

}  // namespace weft::verbs_testing
