// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "calls/gate/gate_pass.hpp"
#include "calls/landing/arriving_attachment.hpp"
#include "weft/detail/calls/terms/kept_body.hpp"
#include "weft/detail/calls/terms/pace.hpp"
#include "weft/detail/memory/arriving_buffer.hpp"
#include "weft/detail/transport/frame_sink.hpp"

namespace weft::detail {

class Admission;
class ArrivingCallsOwner;

/// A request that is served after its attachment has arrived: its frame, which it keeps, and the memory for
/// the attachment, charged for the arrived part. Notifies its owner of its end, and then deletes itself.
class ArrivingCall final : public ArrivingAttachment {
 public:
  /// The frame's body is kept in `kept`, or, when `chunk` is not null, there; `charge` bytes were taken of
  /// `admission` for it, which get back there.
  ArrivingCall(ArrivingCalls& calls, ArrivingCallsOwner& owner, Admission& admission, const Frame& frame,
               ChunkRef chunk, KeptBody kept, std::size_t charge, ArrivingBuffer attachment,
               Deadline deadline);
  ~ArrivingCall();

  const Frame& frame() const noexcept { return frame_; }
  wire::RequestView request() const noexcept { return wire::RequestView{frame_.header}; }
  /// Null when the body is not kept in its chunk.
  const ChunkRef& chunk() const noexcept { return chunk_; }
  /// Keeps the pass of the call; null when nothing in it is notified of the end.
  void keep_pass(OwnedPass pass) noexcept { pass_ = std::move(pass); }
  OwnedPass take_pass() noexcept { return std::move(pass_); }
  /// Rate that its caller wants for the attachment of the answer; zero: none.
  std::uint64_t answer_rate() const noexcept { return answer_rate_; }

 private:
  std::size_t announced() const noexcept override { return bytes(); }
  Landing place(std::size_t bytes) noexcept override {
    return Landing::into(attachment_.mutable_bytes().subspan(received(), bytes));
  }
  std::optional<Refusal> charge(std::size_t arrived) noexcept override;
  void on_whole() override;
  void want_answer_rate(std::uint64_t bytes_per_second) noexcept override {
    answer_rate_ = least_rate(answer_rate_, bytes_per_second);
  }
  void on_refused(const Refusal& refusal) override;
  void on_failed(const Status& failure) override;
  void on_given_up() override;
  void on_lost() noexcept override { delete this; }

  void release_charge() noexcept;

  ArrivingCallsOwner& owner_;
  Admission& admission_;
  Frame frame_;
  ChunkRef chunk_;
  KeptBody kept_;
  ArrivingBuffer attachment_;
  std::size_t charge_;
  OwnedPass pass_;
  std::uint64_t answer_rate_ = 0;
};

}  // namespace weft::detail
