// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft {

/// Pairs of key and value that travel beside the arguments of a call (such as a user, a trace, a tenant), in
/// wire format: for each pair two bytes of key length, two of value length, key, value. A trivially copyable
/// view: the bytes belong to another object.
class MetadataView {
 public:
  using Pair = std::pair<std::string_view, std::string_view>;

  class Iterator {
   public:
    using value_type = Pair;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    explicit Iterator(const std::byte* at) : at_(at) {}
    Pair operator*() const { return {{text(), key_bytes()}, {text() + key_bytes(), value_bytes()}}; }
    Iterator& operator++() {
      at_ += kLengths + key_bytes() + value_bytes();
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    std::size_t key_bytes() const { return detail::load_le<std::uint16_t>(at_); }
    std::size_t value_bytes() const { return detail::load_le<std::uint16_t>(at_ + 2); }
    const char* text() const { return reinterpret_cast<const char*>(at_ + kLengths); }

    const std::byte* at_ = nullptr;
  };

  /// None: a call with it carries what the call that is being served brought.
  MetadataView() = default;
  /// `bytes` are is_metadata().
  explicit MetadataView(Bytes bytes) : data_(bytes.data()), size_(bytes.size()) {}

  /// Returns the first value of `key`, which may be any bytes; iterate over the pairs for further ones.
  std::optional<std::string_view> find(std::string_view key) const;
  Iterator begin() const { return Iterator{data_}; }
  Iterator end() const { return Iterator{data_ + size_}; }
  bool empty() const { return size_ == 0; }
  Bytes bytes() const { return {data_, size_}; }
  /// False for none, true for a Metadata's, even one without pairs.
  bool is_given() const { return data_ != nullptr; }

 private:
  static constexpr std::size_t kLengths = 4;

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Metadata that a caller fills in. A call that is given it (CallOptions::metadata) refers to it until it
/// has ended, so it is not changed, moved or destroyed before: set() and add() end all views.
class Metadata {
 public:
  Metadata() = default;
  /// Copies `pairs`, to add to received metadata: `Metadata more{context.metadata()}`.
  explicit Metadata(MetadataView pairs) : block_(pairs.bytes().begin(), pairs.bytes().end()) {}

  /// Replaces all values of `key`. Errors: kInvalidArgument for an empty key, kResourceExhausted when all
  /// pairs together would exceed wire::kMetadataBytesMax, four bytes for each pair counted, or
  /// kMetadataPairsMax. The metadata are unchanged then.
  Result<void> set(std::string_view key, std::string_view value);
  /// Appends a pair; earlier values of `key` stay, and all keep their order. Errors: as set().
  Result<void> add(std::string_view key, std::string_view value);

  MetadataView view() const& {
    return MetadataView{Bytes{block_.empty() ? &kNoPair : block_.data(), block_.size()}};
  }
  MetadataView view() const&& = delete;
  operator MetadataView() const& { return view(); }  // NOLINT: a view converts
  operator MetadataView() const&& = delete;

 private:
  /// Target of a view without pairs, which tells it from a view of nothing.
  static constexpr std::byte kNoPair{};

  std::vector<std::byte> block_;
};

/// Largest number of pairs that a call may carry.
inline constexpr std::size_t kMetadataPairsMax = 64;

namespace detail {

/// Returns true if the bytes of a peer are at most kMetadataPairsMax whole pairs, each with a key.
bool is_metadata(Bytes bytes) noexcept;

/// Removes all pairs of `key` from `metadata`, for which is_metadata() is true: later pairs move up, and the
/// rest is zeroed. Returns the number of bytes of the other pairs.
std::size_t remove_pairs(MutableBytes metadata, std::string_view key) noexcept;

}  // namespace detail

}  // namespace weft
