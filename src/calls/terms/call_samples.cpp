// SPDX-License-Identifier: Apache-2.0
#include "calls/terms/call_samples.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace weft::detail {

void CallSamples::Ring::add(CallSample&& sample) noexcept {
  const std::lock_guard lock{mutex_};
  if (samples_.size() == kKept) {
    samples_[oldest_] = std::move(sample);
    oldest_ = (oldest_ + 1) % kKept;
    return;
  }
  try {
    samples_.push_back(std::move(sample));
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): a sample less
  }
}

void CallSamples::Ring::copy_to(std::vector<CallSample>& samples) const {
  const std::lock_guard lock{mutex_};
  const auto oldest = samples_.begin() + static_cast<std::ptrdiff_t>(oldest_);
  samples.insert(samples.end(), oldest, samples_.end());
  samples.insert(samples.end(), samples_.begin(), oldest);
}

std::string sampled_text(std::string_view text) {
  return std::string{text.substr(0, CallSamples::kTextBytes)};
}

}  // namespace weft::detail
