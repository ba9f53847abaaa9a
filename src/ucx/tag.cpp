// SPDX-License-Identifier: Apache-2.0
#include "weft/ucx/tag.hpp"

namespace weft::ucx {

// UCX has no call to throw a message away: it is received into nothing.
void TagMessage::discard() noexcept {
  if (handle_ == nullptr) return;
  static_cast<void>(std::move(*this).receive({}).post());
}

std::optional<TagReceived> tag_peek(Worker& worker, std::uint64_t tag, std::uint64_t mask) noexcept {
  ucp_tag_recv_info_t info{};
  if (ucp_tag_probe_nb(worker.handle(), tag, mask, 0, &info) == nullptr) return std::nullopt;
  return TagReceived{.tag = info.sender_tag, .bytes = info.length};
}

std::optional<TagMessage> try_tag_probe(Worker& worker, std::uint64_t tag, std::uint64_t mask) noexcept {
  ucp_tag_recv_info_t info{};
  ucp_tag_message_h message = ucp_tag_probe_nb(worker.handle(), tag, mask, 1, &info);
  if (message == nullptr) return std::nullopt;
  return TagMessage{worker, message, info};
}

}  // namespace weft::ucx
