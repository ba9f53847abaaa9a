// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>

namespace weft::testing {

/// TLS of OpenSSL in memory: what it would send is taken, what it received is given.
class RawTls {
 public:
  RawTls()
      : context_(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free), ssl_(SSL_new(context_.get()), &SSL_free) {
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    char name[] = "localhost";  // SSL_set_tlsext_host_name() is a macro of old casts
    SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name);
    SSL_set_connect_state(ssl_.get());
  }

  /// Comes back with the session that `before` was given.
  explicit RawTls(const RawTls& before) : RawTls() {
    const std::unique_ptr<SSL_SESSION, void (*)(SSL_SESSION*)> session{SSL_get1_session(before.ssl_.get()),
                                                                       &SSL_SESSION_free};
    SSL_set_session(ssl_.get(), session.get());
  }

  /// The bytes that the session's ticket lets a client send with its first message.
  std::uint32_t early_bytes_max() const {
    return SSL_SESSION_get_max_early_data(SSL_get_session(ssl_.get()));
  }
  /// Sends `bytes` with the first message, whatever the ticket says. Before the handshake.
  bool write_early(const std::string& bytes) {
    SSL_SESSION_set_max_early_data(SSL_get_session(ssl_.get()), 16384);
    std::size_t written = 0;
    return SSL_write_early_data(ssl_.get(), bytes.data(), bytes.size(), &written) == 1;
  }
  bool early_is_refused() const { return SSL_get_early_data_status(ssl_.get()) == SSL_EARLY_DATA_REJECTED; }
  bool has_ticket() const { return SSL_SESSION_is_resumable(SSL_get_session(ssl_.get())) == 1; }
  bool resumed() const { return SSL_session_reused(ssl_.get()) == 1; }
  bool shake_hands() { return SSL_do_handshake(ssl_.get()) == 1; }
  /// Speaks nothing above TLS 1.2. Before the handshake.
  void be_old() { SSL_set_max_proto_version(ssl_.get(), TLS1_2_VERSION); }
  /// Asks for records of 512 bytes. Before the handshake.
  void ask_for_short_records() {
    SSL_set_tlsext_max_fragment_length(ssl_.get(), TLSEXT_max_fragment_length_512);
  }
  bool renegotiate() { return SSL_renegotiate(ssl_.get()) == 1 && SSL_do_handshake(ssl_.get()) == 1; }
  bool update_key() {
    return SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1 && SSL_do_handshake(ssl_.get()) == 1;
  }
  /// Reads plain bytes, what comes of TLS's own among them. Returns how many; 0: there are none now.
  std::size_t read_some() {
    char bytes[16384];
    std::size_t got = 0;
    return SSL_read_ex(ssl_.get(), bytes, sizeof bytes, &got) == 1 ? got : 0;
  }
  bool read() { return read_some() > 0; }
  bool write(const std::string& bytes) {
    return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  /// Says goodbye.
  void end() { SSL_shutdown(ssl_.get()); }
  std::string take() {
    std::string bytes(BIO_ctrl_pending(SSL_get_wbio(ssl_.get())), '\0');
    if (!bytes.empty()) BIO_read(SSL_get_wbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }
  void give(const std::string& bytes) {
    if (!bytes.empty()) BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
  }

 private:
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
};

}  // namespace weft::testing
