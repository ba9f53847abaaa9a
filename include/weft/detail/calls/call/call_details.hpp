// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/call/arriving_answer.hpp"
#include "weft/detail/calls/sending/outgoing_transfer.hpp"
#include "weft/detail/calls/terms/answer_metadata.hpp"
#include "weft/detail/calls/terms/call_options.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/transport/frame_sink.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

class ClientPass;
class LocalBudget;
class SessionLink;

/// State that only calls with options need: the options, the attachment of the request, and the attachment of
/// the answer.
class CallDetails {
 public:
  CallDetails(const CallOptions& its, bool gives) : options(its), returns_attachment(gives) {
    if (options.progress != nullptr) [[unlikely]] {
      begin_progress();
    }
  }
  /// Makes details for a call that was begun without any; they are destroyed when the call has ended or was
  /// abandoned. Null when memory is exhausted.
  static CallDetails* make_own() noexcept;
  /// May only be copied before the call begins.
  CallDetails(const CallDetails& other) : CallDetails(other.options, other.returns_attachment) {}
  CallDetails& operator=(const CallDetails&) = delete;

  /// The attachment of the request.
  OutgoingTransfer& attachment() { return attachment_; }
  const OutgoingTransfer& attachment() const { return attachment_; }
  /// Attachment of the answer, when it arrives in pieces.
  ArrivingAnswer& arriving() { return arriving_; }

  /// Returns true if the call uses the default timeout of its target.
  bool has_default_time() const noexcept {
    return options.timeout == Duration::zero() && options.deadline.is_infinite();
  }
  /// Returns false if the caller did not ask for the attachment of the answer: it is received and dropped.
  bool wants_attachment() const { return returns_attachment || !options.landing.empty(); }
  /// Chooses the memory for an attachment of `bytes`; returns the same memory again when lands_ahead is set.
  /// When there is no memory, take_landing_refusal() returns the reason.
  Landing land(std::size_t bytes, SessionLink& link);
  /// Returns, once, the reason why the last attachment got no memory.
  Status take_landing_refusal();

  /// Prepares the call to be queued on `loop`, after its attachment was begun if it has one. Only for details
  /// with a progress that no other call uses.
  void run_on(Loop& loop);
  /// Detaches the user's progress object: the call is over for the peer, although its outcome may not be
  /// delivered yet. The object may be destroyed, or used for another call.
  void left() noexcept {
    if (has_progress_) give_progress_back();
  }
  /// Outcome of a call that its caller has abandoned.
  static constexpr FixedFailure kGivenUp{StatusCode::kCancelled, Layer::kRpc, Retry::kNever,
                                         "the caller gave up"};
  /// Reports the end of the call. These details may be destroyed by it, if they own themselves or belong to
  /// their pass.
  void ended(const Status& outcome) noexcept {
    left();
    if (pass_ != nullptr || is_own_) [[unlikely]] {
      end_rarely(outcome);
    }
  }
  /// The call passes interceptors: `pass` is notified of its end.
  void pass_by(ClientPass& pass) noexcept { pass_ = &pass; }
  bool has_pass() const noexcept { return pass_ != nullptr; }
  /// Resets the state that belonged to a lost connection, before the call begins again.
  void begin_again() noexcept;
  /// Report to the progress that the attachment of the answer has `bytes` and a place in memory, and how much
  /// of it has arrived.
  void expect(std::uint64_t bytes) const noexcept {
    if (options.progress != nullptr) progress_expects(bytes);
  }
  void received(std::uint64_t bytes) const noexcept {
    if (options.progress != nullptr) progress_received(bytes);
  }
  void all_received(std::size_t bytes) noexcept;
  /// The handler succeeded, with an answer body of `body_bytes`.
  void served(std::size_t body_bytes) const noexcept;

  /// Keeps metadata of the answer; `memory` pays for them. If that fails, so does the call.
  void take_metadata(const Frame& frame, LocalBudget& memory) noexcept;
  /// Returns true if metadata of the answer arrived that could not be kept; metadata_failure() says why.
  bool lacks_metadata() const noexcept { return lost_metadata_; }
  Status metadata_failure() const {
    return metadata_ != nullptr ? metadata_->failure : Status::of<kOutOfMemory>();
  }
  /// Returns the metadata that have arrived.
  AnswerMetadata answer_metadata() const {
    return metadata_ != nullptr ? metadata_->pairs : AnswerMetadata{};
  }
  /// Copies the metadata that have arrived, or none, to the caller's object, if there is one.
  void show_metadata() const noexcept {
    if (options.answer_metadata != nullptr) *options.answer_metadata = answer_metadata();
  }

  CallOptions options;
  /// True if the awaiting coroutine can receive the answer's attachment.
  bool returns_attachment;
  /// False if the body was written and has been destroyed since: such a call cannot begin again.
  bool keeps_body = true;
  /// The answer's attachment may be arriving at its place already, before its turn to be received.
  bool lands_ahead = false;
  /// The answer's attachment: in the caller's buffer if there is one, otherwise in this Buffer.
  std::size_t answer_attachment_bytes = 0;
  Buffer answer_attachment;

 private:
  struct ArrivedMetadata {
    AnswerMetadata pairs;
    Status failure;
  };
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
  /// Null until some arrived.
  std::unique_ptr<ArrivedMetadata> metadata_;
  /// Metadata have arrived that are not in `metadata_`.
  bool lost_metadata_ = false;
};

}  // namespace weft::detail
