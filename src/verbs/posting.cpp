// SPDX-License-Identifier: Apache-2.0
#include "verbs/posting.hpp"

#include <limits>
#include <new>

namespace weft::verbs::detail {

namespace {

// What InfiniBand carries in one message.
constexpr std::size_t kMessageBytesMax = std::size_t{1} << 31;

bool goes_to_remote_memory(ibv_wr_opcode opcode) {
  return opcode != IBV_WR_SEND && opcode != IBV_WR_SEND_WITH_IMM;
}

NotPosted why_not(const Asked& asked) noexcept {
  if (asked.memory.size() > asked.segments_max) return NotPosted::kSegments;
  std::size_t bytes = 0;
  for (const Memory& piece : asked.memory) {
    if (piece.empty()) continue;
    if (piece.block()->registration()->pd != asked.domain.handle()) return NotPosted::kNotRegistered;
    if (piece.size() > kMessageBytesMax - bytes) return NotPosted::kTooLong;
    bytes += piece.size();
  }
  const bool beyond = goes_to_remote_memory(asked.request.opcode) && bytes > asked.request.remote.bytes;
  return beyond ? NotPosted::kTooLong : NotPosted::kNone;
}

bool keep_pieces(Operation& operation, std::span<const Memory> memory) noexcept {
  if (operation.segments == nullptr) operation.segments.reset(new (std::nothrow) Operation::Segments);
  if (operation.segments == nullptr) return false;
  for (const Memory& piece : memory) operation.segments->memory[operation.segments->count++] = piece;
  return true;
}

}  // namespace

Operation* prepare(OperationTable& table, const Asked& asked, NotPosted& why) noexcept {
  why = why_not(asked);
  if (why != NotPosted::kNone) return nullptr;
  Operation* const operation = table.take();
  const bool one = asked.memory.size() == 1;
  if (operation != nullptr && one) operation->memory = asked.memory[0];
  if (operation != nullptr && !one && !asked.memory.empty() && !keep_pieces(*operation, asked.memory)) {
    operation->state = OperationState::kReaped;
    table.recycle(*operation);
    why = NotPosted::kNoRecord;
    return nullptr;
  }
  if (operation == nullptr) {
    why = NotPosted::kNoRecord;
    return nullptr;
  }
  operation->request = asked.request;
  return operation;
}

}  // namespace weft::verbs::detail
