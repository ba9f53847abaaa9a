// SPDX-License-Identifier: Apache-2.0
#include "load/token.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <utility>

#include "weft/detail/access/tokens.hpp"
#include "weft/detail/calls/client/client_options.hpp"

namespace weft::load {

namespace {

constexpr const char* kVariable = "WEFT_TOKEN";

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
