// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/begun_bytes.hpp"

#include <algorithm>
#include <utility>

#include "transport/verbs/limits.hpp"

namespace weft::detail::verbs_carrier {

// Between two offers, and behind the last one, is one span of sent bytes at most.
BegunBytes::BegunBytes() : spans_(2 * kOffersMax + 1) {}

void BegunBytes::add_offer(std::size_t bytes, std::shared_ptr<const Registration> memory) {
  spans_.push_back({bytes, std::move(memory)});
  bytes_ += bytes;
  ++offers_;
}

void BegunBytes::add_sent(std::size_t bytes) {
  bytes_ += bytes;
  if (!spans_.empty() && spans_.back().memory == nullptr) {
    spans_.back().bytes += bytes;
  } else {
    spans_.push_back({bytes});
  }
}

std::size_t BegunBytes::take_done() noexcept {
  std::size_t done = 0;
  while (!spans_.empty()) {
    Span& first = spans_.front();
    const bool offer = first.memory != nullptr;
    const std::size_t part = offer ? std::min(first.bytes, fetched_) : first.bytes;
    if (offer) fetched_ -= part;
    first.bytes -= part;
    done += part;
    if (first.bytes > 0) break;
    if (offer) --offers_;
    spans_.pop_front();
  }
  bytes_ -= done;
  return done;
}

void BegunBytes::clear() noexcept {
  while (!spans_.empty()) spans_.pop_front();
  bytes_ = offers_ = fetched_ = 0;
}

}  // namespace weft::detail::verbs_carrier
