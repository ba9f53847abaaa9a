// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "access/private_target.hpp"
#include "access/reading.hpp"
#include "access/watched_file.hpp"
#include "weft/detail/access/tokens.hpp"
#include "weft/detail/base/secret.hpp"
#include "weft/detail/calls/terms/token_text.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft {

namespace {

using detail::kBearer;
using detail::Secret;

constexpr std::size_t kTokenBytesReadMax = 64 * 1024;

constexpr FixedFailure kPlain{
    StatusCode::kFailedPrecondition, Layer::kRpc, Retry::kNever,
    "the token was not sent: whoever is on the way could take it; connect by tls://, or set "
    "BearerOptions::over_plain if nobody is"};

constexpr FixedFailure kNoTokenText{
    StatusCode::kInvalidArgument, Layer::kRpc, Retry::kNever,
    "a token is made of letters, digits and -._~+/=, at least one and at most 4096"};

/// The value that a call carries, ready made, so that no copy of the token is left anywhere else.
Result<Secret> value_of(std::string_view token) {
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' ')) {
    token.remove_suffix(1);
  }
  if (!detail::is_token(token)) return Status::of<kNoTokenText>();
  char text[kBearer.size() + detail::kTokenBytesMax];
  const std::size_t size = kBearer.size() + token.size();
  kBearer.copy(text, kBearer.size());
  token.copy(text + kBearer.size(), token.size());
  struct Wiped {
    char* text;
    std::size_t size;
    ~Wiped() { detail::wipe_memory(text, size); }
  } const wiped{text, size};
  return Secret{std::string_view{text, size}};
}

class BearerToken : public ClientInterceptor {
 public:
  BearerToken(Secret value, bool over_plain) : value_(std::move(value)), over_plain_(over_plain) {}

  Status before(OutgoingCall& call) override {
    if (!over_plain_ && !detail::is_private(call.target())) return Status::of<kPlain>();
    return call.set(kAuthorizationKey, value_.view()).status();
  }

 protected:
  void set_value(Secret value) noexcept { value_ = std::move(value); }

 private:
  Secret value_;
  const bool over_plain_;
};

/// Shared by clients of several loops, so its turn to look, and the token, are behind a lock.
class BearerTokenFile final : public BearerToken {
 public:
  BearerTokenFile(std::string path, const BearerOptions& options)
      : BearerToken(Secret{}, options.over_plain),
        file_(std::move(path), options.file.look_interval, kTokenBytesReadMax),
        logger_(detail::logger_or_stderr(options.file.logger)) {}

  Result<void> begin() {
    const Result<Secret> text = file_.read();
    if (!text.ok()) return text.status();
    return take(text->view());
  }

  Status before(OutgoingCall& call) override {
    const TimePoint now = Loop::current() != nullptr ? Loop::current()->now() : TimePoint{};
    detail::LogLines lines;
    Status status;
    {
      const std::lock_guard lock{mutex_};
      if (file_.is_due(now)) {
        detail::read_again(file_, now, lines, "token", [this](std::string_view text) { return take(text); });
      }
      status = BearerToken::before(call);
    }
    lines.write_to(logger_);
    return status;
  }

 private:
  Result<void> take(std::string_view text) {
    Result<Secret> value = value_of(text);
    if (!value.ok()) return value.status().with_context(file_.path());
    set_value(*std::move(value));
    return {};
  }

  detail::WatchedFile file_;
  Logger& logger_;
  std::mutex mutex_;
};

}  // namespace

Result<std::shared_ptr<ClientInterceptor>> bearer_token(std::string_view token,
                                                        const BearerOptions& options) {
  Result<Secret> value = value_of(token);
  if (!value.ok()) return std::move(value).status();
  return std::shared_ptr<ClientInterceptor>{
      std::make_shared<BearerToken>(*std::move(value), options.over_plain)};
}

Result<std::shared_ptr<ClientInterceptor>> bearer_token_file(std::string path, const BearerOptions& options) {
  auto file = std::make_shared<BearerTokenFile>(std::move(path), options);
  if (Result<void> begun = file->begin(); !begun.ok()) return std::move(begun).status();
  return std::shared_ptr<ClientInterceptor>{std::move(file)};
}

}  // namespace weft
