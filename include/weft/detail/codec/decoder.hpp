// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/codec/arena.hpp"
#include "weft/detail/codec/sizer.hpp"

namespace weft::detail {

/// Reason why bytes could not be decoded.
enum class DecodeFault : std::uint8_t {
  kNone,
  kTruncated,      ///< the message ends inside a value
  kCount,          ///< more elements than the bytes that are left can hold
  kFlag,           ///< a bool, or the flag of an optional, is neither 0 nor 1
  kVariant,        ///< no such alternative
  kDepth,          ///< CodecLimits::kDepthMax
  kEmptyElements,  ///< CodecLimits::kEmptyElementsMax
  kMemory,         ///< CodecLimits::kMemoryPerMessageByte
  kDuplicateKey,   ///< a set or a map with the same key twice
  kCollisions,     ///< CodecLimits::kBucketElementsMax
  kPadding,        ///< padding that is not zero
  kStatus,         ///< the failure inside a Result is none
  kTrailer,        ///< what follows the values is no list of later additions
  kRefused,        ///< a CodecTraits said no
};

/// Reads values from untrusted bytes. Every read returns whether it succeeded; after the first false the
/// decoder must not be used any more, and the values read so far must be dropped.
class Decoder {
 public:
  /// `message` and `arena` outlive the decoder and every view that it hands out.
  Decoder(Bytes message, DecodeArena& arena)
      : begin_(message.data()),
        at_(message.data()),
        end_(message.data() + message.size()),
        arena_(arena),
        memory_left_(CodecLimits::kMemoryFloorBytes + CodecLimits::kMemoryPerMessageByte * message.size()) {}
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Reads `out...`, one after the other.
  template <typename... Ts>
  bool read(Ts&... out) {
    return (codec_detail::Codec<Ts>::decode(*this, out) && ...);
  }
  /// Leads to the next `size` raw bytes of the message and goes past them.
  bool take(std::size_t size, const std::byte*& from) {
    if (size > remaining()) [[unlikely]]
      return fail(DecodeFault::kTruncated);
    from = at_;
    at_ += size;
    return true;
  }
  template <typename T>
  bool read_number(T& out) {
    if (sizeof(T) > remaining()) [[unlikely]]
      return fail(DecodeFault::kTruncated);
    out = load_le<T>(at_);
    at_ += sizeof(T);
    return true;
  }
  /// Reads a byte that must be 0 or 1.
  bool read_flag(bool& out) {
    std::uint8_t byte;
    if (!read_number(byte)) return false;
    if (byte > 1) [[unlikely]]
      return fail(DecodeFault::kFlag);
    out = byte != 0;
    return true;
  }
  /// Reads the number of elements and the padding up to `alignment`. `size_min` is the fewest bytes that an
  /// element takes: a count for which not enough bytes are left is refused here, before anything is
  /// allocated.
  bool read_count(std::uint32_t& out, std::size_t size_min, std::size_t alignment) {
    if (!read_number(out) || (alignment > 1 && !skip_padding(alignment))) return false;
    if (size_min == 0) return take_empty_elements(out);
    if (out > remaining() / size_min) [[unlikely]]
      return fail(DecodeFault::kCount);
    return true;
  }

  /// Asks for `bytes` of memory that the bytes of the message do not account for one to one.
  bool charge(std::size_t bytes) {
    if (bytes > memory_left_) [[unlikely]]
      return fail(DecodeFault::kMemory);
    memory_left_ -= bytes;
    return true;
  }
  /// Returns for how many of `count` elements to reserve memory at once: as much as there are bytes left, so
  /// that a count which lies gets no memory for it.
  std::size_t reservation(std::size_t count, std::size_t element_bytes) const {
    const std::size_t covered = remaining() / element_bytes;
    return count < covered ? count : covered;
  }
  /// Goes one level into containers and pointers; leave() must follow success.
  bool enter() {
    if (depth_ == CodecLimits::kDepthMax) [[unlikely]]
      return fail(DecodeFault::kDepth);
    ++depth_;
    return true;
  }
  bool leave() {
    --depth_;
    return true;
  }
  /// Records the fault; always returns false.
  bool fail(DecodeFault fault) {
    fault_ = fault;
    return false;
  }

  std::size_t remaining() const { return static_cast<std::size_t>(end_ - at_); }
  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }
  Bytes rest() const { return {at_, remaining()}; }
  DecodeFault fault() const { return fault_; }
  DecodeArena& arena() { return arena_; }

  /// Makes the message end after the next `size` bytes (at most remaining()); answers the end as it was.
  const std::byte* narrow(std::size_t size) {
    const std::byte* end = end_;
    end_ = at_ + size;
    return end;
  }
  void widen(const std::byte* end) { end_ = end; }

 private:
  bool skip_padding(std::size_t alignment) {
    const std::size_t size = (0 - offset()) & (alignment - 1);
    if (size > remaining()) [[unlikely]]
      return fail(DecodeFault::kTruncated);
    for (const std::byte* end = at_ + size; at_ != end; ++at_) {
      if (*at_ != std::byte{0}) [[unlikely]]
        return fail(DecodeFault::kPadding);
    }
    return true;
  }
  bool take_empty_elements(std::uint32_t count) {
    if (count > empty_elements_left_) [[unlikely]]
      return fail(DecodeFault::kEmptyElements);
    empty_elements_left_ -= count;
    return true;
  }

  const std::byte* begin_;
  const std::byte* at_;
  const std::byte* end_;
  DecodeArena& arena_;
  std::size_t memory_left_;
  std::size_t empty_elements_left_ = CodecLimits::kEmptyElementsMax;
  unsigned depth_ = 0;
  DecodeFault fault_ = DecodeFault::kNone;
};

namespace codec_detail {

/// The failure for a `fault` at byte `offset` of a message of `size` bytes, in value number `value` (from 0).
[[gnu::cold]] Status decode_failure(DecodeFault fault, std::size_t offset, std::size_t size, unsigned value);
/// Returns the failure of a call for an exception thrown while its result was decoded. Call only within a
/// catch block.
[[gnu::cold]] Status failure_of_decoding() noexcept;

/// Returns true if `rest`, the end of a message, is a list of additions: each a u32 length and as many bytes,
/// or kAbsent; the last one must not be absent. Takes no Decoder, so that the one in decode_from() can stay
/// in registers.
bool is_trailer(Bytes rest);

/// The length of an addition that is not there.
inline constexpr std::uint32_t kAbsent = 0xFFFF'FFFF;

}  // namespace codec_detail
}  // namespace weft::detail
