// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::detail {

class ServedCall;

/// A number for ServedTable that no peer can know.
std::uint64_t new_table_secret();

/// Finds a call that is being served by its id: a hash table of chains through the records themselves. The
/// ids are the peer's to choose, and so that it cannot choose them to meet in one chain, they are spread by a
/// secret factor: of id * secret the highest bits count, in which any two ids rarely agree.
class ServedTable {
 public:
  explicit ServedTable(std::uint64_t secret) : secret_(secret) {}

  /// Makes room for one more. Throws std::bad_alloc, and has changed nothing then.
  void reserve_one() {
    if (count_ >= buckets_.size()) grow();
  }
  /// The call's id must not be in use: find() is asked first, and reserve_one().
  void insert(ServedCall& call);
  void erase(ServedCall& call);
  ServedCall* find(std::uint64_t id) const;

 private:
  std::size_t bucket(std::uint64_t id) const { return static_cast<std::size_t>((id * secret_) >> shift_); }
  void grow();

  std::vector<ServedCall*> buckets_;
  std::size_t count_ = 0;
  const std::uint64_t secret_;
  /// 64 less the bits of a bucket's number.
  unsigned shift_ = 64;
};

}  // namespace weft::detail
