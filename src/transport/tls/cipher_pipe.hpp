// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "transport/tls/cipher_buffer.hpp"
#include "weft/detail/transport/base_carrier.hpp"

namespace weft::detail::tls {

/// Moves encrypted bytes between buffers and the base of a TlsCarrier, which it owns.
class CipherPipe {
 public:
  explicit CipherPipe(std::unique_ptr<BaseCarrier> base) noexcept : base_(std::move(base)) {}

  BaseCarrier& base() const noexcept { return *base_; }
  /// Receives into `input`, which is open and empty. kSome: there is some.
  Moved fill(CipherBuffer& input) noexcept;
  /// The base has no more for now; until it reports, fill() need not be called.
  bool is_drained() const noexcept { return drained_; }
  void on_readable() noexcept { drained_ = false; }
  /// Drops incoming bytes, for a while. Returns false when no more bytes follow.
  bool drop_input() noexcept;
  /// Returns the error of the base after the end announced by TLS; zero when it did not fail, or ended
  /// properly. Bytes that arrive there are dropped.
  int error_behind_end() noexcept;
  /// Receives unencrypted bytes: first the bytes in `kept`, which arrived before the protocol was known.
  Moved receive_plain(CipherBuffer& kept, std::span<const iovec> into, std::span<const iovec> landing);
  /// Sends the bytes in `output`. Returns true when all of them have left.
  bool flush(CipherBuffer& output) noexcept;
  /// Returns the errno of the send that failed, or 0.
  int send_error() const noexcept { return send_error_; }

 private:
  const std::unique_ptr<BaseCarrier> base_;
  int send_error_ = 0;
  bool drained_ = false;
};

}  // namespace weft::detail::tls
