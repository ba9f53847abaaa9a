// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "weft/detail/codec/check.hpp"
#include "weft/detail/codec/choices.hpp"
#include "weft/detail/codec/composites.hpp"
#include "weft/detail/codec/hooks.hpp"
#include "weft/detail/codec/keyed.hpp"
#include "weft/detail/codec/scalars.hpp"
#include "weft/detail/codec/sequences.hpp"
#include "weft/detail/codec/trailer.hpp"

/// Values to bytes and back: arguments and results of calls. The format is docs/internals/codec.md.
namespace weft::detail {

/// The size of the message made of `Ts...`, where it is the same for all values.
template <typename... Ts>
constexpr std::optional<std::size_t> fixed_size() {
  if ((... && (codec_detail::facts<Ts>.fixed_size != codec_detail::kNotFixed))) {
    return (std::size_t{0} + ... + codec_detail::facts<Ts>.fixed_size);
  }
  return std::nullopt;
}

/// The exact number of bytes that encode_to() writes for `values`; a constant where fixed_size() has one.
/// kUnencodable when a value must not be sent (see there); then encode_to() must not be called.
template <typename... Ts>
std::size_t encoded_size(const Ts&... values) {
  if constexpr ((... && codec_detail::explain<codec_detail::encode_problem<Ts>>())) {
    if constexpr (constexpr auto kFixed = fixed_size<Ts...>(); kFixed.has_value()) {
      return *kFixed;
    } else {
      Sizer size;
      size.add(values...);
      if constexpr (codec_detail::additions_count<Ts...> != 0) codec_detail::size_additions(size, values...);
      return size.result();
    }
  } else {
    return kUnencodable;
  }
}

/// Writes the values of a message into `size` bytes at `to`, beside `runs`.
template <typename... Ts>
void encode_message(std::byte* to, std::size_t size, LentRuns* runs, const Ts&... values) {
  BasicEncoder<runs_hooks<Ts...>()> encoder{to, size, runs};
  encoder.write(values...);
  if constexpr (codec_detail::additions_count<Ts...> != 0) codec_detail::encode_additions(encoder, values...);
  encoder.end();
}

/// Writes `values` to `to`, the first byte of the message; `size` is what encoded_size() returned for them.
/// Throws what hooks throw, and std::logic_error if hooks write another number of bytes than they counted:
/// nothing is written past the message. Allocates nothing. The message should begin at an address that is a
/// multiple of 8, here and at the reader, so that views need no copy.
template <typename... Ts>
void encode_to(std::byte* to, std::size_t size, const Ts&... values) {
  if constexpr ((... && codec_detail::explain<codec_detail::encode_problem<Ts>>())) {
    encode_message(to, size, nullptr, values...);
  }
}
/// The same for values whose encoding runs no hooks, so that their size need not be known.
template <typename... Ts>
  requires(!runs_hooks<Ts...>())
void encode_plain_to(std::byte* to, const Ts&... values) {
  if constexpr ((... && codec_detail::explain<codec_detail::encode_problem<Ts>>())) {
    encode_message(to, 0, nullptr, values...);
  }
}

/// Values of `Ts` can be sent, and long runs may be in them.
template <typename... Ts>
consteval bool may_have_runs() {
  if constexpr ((... && (codec_detail::encode_problem<Ts> == codec_detail::Problem::kNone))) {
    return !fixed_size<Ts...>().has_value();
  } else {
    return false;
  }
}

/// Offers the long runs in `values`, which may_have_runs(), to `runs`.
template <typename... Ts>
void find_runs(LentRuns& runs, const Ts&... values) {
  Sizer{runs}.add(values...);
}

/// Writes what encode_to() writes, but for `runs`, which find_runs() filled for the same values, and which
/// have their places afterwards; `size` does not count them.
template <typename... Ts>
void encode_around(std::byte* to, std::size_t size, LentRuns& runs, const Ts&... values) {
  encode_message(to, size, &runs, values...);
}
/// The same for values whose encoding runs no hooks, so that their size need not be known.
template <typename... Ts>
  requires(!runs_hooks<Ts...>())
void encode_plain_around(std::byte* to, LentRuns& runs, const Ts&... values) {
  encode_message(to, 0, &runs, values...);
}

/// Reads `out...` from `message`, which must be a complete message that encode_to() wrote for values of the
/// same schema. Views in `out` point into `message`, or into `arena` where their bytes are unaligned; both
/// must outlive them. Errors: kInvalidArgument, layer kCodec, with the fault and its position; then `out`
/// holds valid objects with unspecified values.
template <typename... Ts>
Result<void> decode_from(Bytes message, DecodeArena& arena, Ts&... out) {
  if constexpr ((... && codec_detail::explain<codec_detail::decode_problem<Ts, Ts>>())) {
    Decoder decoder{message, arena};
    unsigned value = 0;
    bool good = (... && (decoder.read(out) && (++value, true)));
    if constexpr (codec_detail::additions_count<Ts...> != 0) {
      good = good && codec_detail::decode_additions(decoder, out...);
    } else if (decoder.remaining() != 0) [[unlikely]] {
      good = good && (codec_detail::is_trailer(decoder.rest()) || decoder.fail(DecodeFault::kTrailer));
    }
    if (!good) [[unlikely]] {
      return codec_detail::decode_failure(decoder.fault(), decoder.offset(), message.size(), value);
    }
  }
  return {};
}

namespace codec_detail {

template <typename... Ts>
constexpr std::uint64_t hash_schema() {
  // Users of a type ask for its schema first, so the compiler reports this explanation first.
  if constexpr ((... && explain<encode_problem<Ts>>())) {
    SchemaWriter writer;
    writer.put("(");
    writer.list<Ts...>();
    writer.put(")");
    return writer.hash();
  } else {
    return 0;
  }
}
template <typename... Ts>
inline constexpr std::uint64_t schema_hash_value = hash_schema<Ts...>();

}  // namespace codec_detail

/// A number for the structure of `Ts...`, the same with every compiler. Types that look alike on the wire and
/// mean the same (std::string and std::string_view, std::vector and std::span) have the same; Compatible does
/// not count.
template <typename... Ts>
constexpr std::uint64_t schema_hash() {
  return codec_detail::schema_hash_value<Ts...>;
}

/// The structure of `Ts...` for people: "(i32, string, {f64, [u8]})".
template <typename... Ts>
std::string schema_text() {
  std::string text;
  if constexpr ((... && codec_detail::explain<codec_detail::encode_problem<Ts>>())) {
    SchemaWriter writer{&text};
    writer.put("(");
    writer.list<Ts...>();
    writer.put(")");
  }
  return text;
}

}  // namespace weft::detail
