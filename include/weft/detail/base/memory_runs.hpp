// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

namespace weft::detail {

/// Type, as `Given&&` deduces it, of an object that owns elements and is about to end: it shows them as long
/// as it has a name only. A temporary span shows them too.
template <typename Given, typename Element>
concept EndingOwner =
    !std::is_lvalue_reference_v<Given> && std::convertible_to<std::remove_cv_t<Given>&, std::span<Element>> &&
    !std::convertible_to<std::remove_cv_t<Given>, std::span<Element>>;

/// The same of bytes, or of runs of them: a view of its elements would dangle.
template <typename Given, typename Run>
concept EndingMemory = EndingOwner<Given, std::byte> || EndingOwner<Given, Run>;

/// Reason for which runs of memory cannot be used.
enum class RunsFault : std::uint8_t {
  kNone,
  kOverlap,  ///< blocks that are written to lie upon each other
  kWrap,     ///< a block would lie behind the end of all addresses
  kOutside,  ///< a block would lie outside of the memory that was given for all of them
  kTooMany,  ///< all of them together have more bytes than can be counted
};

/// Memory as runs, in order: one run, an array of them, or blocks at equal distances. A trivially copyable
/// view. A view with a fault has no runs, so that it is never read or written. Base of the views that calls
/// accept; the derived views define ownership.
template <typename Byte>
class MemoryRuns {
 public:
  using Run = std::span<Byte>;

  MemoryRuns() = default;
  explicit MemoryRuns(Run one) noexcept
      : first_(one.data()), count_(one.empty() ? 0 : 1), bytes_(one.size()) {}
  explicit MemoryRuns(std::span<const Run> list) noexcept
      : list_(list.data()), count_(list.size()), is_list_(true) {}
  /// `count` blocks of `bytes`, each `stride` behind the one before.
  MemoryRuns(Byte* first, std::size_t count, std::size_t bytes, std::size_t stride,
             bool may_overlap) noexcept {
    if (count == 0 || bytes == 0) return;
    fault_ = fault_of(first, count, bytes, stride, may_overlap);
    if (fault_ != RunsFault::kNone) return;
    first_ = first;
    count_ = count;
    bytes_ = bytes;
    stride_ = stride;
  }
  /// The same within `memory`, from its beginning.
  MemoryRuns(Run memory, std::size_t count, std::size_t bytes, std::size_t stride, bool may_overlap) noexcept
      : MemoryRuns(memory.data(), count, bytes, stride, may_overlap) {
    if (count_ == 0 || (count_ - 1) * stride_ + bytes_ <= memory.size()) return;
    count_ = 0;
    fault_ = RunsFault::kOutside;
  }

  /// The runs are those of an array, which is its owner's.
  bool is_list() const noexcept { return is_list_; }
  std::size_t count() const noexcept { return count_; }
  /// `index` is less than count().
  Run run(std::size_t index) const noexcept {
    return is_list_ ? list_[index] : Run{first_ + index * stride_, bytes_};
  }
  /// Sum of all; SIZE_MAX when that is more.
  std::size_t bytes() const noexcept {
    if (!is_list_) return count_ * bytes_;
    std::size_t sum = 0;
    for (const Run& run : std::span{list_, count_}) {
      if (run.size() > kMost - sum) return kMost;
      sum += run.size();
    }
    return sum;
  }
  bool empty() const noexcept {
    if (!is_list_) return count_ == 0;
    for (const Run& run : std::span{list_, count_}) {
      if (!run.empty()) return false;
    }
    return true;
  }
  /// Other threads or processes may write to the memory while it is used, so the library never assumes that
  /// two reads return the same bytes.
  bool is_shared() const noexcept { return is_shared_; }
  void set_shared() noexcept { is_shared_ = true; }
  RunsFault fault() const noexcept {
    if (fault_ != RunsFault::kNone) return fault_;
    return bytes() == kMost ? RunsFault::kTooMany : RunsFault::kNone;
  }

 private:
  static constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();

  static RunsFault fault_of(const Byte* first, std::size_t count, std::size_t bytes, std::size_t stride,
                            bool may_overlap) noexcept {
    if (count == 1) stride = bytes;  // nothing lies behind the only one
    if (stride < bytes && !may_overlap) return RunsFault::kOverlap;
    if (bytes > (kMost - 1) / count) return RunsFault::kTooMany;
    if (stride > (kMost - bytes) / count) return RunsFault::kWrap;
    const std::size_t extent = (count - 1) * stride + bytes;
    if (extent > std::numeric_limits<std::uintptr_t>::max() - reinterpret_cast<std::uintptr_t>(first)) {
      return RunsFault::kWrap;
    }
    return RunsFault::kNone;
  }

  /// Bytes of one run, or of blocks; or an array of runs.
  union {
    Byte* first_ = nullptr;
    const Run* list_;
  };
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  std::size_t stride_ = 0;
  bool is_list_ = false;
  bool is_shared_ = false;
  RunsFault fault_ = RunsFault::kNone;
};

}  // namespace weft::detail
