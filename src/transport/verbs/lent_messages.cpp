// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/lent_messages.hpp"

#include <utility>

#include "transport/message_header.hpp"
#include "transport/verbs/loop_device.hpp"
#include "transport/verbs/verbs_carrier.hpp"

namespace weft::detail::verbs_carrier {

LentMessages::~LentMessages() {
  WEFT_ASSERT(lent_ == 0, "a LoopDevice ends after the messages that it lent");
}

ChunkRef LentMessages::lend(std::uint32_t slot, std::size_t end, const CarrierName& carrier) noexcept {
  auto* const head = const_cast<std::byte*>(receives_.at(slot));
  ChunkRef chunk =
      loop_device_.loop().chunks().lend({head + kMessageHeaderBytes, end - kMessageHeaderBytes}, *this);
  if (!chunk) return {};
  // The message's header is no longer needed, so its place holds the slot number.
  store_le(head, slot);
  store_le(head + 4, carrier.queue_pair);
  store_le(head + 8, carrier.serial);
  if (lent_++ == 0) kept_ = loop_device_.shared_from_this();
  return chunk;
}

void LentMessages::on_chunk_returned(MutableBytes memory) noexcept {
  const std::byte* const head = memory.data() - kMessageHeaderBytes;
  VerbsCarrier* const carrier =
      carriers_.find({load_le<std::uint32_t>(head + 4), load_le<std::uint64_t>(head + 8)});
  receives_.give_back(load_le<std::uint32_t>(head));
  if (carrier != nullptr) {
    carrier->receiver().lent_returned();
  } else {
    receives_.unpromise(1);
  }
  if (--lent_ > 0) return;
  // Its end may be the LoopDevice's, and this one's.
  const std::shared_ptr<LoopDevice> last = std::move(kept_);
}

}  // namespace weft::detail::verbs_carrier
