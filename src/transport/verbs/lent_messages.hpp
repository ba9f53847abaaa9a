// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "transport/verbs/carriers_by_pair.hpp"
#include "weft/detail/memory/chunk_pool.hpp"

namespace weft::detail::verbs_carrier {

class LoopDevice;
class ReceivePool;

/// Messages that are read in place, in slots of a loop's receives, by the holder of a chunk. Such a message
/// may outlive its carrier. The LoopDevice outlives all of them. Thread: the loop's.
class LentMessages final : private ChunkLender {
 public:
  LentMessages(LoopDevice& loop_device, ReceivePool& receives, CarriersByPair& carriers) noexcept
      : loop_device_(loop_device), receives_(receives), carriers_(carriers) {}
  LentMessages(const LentMessages&) = delete;
  LentMessages& operator=(const LentMessages&) = delete;
  ~LentMessages();

  /// All bytes behind the head of the message in `slot`, up to `end`, as a chunk: its end gives the slot
  /// back, and tells the carrier if it is there still. Null when memory is exhausted.
  ChunkRef lend(std::uint32_t slot, std::size_t end, const CarrierName& carrier) noexcept;

 private:
  void on_chunk_returned(MutableBytes memory) noexcept override;

  LoopDevice& loop_device_;
  ReceivePool& receives_;
  CarriersByPair& carriers_;
  std::size_t lent_ = 0;
  /// Keeps itself while something is lent.
  std::shared_ptr<LoopDevice> kept_;
};

}  // namespace weft::detail::verbs_carrier
