// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/operation_record.hpp"
#include "weft/detail/verbs/memory.hpp"

namespace weft::verbs::detail {

using weft::detail::OperationState;

class Operation;
class OperationTable;
struct QueueTag;

/// Number of pieces of memory that an operation may name.
inline constexpr std::size_t kSegmentsMax = 32;
/// Number of operations of a completion queue that may be under way or wait for room.
inline constexpr std::size_t kOperationsMax = 65'536;

/// Parameters of a work request besides its memory.
struct Request {
  ibv_wr_opcode opcode = IBV_WR_SEND;
  unsigned flags = 0;
  std::uint32_t immediate = 0;  ///< in network byte order
  RemoteMemory remote{};
  std::uint64_t operand = 0;
  std::uint64_t swap = 0;
};

/// One of a device's queues, and the operations that were given to it. Thread: the loop's.
class WorkQueue {
 public:
  explicit WorkQueue(std::size_t capacity) noexcept : capacity_(capacity) {}
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  bool full() const noexcept { return posted_ == capacity_; }
  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t posted() const noexcept { return posted_; }

  /// Gives `operation` to the device, or lets it wait for room; what the device refuses has completed.
  void accept(Operation& operation) noexcept;
  /// The device is done with it, or it does not wait any more.
  void leave(Operation& operation) noexcept;
  /// Posts waiting operations while the device has room.
  void refill() noexcept;
  /// The device's queue was destroyed.
  void close() noexcept;

 protected:
  ~WorkQueue() = default;
  /// Gives it to the device. An errno.
  virtual int post(Operation& operation) noexcept = 0;
  /// An operation failed on the device, and with it the whole connection.
  virtual void connection_failed() noexcept {}

 private:
  friend Operation;
  using List = weft::detail::IntrusiveList<Operation, QueueTag>;

  int post_counted(Operation& operation) noexcept;

  const std::size_t capacity_;
  std::size_t posted_ = 0;
  /// Operations posted to the device. Waiting operations follow in the next list, oldest first.
  List with_device_;
  List waiting_;
};

/// Value in the place of an errno: the completion queue cannot be asked any more.
inline constexpr int kNeverTold = -1;

/// Outcome of an operation.
struct Outcome {
  ibv_wc_status status = IBV_WC_SUCCESS;
  /// An errno where the device never had it, or had its queue destroyed, or kNeverTold; then `status` says
  /// nothing.
  int error = 0;
  std::uint32_t bytes = 0;
  std::uint32_t immediate = 0;
  std::uint32_t queue_pair = 0;
  bool has_immediate = false;
  /// Value that an atomic found.
  std::uint64_t old_value = 0;
};

/// The record of one operation. Its states are those of runtime/operation_state.hpp. Belongs to its table.
class Operation final : public weft::detail::OperationRecord<Operation>,
                        public weft::detail::ListHook<QueueTag> {
 public:
  /// More than one piece of memory; made for the first operation that has them, and kept.
  struct Segments {
    std::array<Memory, kSegmentsMax> memory;
    std::size_t count = 0;
  };

  void complete(const ibv_wc& completion) noexcept;
  /// The device never had it, or its queue was destroyed.
  void complete_with_errno(int error) noexcept;
  void close() noexcept;
  /// Drops the waiter of the completion: its coroutine continues, and the memory stays until the queue ends.
  /// Returns false if there was no waiter.
  bool give_up() noexcept;

  std::uint64_t id() const noexcept { return std::uint64_t{generation} << 32 | index; }
  /// Writes its memory as a work request names it, and says how many pieces and bytes that are.
  std::size_t write_segments(std::array<ibv_sge, kSegmentsMax>& to, std::size_t& bytes) const noexcept;

  OperationTable* table = nullptr;
  WorkQueue* queue = nullptr;
  Memory memory;
  std::unique_ptr<Segments> segments;
  Request request;
  Outcome outcome;
  /// Waits for room in its queue.
  bool waits = false;
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  Operation* next_free = nullptr;

 private:
  friend OperationRecord;
  weft::detail::Executor& executor() const noexcept;
  void revoke() noexcept;
  void give_back() noexcept;
};

/// The records of a completion queue. Their ids outlive the queues that they were posted to: a completion
/// that comes after its queue pair was destroyed, as some devices have it, finds nothing. Outlives the
/// completion queue until coroutines have taken what their operations ended with. Thread: the loop's.
class OperationTable {
 public:
  explicit OperationTable(Loop& loop) noexcept : loop_(loop) {}
  OperationTable(const OperationTable&) = delete;
  OperationTable& operator=(const OperationTable&) = delete;

  /// Null at the limit (kOperationsMax), or when memory is exhausted.
  Operation* take() noexcept;
  void recycle(Operation& operation) noexcept;
  /// Returns null if no operation has this id any more.
  Operation* find(std::uint64_t id) noexcept;
  /// The completion queue cannot be asked. How many operations that concerned.
  std::size_t give_up() noexcept;
  /// The completion queue ends. Deletes the table now, or with its last record.
  void close() noexcept;

  Loop& loop() const noexcept { return loop_; }
  /// Records in use.
  std::size_t out() const noexcept { return out_; }

 private:
  static constexpr std::size_t kSlab = 32;
  ~OperationTable() = default;
  bool grow() noexcept;

  Loop& loop_;
  std::vector<std::unique_ptr<Operation[]>> slabs_;
  Operation* free_ = nullptr;
  std::size_t out_ = 0;
  bool closed_ = false;
};

}  // namespace weft::verbs::detail
