// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/arriving_answer.hpp"
#include "weft/detail/calls/call_options.hpp"
#include "weft/detail/calls/outgoing_transfer.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/transport/frame_sink.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

class ClientPass;
class LocalBudget;
class Session;

/// State of a call that was given options, kept apart so that the others need not carry it: the options, the
/// attachment on its way out, and the one that came with the answer.
class CallDetails {
 public:
  CallDetails(const CallOptions& its, bool gives) : options(its), returns_attachment(gives) {
    if (options.progress != nullptr) [[unlikely]] {
      begin_progress();
    }
  }
  /// Details of a call that was begun without, which are gone when it has ended or was given up. Null when
  /// memory is out.
  static CallDetails* make_own() noexcept;
  /// Copies them before the call begins.
  CallDetails(const CallDetails& other) : CallDetails(other.options, other.returns_attachment) {}
  CallDetails& operator=(const CallDetails&) = delete;

  /// The attachment on its way to the peer.
  OutgoingTransfer& attachment() { return attachment_; }
  const OutgoingTransfer& attachment() const { return attachment_; }
  /// Attachment of the answer, when that comes in pieces.
  ArrivingAnswer& arriving() { return arriving_; }

  /// The call's time is its target's default.
  bool has_default_time() const noexcept {
    return options.timeout == Duration::zero() && options.deadline.is_infinite();
  }
  /// False when nobody asked for the attachment of the answer: it is read and dropped.
  bool wants_attachment() const { return returns_attachment || !options.landing.empty(); }
  /// Chooses the place of an attachment of `bytes`, the same again when it lands_ahead; where there is none,
  /// take_landing_refusal() says why.
  Landing land(std::size_t bytes, Session& session);
  /// Returns the reason for which the last attachment was not given a place, once.
  Status take_landing_refusal();

  /// It is about to be queued on `loop`, with its attachment begun if it has one. Of those that have a
  /// progress that no other call has taken.
  void run_on(Loop& loop);
  /// The call has left, and may yet be told its outcome: the user's progress may end, or count for another.
  void left() noexcept {
    if (has_progress_) give_progress_back();
  }
  /// Outcome of a call for which nobody waits any more.
  static constexpr FixedFailure kGivenUp{StatusCode::kCancelled, Layer::kRpc, Retry::kNever,
                                         "the caller gave up"};
  /// The call has ended. These details may be gone afterwards, if they are its own or those of its pass.
  void ended(const Status& outcome) noexcept {
    left();
    if (pass_ != nullptr || is_own_) [[unlikely]] {
      end_rarely(outcome);
    }
  }
  /// The call passes interceptors: `pass` hears of its end.
  void pass_by(ClientPass& pass) noexcept { pass_ = &pass; }
  bool has_pass() const noexcept { return pass_ != nullptr; }
  /// The call is begun once more, after a connection that was lost: of that one nothing is left.
  void begin_again() noexcept;
  /// The attachment of the answer has `bytes` and has its place; and how much of it is there.
  void expect(std::uint64_t bytes) const noexcept {
    if (options.progress != nullptr) progress_expects(bytes);
  }
  void received(std::uint64_t bytes) const noexcept {
    if (options.progress != nullptr) progress_received(bytes);
  }
  void all_received(std::size_t bytes) noexcept;
  /// The handler succeeded, with an answer of `body_bytes`.
  void served(std::size_t body_bytes) const noexcept;

  CallOptions options;
  /// True if the awaiting side can be given the answer's attachment.
  bool returns_attachment;
  /// False when the body was written and is there no more: such a call cannot begin again.
  bool keeps_body = true;
  /// The answer's attachment may be on its way to its place, though it is not its turn to be received.
  bool lands_ahead = false;
  /// The answer's attachment: in the caller's buffer if one was named, else in this.
  std::size_t answer_attachment_bytes = 0;
  Buffer answer_attachment;

 private:
  struct RequestTransfer final : OutgoingTransfer {};

  bool make_short(std::size_t bytes, LocalBudget& budget);
  void begin_progress() const;
  void give_progress_back() noexcept;
  [[gnu::cold]] void end_rarely(const Status& outcome) noexcept;
  void progress_expects(std::uint64_t bytes) const noexcept;
  void progress_received(std::uint64_t bytes) const noexcept;

  RequestTransfer attachment_;
  ArrivingAnswer arriving_;
  bool has_progress_ = false;
  bool is_own_ = false;
  /// Null when the call passes no interceptors, or has ended.
  ClientPass* pass_ = nullptr;
  Status landing_refusal_;
};

}  // namespace weft::detail
