// SPDX-License-Identifier: Apache-2.0
// Who calls, and who may: tokens, a policy in a file, and what those hear who have no right.
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <weft/access.hpp>
#include <weft/weft.hpp>

using namespace std::chrono_literals;

// begin: policy
constexpr const char* kPolicy = R"(
# who                      what
allow anyone               health
allow token:ann            whoami stored
allow uid:1000             *
allow dns:*.batch.example  stored
allow spiffe://prod/ops/*  *
)";
// end: policy

// begin: handler
std::string whoami(weft::CallContext& context) {
  const weft::Identity caller = context.identity();
  return std::string{caller.name()} + ", a " + std::string{to_string(caller.kind())};
}
// end: handler

std::string health() {
  return "well";
}

int stored(int key) {
  return key * key;
}

/// A placeholder: a real program verifies the signature with the key of the issuer.
bool is_signed(std::string_view name, std::string_view signature) {
  return signature == "signed-for-" + std::string{name};
}

// begin: own
/// Verifies tokens of the form "NAME.SIGNATURE" without a list of valid tokens.
weft::Result<weft::Authenticated> judge(const weft::Credentials& brought) noexcept {
  try {
    const std::size_t dot = brought.token.find('.');
    const std::string_view name = brought.token.substr(0, dot);
    if (dot == std::string_view::npos || !is_signed(name, brought.token.substr(dot + 1))) {
      return weft::Status{weft::StatusCode::kUnauthenticated, weft::Layer::kUser, "the token is not good"};
    }
    return weft::Authenticated{.identity = weft::Identity::of_token(name), .good_for = 5min};
  } catch (const std::bad_alloc&) {
    return weft::Status{weft::StatusCode::kResourceExhausted, weft::Layer::kUser, "out of memory"};
  }
}

/// Options of a server that reads no files.
weft::Result<weft::ServerOptions> without_files() {
  auto policy = weft::Policy::parse("allow token:bob stored");
  if (!policy.ok()) return policy.status();  // "1: ...", for the first line
  weft::ServerOptions options{.listen = {"tcp://127.0.0.1:0"}};
  options.authenticator = weft::authenticate_by(&judge);
  options.authorizer = weft::authorize_by(*std::move(policy));
  return options;
}
// end: own

/// Files of this example, gone with it.
class Files {
 public:
  Files() : folder_(std::filesystem::temp_directory_path() / ("weft_access_" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(folder_);
  }
  ~Files() { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream{folder_ / name} << text;
    return folder_ / name;
  }

 private:
  const std::filesystem::path folder_;
};

template <auto M, typename... Arguments>
weft::Task<void> tell(const char* who, weft::Client& client, Arguments... arguments) {
  const auto answer = co_await client.call<M>(arguments...);
  if (!answer.ok()) {
    std::printf("%s: %s\n", who, std::string{answer.status().message()}.c_str());
  } else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(*answer)>, int>) {
    std::printf("%s: %d\n", who, *answer);
  } else {
    std::printf("%s: %s\n", who, answer->c_str());
  }
}

weft::Task<int> ask(weft::Client& ann, weft::Client& stranger) {
  co_await tell<health>("a stranger", stranger);
  co_await tell<whoami>("a stranger", stranger);
  co_await tell<whoami>("ann", ann);
  co_await tell<stored>("ann", ann, 7);
  co_return 0;
}

weft::Result<int> run() {
  const Files files;
  const std::string tokens_path = files.write("tokens.txt", "# name and token\nann 4fQ0s8mXn1yVtR7z\n");
  const std::string policy_path = files.write("policy.txt", kPolicy);
  const std::string token_path = files.write("token.txt", "4fQ0s8mXn1yVtR7z\n");

  // begin: server
  const auto tokens = weft::token_file(tokens_path);
  const auto policy = weft::policy_file(policy_path);
  if (!tokens.ok()) return tokens.status();
  if (!policy.ok()) return policy.status();  // "policy.txt:3: ..."
  weft::ServerOptions options{.listen = {"tcp://127.0.0.1:0"}};
  options.authenticator = *tokens;
  options.authorizer = *policy;
  weft::Server server{std::move(options)};
  server.register_handler<health, whoami, stored>();
  // end: server
  if (auto started = server.start(); !started.ok()) return started.status();

  const auto loop = weft::Loop::create().value();
  // begin: client
  const auto token = weft::bearer_token_file(token_path);
  if (!token.ok()) return token.status();
  weft::ClientOptions client_options{.connect = server.urls().front()};
  client_options.interceptors = {*token};
  weft::Client ann{*loop, std::move(client_options)};
  // end: client
  weft::Client stranger{*loop, {.connect = server.urls().front()}};
  const int result = loop->block_on(ask(ann, stranger));
  // The calls have ended, and the clients, whose loop turns no more, would not hear that the server goes
  // away.
  server.stop(weft::Duration::zero());
  server.wait();
  return result;
}

weft::Task<int> ask_as_bob(weft::Client& bob) {
  co_await tell<stored>("bob", bob, 8);
  co_await tell<whoami>("bob", bob);
  co_return 0;
}

weft::Result<int> run_without_files() {
  auto options = without_files();
  if (!options.ok()) return options.status();
  weft::Server server{*std::move(options)};
  server.register_handler<whoami, stored>();
  if (auto started = server.start(); !started.ok()) return started.status();
  const auto loop = weft::Loop::create().value();
  // begin: token
  const auto token = weft::bearer_token("bob.signed-for-bob");
  if (!token.ok()) return token.status();
  weft::ClientOptions client_options{.connect = server.urls().front()};
  client_options.interceptors = {*token};
  weft::Client bob{*loop, std::move(client_options)};
  // end: token
  return loop->block_on(ask_as_bob(bob));
}

int main() {
  for (const auto& part : {&run, &run_without_files}) {
    const weft::Result<int> outcome = part();
    if (!outcome.ok()) std::fprintf(stderr, "%s\n", outcome.status().to_string().c_str());
    if (outcome.value_or(1) != 0) return 1;
  }
  return 0;
}
