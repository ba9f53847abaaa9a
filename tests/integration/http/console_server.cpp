// SPDX-License-Identifier: Apache-2.0
// A server for the test of the console: weft_console_server [TOKEN]. Prints its URL, and ends when standard
// input does. With a token only callers that bring it may do anything.
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <weft/access.hpp>
#include <weft/http.hpp>
#include <weft/weft.hpp>

namespace {

int half(int number) {
  if (number % 2 != 0)
    throw weft::Status{weft::StatusCode::kInvalidArgument, weft::Layer::kUser, "odd number"};
  return number / 2;
}
weft::Task<int> rest(int milliseconds) {
  [[maybe_unused]] const weft::Result<void> slept =
      co_await weft::sleep_for(std::chrono::milliseconds{milliseconds});
  co_return milliseconds;
}

void demand(weft::ServerOptions& options, const std::string& token) {
  options.authenticator = weft::authenticate_by(
      [token](const weft::Credentials& credentials) noexcept -> weft::Result<weft::Authenticated> {
        if (credentials.token != token) {
          return weft::Status{weft::StatusCode::kUnauthenticated, weft::Layer::kRpc, "an unknown token"};
        }
        return weft::Authenticated{.identity = weft::Identity::of_token("ann"),
                                   .good_for = std::chrono::hours{1}};
      });
  options.authorizer = weft::authorize_by(
      [](const weft::Identity& caller, std::string_view) noexcept { return caller.subject() == "ann"; });
}

}  // namespace

int main(int argc, char** argv) {
  weft::ServerOptions options{.listen = {"tcp://127.0.0.1:0"}, .threads = 2, .protocols = {weft::http()}};
  if (argc > 1) demand(options, argv[1]);
  weft::Server server{std::move(options)};
  server.register_handler<weft::method<half, "shop::half">, weft::method<rest, "shop::rest">>();
  server.start().value();
  std::printf("%s\n", server.urls().front().c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) continue;
  server.stop(std::chrono::seconds{0});
  server.wait();
}
