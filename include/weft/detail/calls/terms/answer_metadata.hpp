// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/terms/metadata.hpp"
#include "weft/detail/memory/buffer.hpp"

namespace weft {

namespace detail {
class LocalBudget;
}  // namespace detail

/// Metadata that came with the answer of a call, or with its failure: see CallOptions::answer_metadata. The
/// bytes count in the client's memory until the last copy ends; copies share them.
class AnswerMetadata {
 public:
  /// Metadata that the handler sent ahead of its answer, or of the items of its stream. Views are valid as
  /// long as this object, or a copy, keeps the bytes.
  MetadataView initial() const { return view_of(initial_); }
  /// Metadata at the end of the call.
  MetadataView trailing() const { return view_of(trailing_); }
  bool empty() const { return initial_ == nullptr && trailing_ == nullptr; }

  /// Adds pairs of a peer, charged to `memory`. Fails when they are malformed or exceed the limits of
  /// Metadata together with earlier ones, and when memory is exhausted.
  Status take(Bytes pairs, bool initial, detail::LocalBudget& memory) noexcept;

 private:
  using Kept = std::shared_ptr<const Buffer>;

  static MetadataView view_of(const Kept& kept) {
    return kept != nullptr ? MetadataView{kept->bytes()} : MetadataView{};
  }

  Kept initial_;
  Kept trailing_;
};

}  // namespace weft
