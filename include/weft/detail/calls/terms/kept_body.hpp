// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/memory/chunk_pool.hpp"
#include "weft/detail/memory/local_budget.hpp"

namespace weft::detail {

/// Bytes of a request that outlive its receiving: a copy, or the chunk in which they were received. Releases
/// its charge when it is destroyed. Thread: the budget's.
class KeptBody {
 public:
  KeptBody() = default;
  /// `charge` was reserved in `budget`, which must outlive this.
  KeptBody(LocalBudget& budget, std::size_t charge) : budget_(&budget), charge_(charge) {}
  KeptBody(KeptBody&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})),
        chunk_(std::move(other.chunk_)),
        budget_(std::exchange(other.budget_, nullptr)),
        charge_(std::exchange(other.charge_, 0)) {}
  KeptBody& operator=(KeptBody&&) = delete;
  ~KeptBody();

  /// Adds `bytes` that were reserved in `budget`, which must be the same one.
  void add_charge(LocalBudget& budget, std::size_t bytes) {
    budget_ = &budget;
    charge_ += bytes;
  }

  Bytes bytes() const { return bytes_; }
  /// The chunk that holds the bytes; none when they are a copy.
  const ChunkRef& chunk() const { return chunk_; }
  /// Mutable access to the first `count` bytes, before others read them.
  MutableBytes first(std::size_t count) noexcept { return {const_cast<std::byte*>(bytes_.data()), count}; }
  /// Keeps a copy of `bytes`. Call once; throws std::bad_alloc.
  void copy(Bytes bytes);
  /// Keeps `bytes` in place, in `chunk`. Call once.
  void hold(ChunkRef chunk, Bytes bytes) {
    chunk_ = std::move(chunk);
    bytes_ = bytes;
  }
  /// Keeps `bytes` in `received_in`, if they lie there, are long, and are a good part of it, and a copy
  /// otherwise. `received_in` may be null. Call once; throws std::bad_alloc.
  void keep(Bytes bytes, const ChunkRef* received_in);

 private:
  /// Bytes in `chunk_`, or, without a chunk, in a copy that belongs to this object.
  Bytes bytes_;
  ChunkRef chunk_;
  LocalBudget* budget_ = nullptr;
  std::size_t charge_ = 0;
};

}  // namespace weft::detail
