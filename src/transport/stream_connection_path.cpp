// SPDX-License-Identifier: Apache-2.0
// What a StreamConnection does when its bytes may move to a data path, or have.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "transport/stream_connection.hpp"

namespace weft {

namespace {

// More than this is nobody's way to end a stream.
constexpr std::size_t kStrayBytesMax = 64;

}  // namespace

PathReport StreamConnection::path_report() const {
  if (path_ != nullptr) return {.description = path_->description()};
  if (switch_ != nullptr) return {.refusal = switch_->refusal()};
  return {};
}

FrameSink& StreamConnection::framer_sink() {
  return switch_ != nullptr && !switch_->decided() ? static_cast<FrameSink&>(*switch_) : *sink_;
}

Moved StreamConnection::receive_some(std::span<const iovec> into) {
  if (path_ == nullptr) return receive(into);
  Moved moved = path_->receive(into, framer_.landing());
  if (!stream_gone_) return moved;
  // Nobody will say again that there is more, or the end.
  moved.exhausted = false;
  return moved.kind == Moved::Kind::kBlocked ? Moved::ended() : moved;
}

Moved StreamConnection::send_some(std::span<const iovec> from) {
  if (path_ == nullptr) return send(from);
  return stream_gone_ ? Moved::failed(EPIPE) : path_->send(from, outbox_.leased_front());
}

Result<Buffer> StreamConnection::landing_memory(std::size_t bytes, std::shared_ptr<MemoryBudget> budget) {
  if (path_ != nullptr) {
    Buffer memory = path_->landing_memory(bytes);
    if (!memory.empty()) return Buffer::counted(std::move(memory), std::move(budget));
  }
  return Connection::landing_memory(bytes, std::move(budget));
}

bool StreamConnection::queue_path_frame(std::string_view frame) {
  std::byte* const room = outbox_.append(frame.size());
  if (room == nullptr) return false;
  std::copy_n(as_bytes(frame).begin(), frame.size(), room);
  // At once: the connection may end with it, and then it is what tells the peer why.
  send_what_is_queued();
  return true;
}

void StreamConnection::send_what_is_queued() {
  on_much_queued();
}

// On the stream the peer's next frame may lie behind its verdict. A path comes into use at the end of a turn,
// outside of what is being parsed, and behind our last word on the stream, which may still be queued.
void StreamConnection::on_path_decided() {
  framer_.go_singly(false);
  if (switch_->path() == nullptr) return stay_on_stream();
  moving_to_path_ = true;
  framer_.pause();
  loop_.at_turn_end(*this);
}

void StreamConnection::stay_on_stream() {
  switch_->shut();
  Status status = switch_->hand_up_hello(*sink_);
  if (!status.ok()) fail(std::move(status));
}

void StreamConnection::move_to_path() {
  moving_to_path_ = false;
  framer_.unpause();
  if (framer_.inside()) return fail(stray_bytes());
  path_ = switch_->path();
  write_blocked_ = false;
  outbox_.set_lease_bytes_min(path_->capabilities().lease_bytes_min);
  Status status = switch_->hand_up_hello(*sink_);
  if (!status.ok()) return fail(std::move(status));
  readable_ = true;
  schedule_work();
  // What happened to the stream meanwhile nobody will tell again.
  check_stream();
}

Status StreamConnection::stray_bytes() const {
  return {StatusCode::kInvalidArgument, Layer::kTransport,
          remote_endpoint() + " sent on the stream although its bytes go by another path"};
}

void StreamConnection::on_path_connected() {
  switch_->on_connected();
}

void StreamConnection::on_path_heard() {
  switch_->on_heard();
}

void StreamConnection::on_path_readable() {
  if (path_ != nullptr) receive_more();
}

void StreamConnection::on_path_writable() {
  if (path_ == nullptr || closing_) return;
  if (send_ended_) return end_if_due();
  if (std::exchange(write_blocked_, false)) flush();
}

void StreamConnection::on_path_failed(Status why) {
  if (path_ == nullptr && switch_ != nullptr && !switch_->decided())
    return switch_->on_failed(std::move(why));
  fail(std::move(why));
}

std::string StreamConnection::connected_to() const {
  return options_.paths->connecting ? remote_endpoint() : std::string{};
}

void StreamConnection::on_switch_failed(Status why) {
  fail(std::move(why));
}

void StreamConnection::on_take_back() noexcept {
  if (path_ == nullptr || shut_) return;
  const Moved moved = path_->reclaim_sending();
  if (moved.kind == Moved::Kind::kSome) outbox_.consume(moved.bytes);
  if (moved.kind == Moved::Kind::kFailed) fail(io_failure("taking memory back from ", moved.error));
}

// The stream has nothing to carry any more: what happens on it is the peer's end.
void StreamConnection::check_stream() {
  if (closing_ || stream_gone_) return;
  std::byte stray[kStrayBytesMax];
  const iovec place{stray, sizeof stray};
  const Moved moved = receive({&place, 1});
  if (moved.kind == Moved::Kind::kBlocked) return;
  if (moved.kind == Moved::Kind::kSome) return fail(stray_bytes());
  stream_gone_ = true;
  if (receive_ended_) return fail({});
  path_->catch_up();
  receive_more();
  if (closing_) return;
  if (moved.kind == Moved::Kind::kFailed) return fail(io_failure("the peer is gone: ", moved.error));
  // Whoever waits for what is queued to leave, and receives nothing meanwhile, would wait for ever: not every
  // path tells of a peer that takes nothing any more.
  if (!outbox_.empty()) fail(io_failure("the peer is gone: ", EPIPE));
}

}  // namespace weft
