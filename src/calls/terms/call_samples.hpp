// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"

namespace weft::detail {

struct MethodCounters;

/// Time of a call from the receipt of its request to the end of the sample, in three parts.
struct CallParts {
  Duration waited{};   ///< before the handler began
  Duration ran{};      ///< in the handler
  Duration sending{};  ///< with an answer that waited for room in the queue of its connection

  Duration all() const noexcept { return waited + ran + sending; }
};

/// A call that failed or took long.
struct CallSample {
  const MethodCounters* method = nullptr;
  StatusCode code = StatusCode::kOk;
  /// Number of calls that were received and ended together with it, with the same method and code.
  std::uint32_t calls = 1;
  CallParts parts{};
  std::chrono::system_clock::time_point ended{};
  std::string message{};
  /// Endpoint and name of the peer; empty for slow calls.
  std::string endpoint{};
  std::string caller{};
  /// Set by the reader.
  std::string_view method_name{};
  bool is_stream = false;
};

/// The last samples of calls on one loop. Their memory is bounded: kKept of each kind, each with texts of at
/// most kTextBytes. MethodTimes::may_sample() limits their rate, so that one method does not displace the
/// others. Changed on that loop, read on any thread.
class CallSamples {
 public:
  static constexpr std::size_t kKept = 64;
  static constexpr std::size_t kTextBytes = 256;

  /// Keeps a sample in place of the oldest of its kind. Drops it if there is no memory.
  void add_slow(CallSample sample) noexcept { slow_.add(std::move(sample)); }
  void add_failed(CallSample sample) noexcept { failed_.add(std::move(sample)); }
  /// Appends the samples to `samples`, the oldest first. Throws std::bad_alloc.
  void slow_to(std::vector<CallSample>& samples) const { slow_.copy_to(samples); }
  void failed_to(std::vector<CallSample>& samples) const { failed_.copy_to(samples); }

 private:
  class Ring {
   public:
    void add(CallSample&& sample) noexcept;
    void copy_to(std::vector<CallSample>& samples) const;

   private:
    mutable std::mutex mutex_;
    std::vector<CallSample> samples_;
    /// Place of the oldest sample once the ring is full.
    std::size_t oldest_ = 0;
  };

  Ring slow_;
  Ring failed_;
};

/// Returns the beginning of `text` that a sample keeps.
std::string sampled_text(std::string_view text);

}  // namespace weft::detail
