// SPDX-License-Identifier: Apache-2.0
#include "weft/calls/call_context.hpp"

#include <utility>

#include "calls/calls_in.hpp"
#include "calls/session.hpp"
#include "weft/calls/method_entry.hpp"
#include "weft/calls/served_call.hpp"

namespace weft {

std::uint64_t CallContext::connection_id() const {
  return call_->connection_id_;
}

std::uint64_t CallContext::call_id() const {
  return call_->id_;
}

std::string_view CallContext::method() const {
  return call_->method_->key.name;
}

std::string CallContext::local_endpoint() const {
  if (call_->endpoints_) return call_->endpoints_->local;
  return call_->calls_ ? call_->calls_->session().connection().local_endpoint() : std::string{};
}

std::string CallContext::remote_endpoint() const {
  if (call_->endpoints_) return call_->endpoints_->remote;
  return call_->calls_ ? call_->calls_->session().connection().remote_endpoint() : std::string{};
}

Deadline CallContext::deadline() const {
  return call_->scope_.deadline();
}

MetadataView CallContext::metadata() const {
  return MetadataView{call_->scope_.carried()};
}

bool CallContext::cancelled() const {
  return call_->cancelled_anywhere();
}

Bytes CallContext::attachment() const {
  return call_->attachment_.bytes();
}

Buffer CallContext::take_attachment() {
  return std::move(call_->attachment_);
}

void CallContext::set_attachment(Buffer attachment) {
  call_->answer_attachment_ = std::move(attachment);
}

void CallContext::on_answer_sent(UniqueFunction<void(bool sent)> callback) {
  call_->on_answer_sent_ = std::move(callback);
}

std::shared_ptr<void>& CallContext::connection_tag() {
  // A handler whose connection is gone may still put something here; it goes with the call.
  return call_->calls_ ? call_->calls_->session().tag() : call_->orphan_tag_;
}

void CallContext::close_connection() {
  call_->close_after_answer_.store(true, std::memory_order_relaxed);
}

}  // namespace weft
