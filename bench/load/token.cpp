// SPDX-License-Identifier: Apache-2.0
#include "load/token.hpp"

#include <arpa/inet.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <utility>

#include "weft/detail/access/tokens.hpp"
#include "weft/detail/base/file_text.hpp"
#include "weft/detail/calls/client/client_options.hpp"
#include "weft/detail/calls/terms/token_text.hpp"
#include "weft/detail/transport/url.hpp"

namespace weft::load {

namespace {

constexpr const char* kVariable = "WEFT_TOKEN";
constexpr std::size_t kTokenFileBytesMax = 16384;

/// True if bytes for `url` leave this host without encryption.
bool leaves_in_plain(const std::string& url) {
  const Result<detail::Url> parsed = detail::Url::parse(url);
  if (!parsed.ok() || parsed->scheme == "tls" || parsed->scheme == "unix") return false;
  in_addr address{};
  if (::inet_pton(AF_INET, parsed->host.c_str(), &address) == 1) return ntohl(address.s_addr) >> 24 != 127;
  return parsed->host != "localhost" && parsed->host != "::1";
}

const char* token_of_environment() {
  return std::getenv(kVariable);  // NOLINT(concurrency-mt-unsafe): nobody changes the environment
}

}  // namespace

void add_token_flags(CLI::App& command, TokenFlags& flags) {
  command
      .add_option("--token", flags.file,
                  "The file with the token that the calls bring; without it that of the environment variable "
                  "WEFT_TOKEN, if there is one")
      ->type_name("FILE");
  command.add_flag("--token-in-plain", flags.in_plain,
                   "Send the token to another machine without encryption too, where others can take it");
}

Result<void> add_token(weft::ClientOptions& options, const TokenFlags& flags) {
  const BearerOptions how{.over_plain = flags.in_plain};
  const char* const given = token_of_environment();
  if (flags.file.empty() && given == nullptr) return {};
  auto token = flags.file.empty() ? bearer_token(given, how) : bearer_token_file(flags.file, how);
  if (!token.ok()) return token.status().with_context(flags.file.empty() ? kVariable : "--token");
  options.interceptors.push_back(*std::move(token));
  return {};
}

Result<std::string> token_text(const TokenFlags& flags, const std::string& url) {
  std::string text;
  if (!flags.file.empty()) {
    const auto file = detail::read_file(Layer::kUser, flags.file, kTokenFileBytesMax);
    if (!file.ok()) return file.status().with_context("--token");
    text = file->text.view();
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  } else if (const char* const given = token_of_environment()) {
    text = given;
  }
  if (text.empty()) return text;
  if (!detail::is_token(text)) {
    return Status{StatusCode::kInvalidArgument, Layer::kUser,
                  "a token has only letters, digits and -._~+/=, and 4096 at most"};
  }
  if (!flags.in_plain && leaves_in_plain(url)) {
    return Status{
        StatusCode::kFailedPrecondition, Layer::kUser,
        "the token would go to another machine without encryption: use tls://, or --token-in-plain"};
  }
  return text;
}

const char* token_hint(const Status& failure, const TokenFlags& flags) {
  if (failure.layer() != Layer::kRpc) return "";
  if (failure.code() == StatusCode::kPermissionDenied) {
    return "Ask whoever runs the server for a rule in its policy, or come with another token.\n";
  }
  if (failure.code() != StatusCode::kUnauthenticated) return "";
  const bool has_token = !flags.file.empty() || token_of_environment() != nullptr;
  return has_token ? "Ask whoever runs the server for another token.\n"
                   : "Say who you are: --token FILE, or the environment variable WEFT_TOKEN.\n";
}

}  // namespace weft::load
