// SPDX-License-Identifier: Apache-2.0
// Who asks travels beside the arguments, and on to the server behind the server.
#include <cstdio>
#include <weft/weft.hpp>

// begin: store
/// Knows for whom it stores, and has no parameter for that.
std::string store(weft::CallContext& context, std::string_view what) {
  const auto tenant = context.metadata().find("tenant");
  return "stored " + std::string{what} + " for " + std::string{tenant.value_or("nobody")};
}
// end: store

struct Front {
  weft::Client* behind;
  // The call that it makes carries the metadata of the call that it serves.
  weft::Task<weft::Result<std::string>> keep(std::string what) {
    co_return co_await behind->call<store>(what);
  }
};

// begin: cost
/// Tells its cost beside the result.
weft::Result<int> square(weft::CallContext& context, int number) {
  context.add_initial_metadata("served-by", "storage-1").value();
  context.add_answer_metadata("cost", "3").value();
  if (number > 46340) return weft::user_error(1, "too large");
  return number * number;
}
// end: cost

weft::Task<void> ask_cost(weft::Client& client) {
  // begin: answer
  weft::AnswerMetadata metadata;
  const auto squared = co_await client.call<square>({.answer_metadata = &metadata}, 50000);
  const auto cost = metadata.trailing().find("cost");
  // end: answer
  std::printf("%s; by %s, cost %s\n", squared.status().to_string().c_str(),
              std::string{metadata.initial().find("served-by").value_or("nobody")}.c_str(),
              std::string{cost.value_or("unknown")}.c_str());
}

weft::Task<void> ask(weft::Client& client) {
  // begin: call
  weft::Metadata metadata;
  metadata.set("tenant", "blue").value();
  weft::CallOptions options;
  options.metadata = metadata;
  const auto kept = co_await client.call<&Front::keep>(options, "a letter");
  // end: call
  std::printf("%s\n", kept.ok() ? kept->c_str() : kept.status().to_string().c_str());
  const auto unnamed = co_await client.call<&Front::keep>("a note");
  std::printf("%s\n", unnamed.ok() ? unnamed->c_str() : unnamed.status().to_string().c_str());
}

int main() {
  weft::Server storage{{.listen = {"tcp://127.0.0.1:0"}}};
  storage.register_handler<store>();
  storage.start().value();

  const auto loop = weft::Loop::create().value();
  weft::Client to_storage{*loop, {.connect = storage.urls().front()}};
  Front front{&to_storage};
  weft::ServerOptions options{.listen = {"tcp://127.0.0.1:0"}};
  options.threads = 0;
  options.loop = loop.get();
  weft::Server server{std::move(options)};
  server.register_handler<&Front::keep>(&front);
  server.register_handler<square>();
  server.start().value();

  weft::Client client{*loop, {.connect = server.urls().front()}};
  loop->block_on(ask(client));
  loop->block_on(ask_cost(client));
}
