// SPDX-License-Identifier: Apache-2.0
#include "transport/heads_ahead.hpp"

namespace weft::detail {

// The padding of the attachment before, and one head: small frames in between would have to be handed up
// before the place that a sink names means anything.
std::uint64_t HeadsAhead::next(Bytes between) {
  const std::uint64_t padding = wire::padded(header_.attachment_bytes) - header_.attachment_bytes;
  if (between.size() < padding + wire::kHeaderBytes) return 0;
  const Bytes head = between.subspan(static_cast<std::size_t>(padding));
  header_ = wire::load_header(head.data());
  if (wire::check_header(header_, limits_) != wire::FrameFault::kNone) return 0;
  return head.size() == wire::head_bytes(header_.body_bytes, false) ? header_.following_bytes() : 0;
}

}  // namespace weft::detail
