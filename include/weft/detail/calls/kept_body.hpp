// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/memory/chunk_pool.hpp"
#include "weft/detail/memory/local_budget.hpp"

namespace weft::detail {

/// Bytes of a request that outlive its receiving: a copy, or the chunk in which they were received. Gives
/// back what they were charged when it ends. Thread: the budget's.
class KeptBody {
 public:
  KeptBody() = default;
  /// `charge` was reserved in `budget`, which outlives this.
  KeptBody(LocalBudget& budget, std::size_t charge) : budget_(&budget), charge_(charge) {}
  KeptBody(KeptBody&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})),
        chunk_(std::move(other.chunk_)),
        budget_(std::exchange(other.budget_, nullptr)),
        charge_(std::exchange(other.charge_, 0)) {}
  KeptBody& operator=(KeptBody&&) = delete;
  ~KeptBody();

  /// `bytes` more were reserved in `budget`, the same one.
  void add_charge(LocalBudget& budget, std::size_t bytes) {
    budget_ = &budget;
    charge_ += bytes;
  }

  Bytes bytes() const { return bytes_; }
  /// Chunk that they are in; none when they are a copy.
  const ChunkRef& chunk() const { return chunk_; }
  /// The first `count` of them, to be changed before anybody looks.
  MutableBytes first(std::size_t count) noexcept { return {const_cast<std::byte*>(bytes_.data()), count}; }
  /// Keeps a copy of `bytes`. Once; throws std::bad_alloc.
  void copy(Bytes bytes);
  /// Keeps `bytes` where they are, in `chunk`. Once.
  void hold(ChunkRef chunk, Bytes bytes) {
    chunk_ = std::move(chunk);
    bytes_ = bytes;
  }

 private:
  /// Bytes in `chunk_`; without one a copy, which is this object's.
  Bytes bytes_;
  ChunkRef chunk_;
  LocalBudget* budget_ = nullptr;
  std::size_t charge_ = 0;
};

}  // namespace weft::detail
