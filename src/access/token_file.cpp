// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "access/lines.hpp"
#include "access/reading.hpp"
#include "weft/detail/access/tokens.hpp"
#include "weft/detail/calls/terms/token_text.hpp"

namespace weft {

namespace {

using detail::Secret;
using detail::wrong_line;

constexpr std::size_t kTokensBytesMax = std::size_t{16} << 20;
constexpr std::size_t kTokenBytesMin = 16;

constexpr FixedFailure kUnknownToken{StatusCode::kUnauthenticated, Layer::kRpc, Retry::kNever,
                                     "the call's token is none that the server knows; it may be old"};

/// Tokens keyed by a hash with a secret, so that the time of a look-up reveals nothing of them; the found
/// token is compared as a whole.
class TokenTable {
 public:
  static Result<TokenTable> parse(std::string_view text) {
    if (Result<void> ended = detail::check_ended(text); !ended.ok()) return std::move(ended).status();
    const Result<std::vector<detail::Line>> lines = detail::lines_of(text);
    if (!lines.ok()) return lines.status();
    TokenTable table;
    for (const detail::Line& line : *lines) {
      if (line.words.size() != 2) return wrong_line(line.number, "a line is a name and a token behind it");
      const std::string_view token = line.words[1];
      if (token.size() < kTokenBytesMin) {
        return wrong_line(line.number, "a token of fewer than 16 characters can be guessed");
      }
      if (!detail::is_token(token)) {
        return wrong_line(line.number, "a token has only letters, digits and -._~+/=, and 4096 at most");
      }
      if (!table.add(line.words[0], token)) return wrong_line(line.number, "the token is there already");
    }
    if (table.entries_.empty()) return wrong_line(1, "there is no token");
    return table;
  }

  /// Null when there is no such token.
  const Identity* find(std::string_view token) const noexcept {
    const auto at = entries_.find(hash_(as_bytes(token)));
    return at != entries_.end() && at->second.token.is(token) ? &at->second.identity : nullptr;
  }

 private:
  struct Entry {
    Secret token;
    Identity identity;
  };

  bool add(std::string_view name, std::string_view token) {
    return entries_.try_emplace(hash_(as_bytes(token)), Entry{Secret{token}, Identity::of_token(name)})
        .second;
  }

  detail::KeyedHash hash_ = detail::KeyedHash::of_system();
  std::unordered_map<std::uint64_t, Entry> entries_;
};

/// Tokens that are read again when their file has changed. Connections keep the answers, so asking takes a
/// lock.
class TokenFile final : public Authenticator {
 public:
  TokenFile(std::string path, const AccessFileOptions& options)
      : file_(std::move(path), options, kTokensBytesMax, "list of tokens",
              [this](std::string_view text) { return take(text); }) {}

  Result<void> begin() { return file_.begin(); }

  Result<Authenticated> authenticate(const Credentials& credentials) noexcept override {
    const std::lock_guard lock{mutex_};
    const Identity* const found = table_.find(credentials.token);
    if (found == nullptr) return Status::of<kUnknownToken>();
    return Authenticated{*found, Duration::max()};
  }
  std::uint64_t version(TimePoint now) noexcept override { return file_.version(now); }

 private:
  Result<void> take(std::string_view text) {
    Result<TokenTable> table = TokenTable::parse(text);
    if (!table.ok()) return detail::fault_in(file_.path(), table.status());
    const std::lock_guard lock{mutex_};
    std::swap(table_, *table);  // the old one ends behind the lock
    return {};
  }

  detail::VersionedFile file_;
  std::mutex mutex_;
  TokenTable table_;
};

}  // namespace

Result<std::shared_ptr<Authenticator>> token_file(std::string path, const AccessFileOptions& options) {
  auto file = std::make_shared<TokenFile>(std::move(path), options);
  if (Result<void> begun = file->begin(); !begun.ok()) return std::move(begun).status();
  return std::shared_ptr<Authenticator>{std::move(file)};
}

}  // namespace weft
