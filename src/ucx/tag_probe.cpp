// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/ucx/tag_probe.hpp"

#include "weft/detail/ucx/library.hpp"

namespace weft::ucx {

// The message is UCX's from here on, so the record must not be refused.
detail::Posted<detail::TagReceive> TagMessage::receive(const Memory& memory) && noexcept {
  using detail::Operation;
  const auto call = [&](Operation& record) {
    ucp_request_param_t params = detail::params_for(record, memory);
    params.cb.recv = &Operation::received_tag;
    // UCX 1.13 leaves recv_info as it is here when it is done at once; the probe has said it all.
    record.outcome.tag = {.sender_tag = info_.tag, .length = info_.bytes};
    return detail::library.ucp_tag_msg_recv_nbx(worker_->handle(), memory.data(), memory.size(),
                                                std::exchange(handle_, nullptr), &params);
  };
  detail::OperationPool& pool = worker_->operations();
  return detail::post_receive<detail::TagReceive>(pool.peek_surely(), pool, call,
                                                  [&](Operation& record) { keep(record, memory); });
}

// UCX has no call to throw a message away: it is received into nothing.
void TagMessage::discard() noexcept {
  if (handle_ == nullptr) return;
  static_cast<void>(std::move(*this).receive({}).abandon());
}

std::optional<TagReceived> tag_peek(Worker& worker, std::uint64_t tag, std::uint64_t mask) noexcept {
  ucp_tag_recv_info_t info{};
  if (detail::library.ucp_tag_probe_nb(worker.handle(), tag, mask, 0, &info) == nullptr) return std::nullopt;
  return TagReceived{.tag = info.sender_tag, .bytes = info.length};
}

std::optional<TagMessage> try_tag_probe(Worker& worker, std::uint64_t tag, std::uint64_t mask) noexcept {
  ucp_tag_recv_info_t info{};
  ucp_tag_message_h message = detail::library.ucp_tag_probe_nb(worker.handle(), tag, mask, 1, &info);
  if (message == nullptr) return std::nullopt;
  return TagMessage{worker, message, info};
}

namespace detail {

bool TagProbeAwaiter::find() noexcept {
  found_ = try_tag_probe(worker_, tag_, mask_);
  return found_.has_value();
}

Result<TagMessage> TagProbeAwaiter::await_resume() {
  if (is_cancelled()) return cancel_status();
  if (!found_) return to_status(UCS_ERR_CANCELED, "probing for a message of a worker that has ended");
  return std::move(*found_);
}

void TagProbeAwaiter::look(TagProbes& probes) noexcept {
  probes.waiting.for_each([&](weft::detail::Waiter& waiter) {
    auto& probe = static_cast<TagProbeAwaiter&>(waiter);
    if (!probe.find()) return;
    probes.found.push_back(probe);
    probe.grant();
  });
}

// The messages that were found go with the worker.
void TagProbeAwaiter::close(TagProbes& probes) noexcept {
  probes.waiting.for_each([](weft::detail::Waiter& waiter) { waiter.close(); });
  while (!probes.found.empty()) {
    TagProbeAwaiter& probe = probes.found.pop_front();
    probe.found_->handle_ = nullptr;
    probe.found_.reset();
  }
}

}  // namespace detail

}  // namespace weft::ucx
