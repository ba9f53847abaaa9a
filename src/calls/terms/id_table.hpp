// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/detail/calls/terms/id_table_node.hpp"

namespace weft::detail {

/// A number for IdTable that no peer can know.
std::uint64_t new_table_secret();

/// Finds an object of the peer's by its id: a hash table of chains through the objects themselves, which are
/// IdTableNodes and have an id(). The ids are the peer's to choose, and so that it cannot choose them to meet
/// in one chain, they are spread by a secret factor: of id * secret the highest bits count, in which any two
/// ids rarely agree.
template <typename T>
class IdTable {
 public:
  explicit IdTable(std::uint64_t secret) : secret_(secret) {}

  /// Makes room for one more. Throws std::bad_alloc, and has changed nothing then.
  void reserve_one() {
    if (count_ >= buckets_.size()) grow();
  }
  /// The object's id must not be in use: find() is asked first, and reserve_one().
  void insert(T& object) {
    push(buckets_[bucket(object.id())], object);
    ++count_;
  }
  /// Takes `object` out, if it is here.
  void erase(T& object) {
    if (buckets_.empty()) return;
    T** link = &buckets_[bucket(object.id())];
    while (*link != nullptr && *link != &object) link = &next(**link);
    if (*link == nullptr) return;
    *link = next(object);
    next(object) = nullptr;
    --count_;
  }
  T* find(std::uint64_t id) const {
    if (buckets_.empty()) return nullptr;
    T* object = buckets_[bucket(id)];
    while (object != nullptr && object->id() != id) object = next(*object);
    return object;
  }
  std::size_t size() const { return count_; }

 private:
  static T*& next(T& object) { return static_cast<IdTableNode<T>&>(object).next_in_bucket; }
  static void push(T*& head, T& object) {
    next(object) = head;
    head = &object;
  }
  std::size_t bucket(std::uint64_t id) const { return static_cast<std::size_t>((id * secret_) >> shift_); }

  void grow() {
    std::vector<T*> old(buckets_.empty() ? 16 : buckets_.size() * 2, nullptr);
    old.swap(buckets_);
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(buckets_.size()));
    for (T* object : old) {
      while (object != nullptr) {
        T* const behind = next(*object);
        push(buckets_[bucket(object->id())], *object);
        object = behind;
      }
    }
  }

  std::vector<T*> buckets_;
  std::size_t count_ = 0;
  const std::uint64_t secret_;
  /// 64 less the bits of a bucket's number.
  unsigned shift_ = 64;
};

}  // namespace weft::detail
