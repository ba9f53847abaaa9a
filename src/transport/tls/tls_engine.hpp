// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "transport/tls/cipher_buffer.hpp"
#include "transport/tls/handles.hpp"
#include "transport/tls/peer_identity.hpp"
#include "transport/tls/spare_buffers.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/transport/base_secret.hpp"

namespace weft::detail::tls {

/// One connection's TLS without its I/O: plain bytes on one side, encrypted ones in two buffers on the other.
/// Belongs to one loop.
class TlsEngine final : public BaseSecret {
 public:
  enum class Outcome : std::uint8_t {
    kDone,
    kWantsInput,   ///< again when there is more in input()
    kWantsOutput,  ///< again when output() has room
    kGreets,       ///< a server has said its part of the handshake: write() behind it, and go on
    kEnded,        ///< the peer has said that no more comes
    kFailed,       ///< see failure(); output() may have an alert that tells the peer
  };

  /// `ssl` refers to `owner_of_ssl`, which is kept as long; null: to nothing.
  TlsEngine(Loop& loop, Side side, Owned<SSL> ssl, std::shared_ptr<const void> owner_of_ssl) noexcept;
  TlsEngine(const TlsEngine&) = delete;
  TlsEngine& operator=(const TlsEngine&) = delete;
  ~TlsEngine();

  /// Connects OpenSSL to the buffers. Returns false when memory is exhausted.
  bool open() noexcept;

  CipherBuffer& input() noexcept { return input_; }
  CipherBuffer& output() noexcept { return output_; }
  Side side() const noexcept { return side_; }

  /// Goes on with the handshake. kDone: it is over. kGreets comes once, before it is.
  Outcome shake_hands() noexcept;
  /// True from kGreets to the next shake_hands(): write() then goes to an unknown peer, so it may carry
  /// public bytes only.
  bool is_greeting() const noexcept { return greeting_ == Greeting::kNow; }
  /// Decrypts into `into`. kDone: `got` bytes, at least one.
  Outcome read(MutableBytes into, std::size_t& got) noexcept;
  /// Little is in output(), and a record has room behind it.
  bool takes_more() const noexcept;
  /// Encrypts the beginning of `from`, as much as output() has room for, in records as long as possible.
  /// kDone: `taken` bytes, and their memory is returned to the caller; at least one when output() was empty,
  /// or takes_more().
  Outcome write(std::span<const iovec> from, std::size_t& taken) noexcept;
  /// Tells the peer that no more comes.
  void end() noexcept;

  /// Reason of the last kFailed.
  const Status& failure() const noexcept { return failure_; }
  /// The handshake that is done was one without certificates: of a session from before.
  bool resumed() const noexcept { return SSL_session_reused(ssl_.get()) == 1; }
  /// Version and cipher, for people.
  std::string description() const;
  /// Returns the protocol that both ends chose by ALPN (RFC 7301); empty before that, and for a client that
  /// named none.
  std::string_view agreed_protocol() const noexcept;
  /// Derives bytes by the session's exporter (RFC 5705) for `purpose`, once the handshake is over: the same
  /// at both ends. False also when TLS 1.2 was spoken in the way that lets two sessions have one secret.
  bool derive(std::string_view purpose, MutableBytes into) noexcept override;
  /// Returns identity_of_peer(), once the handshake is over.
  Identity peer_identity() const noexcept { return identity_of_peer(*ssl_); }

 private:
  static int write_bio(BIO* bio, const char* from, std::size_t bytes, std::size_t* written) noexcept;
  static int read_bio(BIO* bio, char* into, std::size_t bytes, std::size_t* got) noexcept;
  static long control_bio(BIO* bio, int command, long number, void* pointer) noexcept;
  static BIO_METHOD* bio_method() noexcept;
  Outcome outcome_of(int result) noexcept;
  Outcome say_our_part() noexcept;

  CipherBuffer input_;
  CipherBuffer output_;
  const Side side_;
  const std::shared_ptr<const void> owner_of_ssl_;
  const Owned<SSL> ssl_;
  SpareBuffers spare_buffers_;
  /// Times that OpenSSL may still ask for input before it has to have bytes for us.
  int asks_left_ = 0;
  enum class Greeting : std::uint8_t { kNone, kToCome, kNow };
  Greeting greeting_ = Greeting::kNone;
  Status failure_;
};

}  // namespace weft::detail::tls
