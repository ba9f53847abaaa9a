// SPDX-License-Identifier: Apache-2.0
#include "transport/shared_memory/shared_memory_carrier.hpp"

#include <fcntl.h>

#include <bit>
#include <cerrno>
#include <new>
#include <utility>

#include "transport/shared_memory/doorbell.hpp"
#include "transport/shared_memory/limits.hpp"
#include "weft/detail/base/bytes.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::shared_memory {

namespace {

// As for sockets: longer runs are copied once, from their place into the ring.
constexpr std::size_t kLeaseBytesMin = 16 * 1024;
// The same as over TCP.
constexpr std::size_t kLonePieceBytes = 1024 * 1024;

constexpr Capabilities kCapabilities{.name = "shared memory",
                                     .lease_bytes_min = kLeaseBytesMin,
                                     .lone_piece_bytes = kLonePieceBytes,
                                     .peer_may_vanish = true,
                                     .gathers = true,
                                     .lends_runs = true};

// An address is the size of the ring, and two descriptors pass with it: the memory, then the doorbell.
constexpr std::size_t kAddressBytes = 8;
constexpr std::size_t kMemoryIndex = 0;
constexpr std::size_t kDoorbellIndex = 1;
static_assert(kDescriptorsPassed == kDoorbellIndex + 1);

constexpr FixedFailure kPeerLies{StatusCode::kInvalidArgument, Layer::kTransport, Retry::kReconnect,
                                 "the peer's counts in shared memory cannot be true"};

Status wrong(const char* why) {
  return {StatusCode::kInvalidArgument, Layer::kTransport, why};
}

std::size_t total_of(std::span<const iovec> pieces) {
  std::size_t total = 0;
  for (const iovec& piece : pieces) total += piece.iov_len;
  return total;
}

Result<Descriptor> copy_of(const Descriptor& descriptor) {
  Descriptor copy{::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 0)};
  if (!copy) return errno_status(Layer::kTransport, "copying a doorbell's descriptor", errno);
  return copy;
}

}  // namespace

SharedMemoryCarrier::SharedMemoryCarrier(Loop& loop, CarrierEndOwner& owner, std::size_t ring_bytes)
    : loop_(loop), bring_up_(&owner), ring_bytes_(ring_bytes), rings_(LoopRings::of(loop)) {
  tell_company();  // the connection does, by its frames
  report_to(owner);
}

SharedMemoryCarrier::~SharedMemoryCarrier() {
  shut();
}

Status SharedMemoryCarrier::make() {
  auto memory = make_own_memory(ring_bytes_);
  if (!memory.ok()) return memory.status();
  auto doorbell = make_doorbell();
  if (!doorbell.ok()) return doorbell.status();
  if (auto watched = loop_.watch(*this, doorbell->get()); !watched.ok()) return watched.status();
  doorbell_ = *std::move(doorbell);
  own_ = std::move(memory->memory);
  own_file_ = std::move(memory->descriptor);
  sleep_.emplace(*new (own_.words()) SideWords);
  return {};
}

std::string SharedMemoryCarrier::address() const {
  std::string text(kAddressBytes, '\0');
  store_le(reinterpret_cast<std::byte*>(text.data()), std::uint64_t{ring_bytes_});
  return text;
}

// Without a copy of the doorbell the peer has too few descriptors, and says so.
Descriptors SharedMemoryCarrier::descriptors() {
  Descriptors ours;
  ours.add(std::move(own_file_));
  if (auto copy = copy_of(doorbell_); copy.ok()) ours.add(*std::move(copy));
  return ours;
}

Status SharedMemoryCarrier::take_descriptors(Descriptors theirs) {
  if (theirs.size() != kDescriptorsPassed) {
    return wrong("the peer's memory and doorbell did not arrive: a limit on descriptors may be exhausted");
  }
  peer_file_ = std::move(theirs[kMemoryIndex]);
  peer_doorbell_ = std::move(theirs[kDoorbellIndex]);
  return check_doorbell(peer_doorbell_);
}

Status SharedMemoryCarrier::connect(std::string_view peer_address) {
  if (peer_address.size() != kAddressBytes) return wrong("the peer's address of shared memory is cut short");
  const auto ring_bytes = load_le<std::uint64_t>(as_bytes(peer_address).data());
  if (!std::has_single_bit(ring_bytes) || ring_bytes < kRingBytesMin || ring_bytes > kRingBytesMax) {
    return wrong("the peer's ring has an impossible size");
  }
  auto peer = map_peer_memory(peer_file_, static_cast<std::size_t>(ring_bytes));
  if (!peer.ok()) return peer.status();
  if (!own_) {
    if (Status none = make(); !none.ok()) return none;
  }
  peer_ = *std::move(peer);
  peer_file_ = {};
  bell_.emplace(*reinterpret_cast<const SideWords*>(peer_.words()), peer_doorbell_);
  writer_.emplace(own_, peer_, *bell_);
  reader_.emplace(own_, peer_, *bell_);
  writer_->go_up();
  wake();
  return {};
}

const Capabilities& SharedMemoryCarrier::capabilities() const {
  return kCapabilities;
}

std::string SharedMemoryCarrier::description() const {
  return "rings of " + std::to_string(own_.ring().size() / 1024) + " KiB out and " +
         std::to_string(peer_.ring().size() / 1024) + " KiB in";
}

Moved SharedMemoryCarrier::receive(std::span<const iovec> into, std::span<const iovec>) {
  if (!is_usable()) return Moved::failed(EPIPE);
  const std::size_t bytes = reader_->read(into);
  wake();
  if (bytes > 0) return Moved::some(bytes, !reader_->has_ended() && bytes < total_of(into));
  return reader_->has_ended() && !reader_->peer_lies() ? Moved::ended() : Moved::blocked();
}

std::size_t SharedMemoryCarrier::skip(std::size_t bytes) {
  return is_usable() ? reader_->skip(bytes) : 0;
}

Moved SharedMemoryCarrier::send(std::span<const iovec> from, std::size_t) {
  if (!is_usable()) return Moved::failed(EPIPE);
  const std::size_t bytes = writer_->write(from);
  wants_room_ = bytes < total_of(from);
  wake();
  return bytes > 0 ? Moved::some(bytes, wants_room_) : Moved::blocked();
}

// Written bytes stay in the memory that the peer has mapped, so nothing is lost when this side ends.
void SharedMemoryCarrier::end_sending() {
  if (is_usable()) writer_->end();
}

void SharedMemoryCarrier::shut() {
  if (std::exchange(over_, true)) return;
  loop_.unschedule(report_);
  Member::unlink();
  loop_.unwatch(*this);
  writer_.reset();
  reader_.reset();
  own_ = {};
  peer_ = {};
  doorbell_ = {};
  peer_doorbell_ = {};
  rings_.reset();
}

void SharedMemoryCarrier::on_ready(Readiness) {
  if (is_usable()) wake();
}

void SharedMemoryCarrier::wake() noexcept {
  if (is_awake() || failed_) return;
  sleep_->awake();
  rings_->add_awake(*this);
}

// The peer may lie at any time, so that is looked for here too.
bool SharedMemoryCarrier::look() noexcept {
  bool news = false;
  if (reader_->has_news()) news = readable_ = true;
  if (wants_room_ && writer_->has_room_to_go_on()) {
    wants_room_ = false;
    news = writable_ = true;
  }
  if (reader_->peer_lies() || writer_->peer_lies()) [[unlikely]] {
    news = true;
  }
  if (news && !report_.is_scheduled()) loop_.schedule(report_);
  return news;
}

bool SharedMemoryCarrier::try_sleep() noexcept {
  sleep_->announce(wants_room_);
  if (!look()) return true;
  sleep_->awake();
  return false;
}

void SharedMemoryCarrier::report() {
  if (reader_->peer_lies() || writer_->peer_lies()) {
    // Looked at no more: the owner may take its time, and a look would find the same each turn.
    failed_ = true;
    Member::unlink();
    return owner().on_failed(Status::of<kPeerLies>());
  }
  if (bring_up_ != nullptr && reader_->peer_is_up()) std::exchange(bring_up_, nullptr)->on_heard();
  if (!over_ && std::exchange(readable_, false)) owner().on_readable();
  if (!over_ && std::exchange(writable_, false)) owner().on_writable();
}

}  // namespace weft::detail::shared_memory
