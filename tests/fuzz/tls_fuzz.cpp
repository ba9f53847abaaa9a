// SPDX-License-Identifier: Apache-2.0
// A server's TLS: whatever a peer sends, before the handshake and behind it, and however its records are cut,
// spoilt, repeated or left out, a connection is served or fails with a reason, and nothing else happens.
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "support/test_ca.hpp"
#include "transport/tls/context.hpp"
#include "transport/tls/tls_engine.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/memory/chunk_pool.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft {
namespace {

using namespace weft::detail;
using tls::Owned;
using tls::TlsEngine;

// Made once: a fuzzer has no time for keys.
struct Authority {
  testing::TestCa ca;
  std::shared_ptr<tls::ServerNames> names;
  Owned<SSL_CTX> client{SSL_CTX_new(TLS_client_method())};
  std::unique_ptr<Loop> loop = Loop::create().value();

  Authority() {
    TlsOptions options{.certificates = {ca.issue()}};
    options.version_min = TlsVersion::k12;
    names = tls::make_server_contexts(options).value();
    names->ticket_keys().see(TimePoint{std::chrono::hours{1}});
  }
  static Authority& get() {
    static Authority authority;
    return authority;
  }
};

/// A client of OpenSSL's own in memory.
class Peer {
 public:
  explicit Peer(bool old) : ssl_(SSL_new(Authority::get().client.get())) {
    if (old) SSL_set_max_proto_version(ssl_.get(), TLS1_2_VERSION);
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(ssl_.get());
  }
  void take_in(Bytes from) {
    if (!from.empty()) BIO_write(SSL_get_rbio(ssl_.get()), from.data(), static_cast<int>(from.size()));
    char bytes[4096];
    for (int reads = 0; reads < 16 && SSL_read(ssl_.get(), bytes, sizeof bytes) > 0; ++reads) {
    }
    ERR_clear_error();
  }
  void say(std::size_t bytes) {
    const std::string text(bytes, 'x');
    if (!text.empty()) SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size()));
    ERR_clear_error();
  }
  void update_key() {
    if (SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_REQUESTED) == 1) SSL_do_handshake(ssl_.get());
    ERR_clear_error();
  }
  void end() {
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
  }
  std::string take() {
    std::string bytes(BIO_ctrl_pending(SSL_get_wbio(ssl_.get())), '\0');
    if (!bytes.empty()) BIO_read(SSL_get_wbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }

 private:
  Owned<SSL> ssl_;
};

class Served {
 public:
  explicit Served(bool old)
      : engine_(*Authority::get().loop, tls::Side::kServer, Authority::get().names->make(),
                Authority::get().names),
        peer_(old) {
    WEFT_ASSERT(engine_.open(), "memory is there");
  }

  bool failed() const { return failed_; }
  /// Gives `bytes` to the server, in parts as they fit, and the server's answers to the peer.
  void give(std::string_view bytes) {
    do {
      CipherRoom room{engine_.input()};
      const std::size_t part = room.put(bytes);
      bytes.remove_prefix(part);
      step();
    } while (!bytes.empty() && !failed_);
  }
  Peer& peer() { return peer_; }
  /// The server says something, or ends.
  void speak(bool ends) {
    if (!open_ || failed_) return;
    const std::string text(300, 'y');
    const iovec from{const_cast<char*>(text.data()), text.size()};
    std::size_t taken = 0;
    if (ends) engine_.end();
    if (!ends && engine_.output().empty()) engine_.write({&from, 1}, taken);
    answer();
  }

 private:
  struct CipherRoom {
    tls::CipherBuffer& buffer;
    std::size_t put(std::string_view bytes) {
      if (!buffer.empty() || bytes.empty()) return 0;
      WEFT_ASSERT(buffer.open(1), "memory is there");
      const std::size_t part = std::min(bytes.size(), buffer.room().size());
      std::memcpy(buffer.room().data(), bytes.data(), part);
      buffer.add(part);
      return part;
    }
  };

  void answer() {
    const Bytes output = engine_.output().bytes();
    peer_.take_in(output);
    engine_.output().drop(output.size());
  }
  void greet() {
    char words[] = "a hello";
    const iovec hello{words, sizeof words};
    std::size_t taken = 0;
    WEFT_ASSERT(engine_.write({&hello, 1}, taken) == TlsEngine::Outcome::kDone, "there is room for it");
    answer();
  }
  void step() {
    for (int turns = 0; turns < 256 && !failed_; ++turns) {
      std::byte plain[2048];
      std::size_t got = 0;
      const TlsEngine::Outcome outcome = open_ ? engine_.read(plain, got) : engine_.shake_hands();
      answer();
      switch (outcome) {
        case TlsEngine::Outcome::kDone:
          WEFT_ASSERT(!open_ || got > 0, "a read that is done brought bytes");
          open_ = true;
          break;
        case TlsEngine::Outcome::kWantsInput:
          WEFT_ASSERT(engine_.input().empty(), "what is there is taken first");
          return;
        case TlsEngine::Outcome::kWantsOutput:
          break;
        case TlsEngine::Outcome::kGreets:
          greet();
          break;
        case TlsEngine::Outcome::kEnded:
          failed_ = true;
          break;
        case TlsEngine::Outcome::kFailed:
          WEFT_ASSERT(!engine_.failure().ok() && !engine_.failure().message().empty(), "a failure says why");
          failed_ = true;
          break;
      }
    }
  }

  TlsEngine engine_;
  Peer peer_;
  bool open_ = false;
  bool failed_ = false;
};

// Bytes of nobody's making.
void raw(std::string_view input) {
  Served served{false};
  served.give(input);
}

// A true client, whose bytes are treated as the input says, two bytes for each step.
void script(bool old, std::string_view input) {
  Served served{old};
  std::string kept;
  served.peer().take_in({});
  for (std::size_t at = 0; at + 1 < input.size() && !served.failed(); at += 2) {
    const auto deed = static_cast<unsigned char>(input[at]);
    const auto much = static_cast<unsigned char>(input[at + 1]);
    std::string bytes = kept + served.peer().take();
    kept.clear();
    switch (deed % 10) {
      case 0:
        served.peer().say(std::size_t{much} * 80);
        break;
      case 1:
        if (!bytes.empty()) bytes[much % bytes.size()] = static_cast<char>(bytes[much % bytes.size()] ^ deed);
        break;
      case 2:
        kept = bytes.substr(bytes.size() * much / 256);
        bytes.resize(bytes.size() - kept.size());
        break;
      case 3:
        bytes += bytes;
        break;
      case 4:
        bytes = bytes.substr(0, bytes.size() * much / 256);
        break;
      case 5:
        bytes.insert(bytes.size() * much / 256, input.substr(at, 7));
        break;
      case 6:
        served.peer().update_key();
        break;
      case 7:
        served.peer().end();
        break;
      case 8:
        served.speak(much == 0);
        break;
      default:
        break;
    }
    served.give(bytes);
  }
}

}  // namespace
}  // namespace weft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 65536) return 0;
  const std::string_view input{reinterpret_cast<const char*>(data) + 1, size - 1};
  data[0] % 3 == 0 ? weft::raw(input) : weft::script(data[0] % 3 == 1, input);
  return 0;
}
