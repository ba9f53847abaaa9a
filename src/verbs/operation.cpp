// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/verbs/operation.hpp"

#include <arpa/inet.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace weft::verbs::detail {

weft::detail::Executor& Operation::executor() const noexcept {
  return table->loop();
}

void Operation::complete(const ibv_wc& completion) noexcept {
  outcome.status = completion.status;
  if (completion.status == IBV_WC_SUCCESS) {
    outcome.bytes = completion.byte_len;
    outcome.queue_pair = completion.qp_num;
    outcome.has_immediate = (completion.wc_flags & IBV_WC_WITH_IMM) != 0;
    if (outcome.has_immediate) outcome.immediate = ntohl(completion.imm_data);
    if (completion.opcode == IBV_WC_COMP_SWAP || completion.opcode == IBV_WC_FETCH_ADD) {
      std::memcpy(&outcome.old_value, memory.data(), sizeof outcome.old_value);
    }
  }
  WorkQueue& left = *queue;
  left.leave(*this);
  if (completion.status != IBV_WC_SUCCESS) left.connection_failed();
  complete_step();
  left.refill();
}

void Operation::complete_with_errno(int error) noexcept {
  outcome.error = error;
  queue->leave(*this);
  complete_step();
}

void Operation::close() noexcept {
  const bool under_way = state == OperationState::kPosted || state == OperationState::kCancelRequested;
  if (under_way && outcome.error == 0) outcome.error = ECANCELED;
  close_step();
}

// As a cancel: the device may have the memory still. Who awaits it only now is found the next time.
bool Operation::give_up() noexcept {
  if (state == OperationState::kPosted) {
    if (waits) {
      complete_with_errno(kNeverTold);
      return true;
    }
    outcome.error = kNeverTold;
    queue->connection_failed();
    on_cancel(CancelReason::kPeerGone);
    return true;
  }
  const bool awaited_since = state == OperationState::kCancelRequested && outcome.error == kNeverTold &&
                             waiter != nullptr && !is_scheduled();
  if (awaited_since) executor().schedule(*this);
  return awaited_since;
}

// Only what waits for room can be had back.
void Operation::revoke() noexcept {
  complete_with_errno(ECANCELED);
}

void Operation::give_back() noexcept {
  forget_waiter();
  memory.reset();
  if (segments != nullptr) {
    for (std::size_t i = 0; i < segments->count; ++i) segments->memory[i].reset();
    segments->count = 0;
  }
  table->recycle(*this);
}

std::size_t Operation::write_segments(std::array<ibv_sge, kSegmentsMax>& to,
                                      std::size_t& bytes) const noexcept {
  bytes = 0;
  std::size_t count = 0;
  const auto add = [&](const Memory& piece) {
    if (piece.empty()) return;
    to[count++] = piece.segment();
    bytes += piece.size();
  };
  add(memory);
  for (std::size_t i = 0; segments != nullptr && i < segments->count; ++i) add(segments->memory[i]);
  return count;
}

int WorkQueue::post_counted(Operation& operation) noexcept {
  const int error = post(operation);
  if (error != 0) return error;
  ++posted_;
  operation.waits = false;
  operation.kind.revocable = false;
  with_device_.push_back(operation);
  return 0;
}

// Operations that are waiting already come first.
void WorkQueue::accept(Operation& operation) noexcept {
  operation.queue = this;
  if (!full() && waiting_.empty()) {
    if (const int error = post_counted(operation); error != 0) operation.complete_with_errno(error);
    return;
  }
  operation.waits = true;
  operation.kind.revocable = true;
  waiting_.push_back(operation);
}

void WorkQueue::leave(Operation& operation) noexcept {
  weft::detail::ListHook<QueueTag>& hook = operation;
  if (!hook.linked()) return;
  hook.unlink();
  if (!operation.waits) --posted_;
}

void WorkQueue::refill() noexcept {
  while (!full() && !waiting_.empty()) {
    Operation& operation = waiting_.pop_front();
    if (const int error = post_counted(operation); error != 0) operation.complete_with_errno(error);
  }
}

void WorkQueue::close() noexcept {
  for (List* list : {&with_device_, &waiting_}) {
    while (!list->empty()) list->pop_front().close();
  }
  posted_ = 0;
}

Operation* OperationTable::take() noexcept {
  if (free_ == nullptr && !grow()) return nullptr;
  Operation& operation = *free_;
  free_ = operation.next_free;
  ++out_;
  operation.state = OperationState::kPosted;
  operation.kind = {};
  operation.reason = CancelReason::kNone;
  operation.outcome = {};
  operation.waits = false;
  return &operation;
}

void OperationTable::recycle(Operation& operation) noexcept {
  ++operation.generation;
  operation.generation &= 0x7FFF'FFFF;  // the highest bit of an id is not ours
  operation.next_free = free_;
  free_ = &operation;
  if (--out_ == 0 && closed_) delete this;
}

Operation* OperationTable::find(std::uint64_t id) noexcept {
  const auto index = static_cast<std::uint32_t>(id);
  if (index / kSlab >= slabs_.size()) return nullptr;
  Operation& operation = slabs_[index / kSlab][index % kSlab];
  const bool under_way = operation.state == OperationState::kPosted ||
                         operation.state == OperationState::kCancelRequested ||
                         operation.state == OperationState::kAbandoned;
  return operation.generation == id >> 32 && under_way ? &operation : nullptr;
}

std::size_t OperationTable::give_up() noexcept {
  std::size_t count = 0;
  for (const auto& slab : slabs_) {
    for (std::size_t i = 0; i < kSlab; ++i) count += slab[i].give_up() ? 1 : 0;
  }
  return count;
}

// No queue is left, but the loop may end before the turn that releases abandoned operations.
void OperationTable::close() noexcept {
  ++out_;  // keeps the table while its records end
  closed_ = true;
  for (const auto& slab : slabs_) {
    for (std::size_t i = 0; i < kSlab; ++i) slab[i].close();
  }
  if (--out_ == 0) delete this;
}

bool OperationTable::grow() noexcept {
  if (slabs_.size() * kSlab >= kOperationsMax) return false;
  try {
    slabs_.reserve(slabs_.size() + 1);
    slabs_.push_back(std::make_unique<Operation[]>(kSlab));
  } catch (const std::bad_alloc&) {
    return false;
  }
  const std::size_t base = (slabs_.size() - 1) * kSlab;
  for (std::size_t i = kSlab; i > 0; --i) {
    Operation& operation = slabs_.back()[i - 1];
    operation.table = this;
    operation.index = static_cast<std::uint32_t>(base + i - 1);
    operation.next_free = free_;
    free_ = &operation;
  }
  return true;
}

}  // namespace weft::verbs::detail
