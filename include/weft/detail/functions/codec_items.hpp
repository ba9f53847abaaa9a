// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "weft/detail/base/status.hpp"
#include "weft/detail/codec/codec.hpp"
#include "weft/detail/codec/hooks.hpp"
#include "weft/detail/functions/encoded_ahead.hpp"

namespace weft::detail {

/// Format of a stream's items that are values of the codec; see ReadItem and send_item().
template <typename T>
struct CodecItems {
  using Item = T;
  using Value = std::optional<T>;
  /// Keeps what an item's views show beside its bytes.
  using Memory = DecodeArena;

  /// write() runs user code: items are encoded ahead.
  static constexpr bool kRunsHooks = runs_hooks<T>();
  using Ahead = EncodedAhead;

  static void clear(DecodeArena& arena) noexcept { arena.clear(); }
  static std::size_t bytes(const T& item) { return encoded_size(item); }
  static void write(std::byte* to, std::size_t bytes, const T& item) { encode_to(to, bytes, item); }
  static std::optional<T> read(Bytes body, DecodeArena& arena, Status& failure) noexcept {
    std::optional<T> item;
    try {
      Result<void> decoded = decode_from(body, arena, item.emplace());
      if (decoded.ok()) [[likely]] {
        return item;
      }
      failure = std::move(decoded).status().with_context("an item of a stream");
    } catch (const std::bad_alloc&) {
      failure = {StatusCode::kResourceExhausted, Layer::kCodec, "out of memory for an item of a stream"};
    } catch (const std::exception& exception) {  // a hook of the user's
      failure = {StatusCode::kInvalidArgument, Layer::kCodec,
                 [&] { return std::string{"an item of a stream: decoding it threw: "} + exception.what(); }};
    } catch (...) {
      failure = {StatusCode::kInvalidArgument, Layer::kCodec,
                 "an item of a stream: decoding it threw something that is no std::exception"};
    }
    item.reset();
    return item;
  }
};

}  // namespace weft::detail
