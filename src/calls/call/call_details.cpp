// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/call/call_details.hpp"

#include <new>
#include <utility>

#include "calls/call/client_pass.hpp"
#include "calls/sending/session_link.hpp"
#include "calls/terms/call_status.hpp"
#include "weft/detail/calls/terms/transfer_progress.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

CallDetails* CallDetails::make_own() noexcept {
  auto* const details = new (std::nothrow) CallDetails(CallOptions{}, false);
  if (details != nullptr) details->is_own_ = true;
  return details;
}

void CallDetails::begin_progress() const {
  if (!options.progress->is_taken()) options.progress->begin(options.attachment.bytes());
}

void CallDetails::run_on(Loop& loop) {
  begin_progress();
  options.progress->set_taken(true);
  has_progress_ = true;
  options.progress->run_on(loop);
  const std::size_t bytes = attachment_.bytes_left();
  if (bytes != 0) options.progress->marks().begin(attachment_, bytes, options.progress);
}

// A pass has details of its own where the call had none, so these are one or the other.
void CallDetails::end_rarely(const Status& outcome) noexcept {
  if (is_own_) {
    delete this;
  } else {
    std::exchange(pass_, nullptr)->end(outcome, answer_metadata());
  }
}

void CallDetails::begin_again() noexcept {
  left();
  metadata_.reset();
  lost_metadata_ = false;
  answer_attachment = Buffer{};
  answer_attachment_bytes = 0;
  lands_ahead = false;
}

// The first failure counts, and later metadata are dropped. A body over the limit is not received.
void CallDetails::take_metadata(const Frame& frame, LocalBudget& memory) noexcept {
  if (lost_metadata_) return;
  if (metadata_ == nullptr) metadata_.reset(new (std::nothrow) ArrivedMetadata);
  if (metadata_ == nullptr) {
    lost_metadata_ = true;
    return;
  }
  if (frame.body.size() != frame.header.body_bytes) {
    metadata_->failure = over_limit("the metadata of the answer", frame.header.body_bytes,
                                    wire::kMetadataBytesMax, "the protocol's", {});
  } else {
    const bool initial = wire::AnswerMetadataView{frame.header}.is_initial();
    metadata_->failure = metadata_->pairs.take(frame.body, initial, memory);
  }
  lost_metadata_ = !metadata_->failure.ok();
}

void CallDetails::give_progress_back() noexcept {
  has_progress_ = false;
  options.progress->set_taken(false);
}

void CallDetails::progress_expects(std::uint64_t bytes) const noexcept {
  options.progress->expect(bytes);
}

void CallDetails::progress_received(std::uint64_t bytes) const noexcept {
  options.progress->count_received(bytes);
}

void CallDetails::all_received(std::size_t bytes) noexcept {
  answer_attachment_bytes = bytes;
  if (options.progress != nullptr) options.progress->all_received();
}

// A handler that ran with its whole attachment is a better witness than a device that says it later.
void CallDetails::served(std::size_t body_bytes) const noexcept {
  if (pass_ != nullptr) pass_->answered(body_bytes);
  if (options.progress != nullptr && !attachment_.is_taken_early()) options.progress->all_sent();
}

Landing CallDetails::land(std::size_t bytes, SessionLink& link) {
  if (!landing_refusal_.ok()) [[unlikely]] {
    landing_refusal_ = Status{};
  }
  if (const std::size_t room = options.landing.bytes(); room != 0) [[likely]] {
    if (bytes <= room) return Landing::into(RunCursor<std::byte>{options.landing}, bytes);
    landing_refusal_ = over_limit("an answer's attachment", bytes, room, "the caller's landing buffer's",
                                  "name a longer CallOptions::landing");
    return Landing::skip();
  }
  if (lands_ahead) return Landing::into(answer_attachment.mutable_bytes());
  const RpcLimits& limits = link.limits();
  if (bytes > limits.unrequested_attachment_bytes_max) {
    landing_refusal_ = over_limit("an answer's attachment", bytes, limits.unrequested_attachment_bytes_max,
                                  "the unrequested attachment", kNameLanding);
    return Landing::skip();
  }
  const bool is_short = link.connection().capabilities().comes_whole(bytes);
  if (is_short && make_short(bytes, link.memory())) {
    return Landing::into(answer_attachment.mutable_bytes());
  }
  Result<Buffer> buffer = link.connection().landing_memory(bytes);
  if (buffer.ok()) buffer = Buffer::counted(std::move(*buffer), link.memory().shared());
  if (!buffer.ok()) {
    landing_refusal_ = std::move(buffer).status().with_context("an answer's attachment (process_memory_max)");
    return Landing::skip();
  }
  answer_attachment = std::move(*buffer);
  return Landing::into(answer_attachment.mutable_bytes());
}

// A short attachment arrives whole, through a chunk, so registered memory would gain nothing.
bool CallDetails::make_short(std::size_t bytes, LocalBudget& budget) {
  if (!budget.try_reserve(bytes)) return false;
  try {
    answer_attachment = Buffer::short_block(bytes, budget.shared());
    return true;
  } catch (const std::bad_alloc&) {
    budget.release(bytes);
    return false;
  }
}

Status CallDetails::take_landing_refusal() {
  if (landing_refusal_.ok()) return {StatusCode::kInternal, Layer::kRpc, "an attachment did not land"};
  return std::exchange(landing_refusal_, Status{});
}

}  // namespace weft::detail
