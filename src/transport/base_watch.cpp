// SPDX-License-Identifier: Apache-2.0
#include "transport/base_watch.hpp"

#include <cstddef>
#include <utility>

namespace weft::detail {

namespace {

// A peer that sends more than this is not ending its byte stream.
constexpr std::size_t kStrayBytesMax = 64;

}  // namespace

Status BaseWatch::stray_bytes() const {
  return {StatusCode::kInvalidArgument, Layer::kTransport, [this] {
            return base_.remote_endpoint() + " sent on the stream although its bytes go by another carrier";
          }};
}

void BaseWatch::look() {
  if (gone_) return;
  std::byte stray[kStrayBytesMax];
  const iovec place{stray, sizeof stray};
  const Moved moved = base_.receive({&place, 1}, {});
  if (moved.waits()) return;
  if (moved.kind == Moved::Kind::kSome) return host_.on_bring_up_failed(stray_bytes());
  gone_ = true;
  host_.on_peer_gone(moved.error);
}

void BaseWatch::on_failed(Status why) {
  host_.on_bring_up_failed(std::move(why));
}

}  // namespace weft::detail
