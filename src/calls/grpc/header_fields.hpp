// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calls/grpc/http2_session.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/terms/metadata.hpp"

namespace weft::detail::grpc {

/// Fields of one block of headers that is sent. Reused for each block of a connection, and keeps its memory.
/// The functions that add fields throw std::bad_alloc.
class HeaderFields {
 public:
  void clear() noexcept;
  /// Both are constants of the program.
  void add_constant(std::string_view name, std::string_view value);
  void add_number(std::string_view name, std::uint64_t value);
  /// Adds the head of an answer.
  void add_answer_head();
  /// Adds the outcome of a call.
  void add_outcome(const Status& outcome);
  /// `pairs` passed check_answer_pairs(), and stay until the block is sent.
  void add_pairs(MetadataView pairs);

  /// Valid until the next change.
  std::span<const Field> fields() noexcept;

 private:
  /// Place of a value in text_.
  struct OwnValue {
    std::size_t field;
    std::size_t begin;
    std::size_t size;
  };

  /// The end of text_, from `begin` on, is the value of a new field.
  void add_own(std::string_view name, std::size_t begin);
  void add_base64(std::string_view name, std::string_view bytes);

  std::vector<Field> fields_;
  std::vector<OwnValue> own_;
  std::string text_;
};

/// Returns the fault of metadata that a handler gives; ok if gRPC carries them.
Status check_answer_pairs(MetadataView pairs);

}  // namespace weft::detail::grpc
