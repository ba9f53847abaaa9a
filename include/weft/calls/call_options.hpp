// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "weft/base/bytes.hpp"
#include "weft/base/time.hpp"
#include "weft/calls/metadata.hpp"

namespace weft {

/// Memory to be sent behind a request without being serialised or copied: one piece, or several gathered in
/// order. A view, trivially copyable: the bytes, and the array of pieces, belong to the caller until the call
/// has ended.
class AttachmentView {
 public:
  AttachmentView() = default;
  AttachmentView(Bytes bytes) : data_(bytes.data()), count_(bytes.size()) {}  // NOLINT: a view converts
  AttachmentView(MutableBytes bytes) : AttachmentView(Bytes{bytes}) {}        // NOLINT: a view converts
  AttachmentView(std::span<const Bytes> pieces)                               // NOLINT: a view converts
      : data_(pieces.data()), count_(pieces.size()), gathered_(true) {}

  std::size_t pieces() const { return gathered_ ? count_ : (count_ != 0 ? 1 : 0); }
  Bytes piece(std::size_t index) const {
    if (gathered_) return static_cast<const Bytes*>(data_)[index];
    return {static_cast<const std::byte*>(data_), count_};
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < pieces(); ++i) sum += piece(i).size();
    return sum;
  }

 private:
  const void* data_ = nullptr;
  std::size_t count_ = 0;
  bool gathered_ = false;
};

/// Options of one call. Trivially copyable on purpose: g++ 12 destroys a braced temporary inside a co_await
/// expression twice, which is harmless only for such a type (docs/pitfalls).
struct CallOptions {
  /// How long the call may take, from its beginning on; zero: as long as ClientOptions::call_timeout says.
  /// The earliest of this, `deadline` and the deadline that the calling coroutine carries counts. kNoTimeout:
  /// only these two. Negative, such as what is left of a time that is over: it has passed.
  Duration timeout = Duration::zero();
  Deadline deadline{};
  /// Sent behind the request, leased until the call has ended.
  AttachmentView attachment{};
  /// Where the attachment of the answer is to land; it fails the call when the answer brings more than fits.
  /// Leased until the call has ended.
  MutableBytes landing{};
  /// Travels beside the arguments, and stays as it is until the call has ended. A call that a coroutine
  /// awaits while it serves another one carries that one's when it is given none; with an empty Metadata it
  /// carries none.
  MetadataView metadata{};
};

}  // namespace weft
