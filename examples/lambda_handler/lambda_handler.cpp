// SPDX-License-Identifier: Apache-2.0
// Handlers that are lambdas: the server owns them, and a name stands for them on both sides.
#include <cstdio>
#include <map>
#include <string>
#include <weft/weft.hpp>

// begin: names
// What both sides agree on: a name, and what goes in and comes out.
inline constexpr auto put = weft::remote<"store/put", void(std::string, std::string)>;
inline constexpr auto get = weft::remote<"store/get", weft::Result<std::string>(std::string)>;
// end: names

weft::Task<int> ask(weft::Client& client) {
  auto stored = co_await client.call<put>("colour", "blue");
  auto found = co_await client.call<get>("colour");
  auto missing = co_await client.call<get>("shape");
  if (!stored.ok() || !found.ok() || missing.ok()) co_return 1;
  std::printf("%s, then: %s\n", found->c_str(), std::string{missing.status().message()}.c_str());
  co_return 0;
}

int main() {
  // begin: register
  std::map<std::string, std::string> values;  // one thread serves, so it needs no lock
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  server.register_handler("store/put",
                          [&](const std::string& key, std::string value) { values[key] = std::move(value); });
  server.register_handler("store/get", [&](const std::string& key) -> weft::Result<std::string> {
    auto found = values.find(key);
    if (found == values.end()) return weft::user_error(1, "no " + key, weft::StatusCode::kNotFound);
    return found->second;
  });
  // end: register
  server.start().value();

  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  return loop->block_on(ask(client));
}
