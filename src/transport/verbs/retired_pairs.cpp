// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/retired_pairs.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "transport/verbs/limits.hpp"
#include "transport/verbs/receive_pool.hpp"

namespace weft::detail::verbs_carrier {

RetiredPairs::~RetiredPairs() {
  while (!pairs_.empty()) end_oldest();
}

void RetiredPairs::add(RetiredPair retired) noexcept {
  retired.until = loop_.now() + kRetirement;
  try {
    pairs_.push_back(std::move(retired));
  } catch (const std::bad_alloc&) {
    return end(std::move(retired));
  }
  loop_.arm(*this, pairs_.front().until);
}

void RetiredPairs::end(RetiredPair retired) noexcept {
  retired.pair.reset();
  for (const SentMemory& sent : retired.sent) sends_.release(sent);
  receives_.unpromise(retired.credits);
  sends_.serve_starved();
}

void RetiredPairs::disarm_if_empty() noexcept {
  if (pairs_.empty()) loop_.disarm(*this);
}

void RetiredPairs::end_oldest() noexcept {
  RetiredPair oldest = std::move(pairs_.front());
  pairs_.pop_front();
  disarm_if_empty();
  end(std::move(oldest));
}

void RetiredPairs::on_last_receive(std::uint32_t queue_pair) noexcept {
  const auto found = std::find_if(pairs_.begin(), pairs_.end(), [&](const RetiredPair& retired) {
    return retired.pair->number() == queue_pair;
  });
  if (found == pairs_.end()) return;
  RetiredPair retired = std::move(*found);
  pairs_.erase(found);
  disarm_if_empty();
  end(std::move(retired));
}

void RetiredPairs::on_timer() {
  while (!pairs_.empty() && pairs_.front().until <= loop_.now()) end_oldest();
  if (!pairs_.empty()) loop_.arm(*this, pairs_.front().until);
}

}  // namespace weft::detail::verbs_carrier
