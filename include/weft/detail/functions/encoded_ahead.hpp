// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "weft/detail/base/lent_runs.hpp"
#include "weft/detail/codec/codec.hpp"
#include "weft/detail/codec/hooks.hpp"
#include "weft/detail/coro/frame_pool.hpp"

namespace weft::detail {

/// The bytes of values that were encoded before a frame for them is begun: user hooks may use Weft, which
/// must not begin another frame while one is being written. Long runs stay in place in the values. Uses the
/// memory cache of coroutine frames, so that short values cost no allocation.
class EncodedAhead {
 public:
  EncodedAhead() = default;
  /// Moves only before encode().
  EncodedAhead(EncodedAhead&&) noexcept {}
  EncodedAhead(const EncodedAhead&) = delete;
  EncodedAhead& operator=(const EncodedAhead&) = delete;
  ~EncodedAhead() { drop(); }

  /// Encodes `values`, which are not to be destroyed or changed before the last use. Throws what hooks throw,
  /// std::logic_error if their size changes while they are encoded, and std::bad_alloc.
  template <typename... Values>
  void encode(const Values&... values) {
    encode_sized(encoded_size(values...), values...);
  }
  /// The same for values with a known encoded_size().
  template <typename... Values>
  void encode_sized(std::size_t size, const Values&... values) {
    drop();
    size_ = size;
    is_done_ = size == kUnencodable;
    if (is_done_) return;
    if constexpr (may_have_runs<Values...>()) {
      if (size >= LentRuns::kRunBytesMin) runs_ = std::make_unique<LentRuns>();
      if (runs_ != nullptr) find_runs(*runs_, values...);
    }
    if (lent_bytes() > size) throw_size_changed();
    written_ = size - lent_bytes();
    bytes_ = static_cast<std::byte*>(allocate_frame(room()));
    if (runs_ == nullptr) {
      encode_to(bytes_, written_, values...);
    } else {
      encode_around(bytes_, written_, *runs_, values...);
    }
    is_done_ = true;
  }
  /// The values were encoded, or cannot be.
  bool is_done() const noexcept { return is_done_; }

  /// Returns encoded_size() of the values.
  std::size_t size() const noexcept { return size_; }
  /// Offers the long runs.
  void find_runs_into(LentRuns& runs) const noexcept {
    if (runs_ == nullptr) return;
    for (const LentRuns::Run& run : runs_->runs()) runs.offer(run.bytes);
  }
  /// Writes all bytes but those of `runs`, which were offered, and which have their places afterwards; null:
  /// writes all.
  void copy_to(std::byte* to, LentRuns* runs = nullptr) const noexcept {
    const std::byte* from = bytes_;
    const auto copy = [&to](const std::byte* bytes, std::size_t count) {
      if (count != 0) std::memcpy(to, bytes, count);
      to += count;
    };
    if (runs_ != nullptr) {
      for (const LentRuns::Run& run : runs_->runs()) {
        copy(from, static_cast<std::size_t>(run.at - from));
        from = run.at;
        if (runs == nullptr || runs->place(run.bytes, to) == 0) copy(run.bytes.data(), run.bytes.size());
      }
    }
    copy(from, written_ - static_cast<std::size_t>(from - bytes_));
  }

 private:
  std::size_t lent_bytes() const noexcept { return runs_ != nullptr ? runs_->bytes() : 0; }
  std::size_t room() const noexcept { return written_ == 0 ? 1 : written_; }
  void drop() noexcept {
    if (bytes_ != nullptr) release_frame(std::exchange(bytes_, nullptr), room());
    runs_.reset();
  }

  std::byte* bytes_ = nullptr;
  /// Bytes that are here, and of the whole message.
  std::size_t written_ = 0;
  std::size_t size_ = 0;
  bool is_done_ = false;
  std::unique_ptr<LentRuns> runs_;
};

}  // namespace weft::detail
