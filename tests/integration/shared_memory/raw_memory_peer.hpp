// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "integration/raw_carrier_peer.hpp"
#include "transport/shared_memory/doorbell.hpp"
#include "transport/shared_memory/mapped_memory.hpp"
#include "transport/shared_memory/peer_bell.hpp"
#include "transport/shared_memory/ring_reader.hpp"
#include "transport/shared_memory/ring_writer.hpp"
#include "transport/shared_memory/side_words.hpp"

namespace weft::shared_memory_testing {

using namespace weft::detail;

/// A client by shared memory whose memory a test may fill with anything.
class RawMemoryPeer final : public carrier_testing::RawCarrierPeer {
 public:
  static constexpr std::size_t kRing = 4096;

  explicit RawMemoryPeer(const std::string& url)
      : RawCarrierPeer(url, wire::CarrierKind::kSharedMemory),
        own_(shared_memory::make_own_memory(kRing).value()) {
    new (own_.memory.words()) shared_memory::SideWords;
  }

  static std::string address(std::uint64_t ring_bytes = kRing) {
    std::string text(8, '\0');
    store_le(reinterpret_cast<std::byte*>(text.data()), ring_bytes);
    return text;
  }
  bool greet() { return RawCarrierPeer::greet(std::string(1, '\x01')); }
  /// Says an address, with copies of descriptors.
  bool say_address(const std::string& text, const std::vector<int>& passed) {
    const std::string frame = wire::encode_carrier_frame({wire::CarrierStep::kAddress, kind(), text});
    alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(int) * Descriptors::kMost)] = {};
    iovec piece{const_cast<char*>(frame.data()), frame.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (!passed.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(sizeof(int) * passed.size());
      cmsghdr* const part = CMSG_FIRSTHDR(&message);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(sizeof(int) * passed.size());
      std::memcpy(CMSG_DATA(part), passed.data(), sizeof(int) * passed.size());
    }
    return ::sendmsg(base().fd(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(frame.size());
  }
  bool say_address() { return say_address(address(), {own_.descriptor.get(), doorbell_.get()}); }
  /// Hears the server's address, and maps its memory.
  bool hear_address() {
    alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(int) * Descriptors::kMost)] = {};
    std::byte head[wire::kHeaderBytes];
    iovec piece{head, sizeof head};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (::recvmsg(base().fd(), &message, MSG_WAITALL | MSG_CMSG_CLOEXEC) !=
        static_cast<ssize_t>(sizeof head)) {
      return false;
    }
    const cmsghdr* const part = CMSG_FIRSTHDR(&message);
    if (part == nullptr || part->cmsg_len != CMSG_LEN(2 * sizeof(int))) return false;
    int passed[2];
    std::memcpy(passed, CMSG_DATA(part), sizeof passed);
    const Descriptor memory{passed[0]};
    server_doorbell_ = Descriptor{passed[1]};
    const wire::FrameHeader header = wire::load_header(head);
    const std::uint64_t rest = wire::head_bytes(header.body_bytes, false) - wire::kHeaderBytes;
    const auto body = base().receive(rest);
    if (!body) return false;
    const auto said = wire::decode_carrier_body(as_bytes(*body).first(header.body_bytes));
    if (!said.ok() || said->step != wire::CarrierStep::kAddress || said->text.size() != 8) return false;
    const auto bytes = load_le<std::uint64_t>(as_bytes(said->text).data());
    auto mapped = shared_memory::map_peer_memory(memory, bytes);
    if (!mapped.ok()) return false;
    server_ = *std::move(mapped);
    bell_.emplace(*reinterpret_cast<const shared_memory::SideWords*>(server_.words()), server_doorbell_);
    writer_.emplace(own_.memory, server_, *bell_);
    reader_.emplace(own_.memory, server_, *bell_);
    return true;
  }
  /// Both sides decide for shared memory.
  bool come_up() {
    if (!greet() || !say_address() || !hear_address()) return false;
    writer_->go_up();
    return say(wire::CarrierStep::kUp) && hear(wire::CarrierStep::kUp).has_value();
  }
  void write(std::string_view bytes) {
    const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
    writer_->write({&piece, 1});
  }
  /// Wakes the server, whether it sleeps or not.
  void ring() { shared_memory::ring(server_doorbell_); }

  shared_memory::SideWords& words() {
    return *reinterpret_cast<shared_memory::SideWords*>(own_.memory.words());
  }
  MutableBytes own_ring() { return own_.memory.ring(); }
  int memory() const { return own_.descriptor.get(); }
  int doorbell() const { return doorbell_.get(); }
  shared_memory::RingWriter& writer() { return *writer_; }
  shared_memory::RingReader& reader() { return *reader_; }

 private:
  const shared_memory::OwnMemory own_;
  const Descriptor doorbell_ = shared_memory::make_doorbell().value();
  shared_memory::MappedMemory server_;
  Descriptor server_doorbell_;
  std::optional<shared_memory::PeerBell> bell_;
  std::optional<shared_memory::RingWriter> writer_;
  std::optional<shared_memory::RingReader> reader_;
};

}  // namespace weft::shared_memory_testing
