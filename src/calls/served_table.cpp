// SPDX-License-Identifier: Apache-2.0
#include "calls/served_table.hpp"

#include <bit>
#include <random>

#include "weft/detail/calls/served_call.hpp"

namespace weft::detail {

std::uint64_t new_table_secret() {
  std::random_device source;
  const std::uint64_t high = source();
  return high << 32 | source() | 1;
}

void ServedTable::insert(ServedCall& call) {
  ServedCall*& head = buckets_[bucket(call.id())];
  call.next_in_bucket = head;
  head = &call;
  ++count_;
}

void ServedTable::erase(ServedCall& call) {
  ServedCall** link = &buckets_[bucket(call.id())];
  while (*link != &call) link = &(*link)->next_in_bucket;
  *link = call.next_in_bucket;
  call.next_in_bucket = nullptr;
  --count_;
}

ServedCall* ServedTable::find(std::uint64_t id) const {
  if (buckets_.empty()) return nullptr;
  ServedCall* call = buckets_[bucket(id)];
  while (call != nullptr && call->id() != id) call = call->next_in_bucket;
  return call;
}

void ServedTable::grow() {
  std::vector<ServedCall*> old(buckets_.empty() ? 16 : buckets_.size() * 2, nullptr);
  old.swap(buckets_);
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(buckets_.size()));
  for (ServedCall* call : old) {
    while (call != nullptr) {
      ServedCall* next = call->next_in_bucket;
      ServedCall*& head = buckets_[bucket(call->id())];
      call->next_in_bucket = head;
      head = call;
      call = next;
    }
  }
}

}  // namespace weft::detail
