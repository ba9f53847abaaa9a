// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/tls_engine.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "transport/tls/failure.hpp"
#include "transport/tls/openssl.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::tls {

namespace {

constexpr std::size_t kRecordBytes = 16 * 1024;
// A record and the overhead of a cipher: at most 29 bytes, for each of 32 records where the peer has asked
// for records of 512 bytes. Nothing is encrypted without room for it.
constexpr std::size_t kRecordRoom = kRecordBytes + 1024;
// Alerts, key updates.
constexpr std::size_t kWordsRoom = 4 * 1024;
// OpenSSL asks twice for each record. A peer that sends more records without data, such as key updates, only
// wants to keep us busy: each costs this side some microseconds.
constexpr int kAsksMax = 2 * 64;

constexpr FixedFailure kNothingButWords{StatusCode::kResourceExhausted, Layer::kTransport, Retry::kReconnect,
                                        "TLS: the peer sends records without data, again and again"};

std::size_t total_of(std::span<const iovec> pieces) noexcept {
  std::size_t total = 0;
  for (const iovec& piece : pieces) total += piece.iov_len;
  return total;
}

// The next bytes of pieces that lie apart: one record of several of them, or of one without a copy.
class Gatherer {
 public:
  explicit Gatherer(std::span<const iovec> pieces) noexcept : pieces_(pieces) { skip_empty(); }

  bool empty() const noexcept { return pieces_.empty(); }
  Bytes next(std::byte (&scratch)[kRecordBytes]) noexcept {
    const Bytes front = rest_of_front();
    if (front.size() >= kRecordBytes) return take(kRecordBytes);
    if (pieces_.size() == 1) return take(front.size());
    std::size_t filled = 0;
    while (!empty() && filled < kRecordBytes) {
      const Bytes part = take(std::min(rest_of_front().size(), kRecordBytes - filled));
      std::memcpy(scratch + filled, part.data(), part.size());
      filled += part.size();
    }
    return {scratch, filled};
  }

 private:
  Bytes rest_of_front() const noexcept {
    const iovec& front = pieces_.front();
    return {static_cast<const std::byte*>(front.iov_base) + taken_, front.iov_len - taken_};
  }
  Bytes take(std::size_t bytes) noexcept {
    const Bytes part = rest_of_front().first(bytes);
    taken_ += bytes;
    skip_empty();
    return part;
  }
  void skip_empty() noexcept {
    while (!pieces_.empty() && taken_ == pieces_.front().iov_len) {
      pieces_ = pieces_.subspan(1);
      taken_ = 0;
    }
  }

  std::span<const iovec> pieces_;
  std::size_t taken_ = 0;
};

}  // namespace

TlsEngine::TlsEngine(Loop& loop, Side side, Owned<SSL> ssl, std::shared_ptr<const void> owner_of_ssl) noexcept
    : input_(loop.chunks()),
      output_(loop.chunks()),
      side_(side),
      owner_of_ssl_(std::move(owner_of_ssl)),
      ssl_(std::move(ssl)),
      spare_buffers_(loop, *ssl_) {}

// A byte stream that was lost is no reason not to resume: without this OpenSSL would not. After an alert it
// does not.
TlsEngine::~TlsEngine() {
  if (SSL_is_init_finished(ssl_.get()) == 1) {
    SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  }
}

BIO_METHOD* TlsEngine::bio_method() noexcept {
  static const Owned<BIO_METHOD> method = [] {
    Owned<BIO_METHOD> made{BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weft")};
    if (made == nullptr || BIO_meth_set_write_ex(made.get(), write_bio) != 1 ||
        BIO_meth_set_read_ex(made.get(), read_bio) != 1 || BIO_meth_set_ctrl(made.get(), control_bio) != 1) {
      made.reset();
    }
    return made;
  }();
  return method.get();
}

bool TlsEngine::open() noexcept {
  BIO_METHOD* const method = bio_method();
  BIO* const bio = method != nullptr ? BIO_new(method) : nullptr;
  if (bio == nullptr) {
    ERR_clear_error();
    return false;
  }
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);  // takes it over
  // A stranger who does not go on with the handshake costs no buffers; after it SpareBuffers sees to them.
  SSL_set_mode(ssl_.get(), SSL_MODE_RELEASE_BUFFERS);
  if (side_ == Side::kClient) {
    SSL_set_connect_state(ssl_.get());
  } else {
    SSL_set_accept_state(ssl_.get());
    // A client that must prove its identity gets no data before that.
    if (SSL_get_verify_mode(ssl_.get()) == SSL_VERIFY_NONE) greeting_ = Greeting::kToCome;
  }
  return true;
}

int TlsEngine::write_bio(BIO* bio, const char* from, std::size_t bytes, std::size_t* written) noexcept {
  CipherBuffer& output = static_cast<TlsEngine*>(BIO_get_data(bio))->output_;
  BIO_clear_retry_flags(bio);
  *written = 0;
  if (!output.open(1)) {
    ERR_raise(ERR_LIB_BIO, ERR_R_MALLOC_FAILURE);
    return 0;
  }
  const MutableBytes room = output.room();
  if (room.empty()) {
    BIO_set_retry_write(bio);
    return 0;
  }
  *written = std::min(bytes, room.size());
  std::memcpy(room.data(), from, *written);
  output.add(*written);
  return 1;
}

int TlsEngine::read_bio(BIO* bio, char* into, std::size_t bytes, std::size_t* got) noexcept {
  TlsEngine& engine = *static_cast<TlsEngine*>(BIO_get_data(bio));
  CipherBuffer& input = engine.input_;
  BIO_clear_retry_flags(bio);
  *got = 0;
  if (engine.asks_left_-- <= 0) return 0;
  const Bytes there = input.bytes();
  *got = std::min(bytes, there.size());
  if (there.empty()) {
    BIO_set_retry_read(bio);
    return 0;
  }
  std::memcpy(into, there.data(), *got);
  input.drop(*got);
  return 1;
}

long TlsEngine::control_bio(BIO*, int command, long, void*) noexcept {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

TlsEngine::Outcome TlsEngine::outcome_of(int result) noexcept {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_NONE:
      return Outcome::kDone;
    case SSL_ERROR_WANT_READ:
      return Outcome::kWantsInput;
    case SSL_ERROR_WANT_WRITE:
      return Outcome::kWantsOutput;
    case SSL_ERROR_ZERO_RETURN:
      return Outcome::kEnded;
    default:
      failure_ = failure_of(*ssl_, side_);
      return Outcome::kFailed;
  }
}

// Answers the client's first message, and goes no further. OpenSSL stops there for servers that read early
// data; no ticket allows any here, and early data that arrives anyway is dropped.
TlsEngine::Outcome TlsEngine::say_our_part() noexcept {
  char none = 0;
  std::size_t got = 0;
  const int result = SSL_read_early_data(ssl_.get(), &none, sizeof none, &got);
  if (result == SSL_READ_EARLY_DATA_ERROR) return outcome_of(0);
  if (SSL_is_init_finished(ssl_.get()) == 1) return Outcome::kDone;  // TLS 1.2 has no such place
  greeting_ = Greeting::kNow;
  return Outcome::kGreets;
}

TlsEngine::Outcome TlsEngine::shake_hands() noexcept {
  ERR_clear_error();
  asks_left_ = INT_MAX;
  if (greeting_ == Greeting::kToCome) {
    const Outcome outcome = say_our_part();
    if (outcome != Outcome::kDone) return outcome;
  }
  greeting_ = Greeting::kNone;
  const int result = SSL_do_handshake(ssl_.get());
  if (result != 1) return outcome_of(result);
  SSL_clear_mode(ssl_.get(), SSL_MODE_RELEASE_BUFFERS);
  return Outcome::kDone;
}

TlsEngine::Outcome TlsEngine::read(MutableBytes into, std::size_t& got) noexcept {
  ERR_clear_error();
  spare_buffers_.used();
  asks_left_ = kAsksMax;
  const int result = SSL_read_ex(ssl_.get(), into.data(), into.size(), &got);
  if (result == 1) return Outcome::kDone;
  if (asks_left_ >= 0) return outcome_of(result);
  failure_ = Status::of<kNothingButWords>();
  return Outcome::kFailed;
}

bool TlsEngine::takes_more() const noexcept {
  return !output_.empty() && output_.bytes().size() <= kWordsRoom && output_.room().size() >= kRecordRoom;
}

TlsEngine::Outcome TlsEngine::write(std::span<const iovec> from, std::size_t& taken) noexcept {
  taken = 0;
  if (!is_greeting()) spare_buffers_.used();
  const auto encrypt = is_greeting() ? SSL_write_early_data : SSL_write_ex;
  const std::size_t records = (total_of(from) + kRecordBytes - 1) / kRecordBytes;
  // Twelve of the longest records at most: what this side encrypts beyond that the peer could be decrypting.
  if (!output_.open(std::min<std::size_t>(records, 12) * kRecordRoom + kWordsRoom)) {
    ERR_raise(ERR_LIB_BIO, ERR_R_MALLOC_FAILURE);
    failure_ = failure_of(*ssl_, side_);
    return Outcome::kFailed;
  }
  std::byte scratch[kRecordBytes];
  Gatherer gatherer{from};
  while (!gatherer.empty() && output_.room().size() >= kRecordRoom) {
    const Bytes record = gatherer.next(scratch);
    ERR_clear_error();
    std::size_t written = 0;
    const int result = encrypt(ssl_.get(), record.data(), record.size(), &written);
    if (result != 1) {
      const Outcome outcome = outcome_of(result);
      if (outcome != Outcome::kFailed) failure_ = failure_of(*ssl_, side_);  // there was room for all of it
      return Outcome::kFailed;
    }
    taken += written;
  }
  return taken > 0 ? Outcome::kDone : Outcome::kWantsOutput;
}

void TlsEngine::end() noexcept {
  ERR_clear_error();
  if (SSL_shutdown(ssl_.get()) < 0) ERR_clear_error();
}

bool TlsEngine::derive(std::string_view purpose, MutableBytes into) noexcept {
  constexpr std::string_view kLabel = "EXPERIMENTAL weft carrier";
  ERR_clear_error();
  if (SSL_get_extms_support(ssl_.get()) != 1 && SSL_version(ssl_.get()) < TLS1_3_VERSION) return false;
  const bool derived = SSL_export_keying_material(ssl_.get(), reinterpret_cast<unsigned char*>(into.data()),
                                                  into.size(), kLabel.data(), kLabel.size(),
                                                  reinterpret_cast<const unsigned char*>(purpose.data()),
                                                  purpose.size(), 1) == 1;
  if (!derived) ERR_clear_error();
  return derived;
}

std::string_view TlsEngine::agreed_protocol() const noexcept {
  const unsigned char* name = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &length);
  return {reinterpret_cast<const char*>(name), length};
}

std::string TlsEngine::description() const {
  return std::string{SSL_get_version(ssl_.get())} + " " + SSL_get_cipher_name(ssl_.get());
}

}  // namespace weft::detail::tls
