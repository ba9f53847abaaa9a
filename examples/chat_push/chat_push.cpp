// SPDX-License-Identifier: Apache-2.0
// A chat whose server pushes: clients register a function, and the server calls it on all of them.
#include <cstdio>
#include <string>
#include <weft/weft.hpp>

// begin: screen
/// Handlers of a client, which the server calls.
struct Screen {
  std::string lines;
  void show(std::string_view from, std::string_view text) {
    lines.append("  ").append(from).append(": ").append(text).append("\n");
  }
  bool asks(std::string_view question) { return question == "Is anybody hungry?" && !lines.empty(); }
};
// end: screen

// begin: room
/// Handlers of the server.
struct Room {
  weft::Server* server;

  void join(weft::CallContext& context, std::string_view name) { context.peer().set_tag(name); }

  // All connected clients receive the text, the caller too.
  weft::Task<std::size_t> say(weft::CallContext& context, std::string text) {
    const std::string from = context.peer().tag();
    auto outcome = co_await server->peers().broadcast<&Screen::show>(from, text);
    co_return outcome.ok() ? outcome->answered : 0;
  }
  // Asks one client, and returns its answer.
  weft::Task<weft::Result<bool>> ask(std::string name, std::string question) {
    auto found = server->peers().find(name);
    if (found.empty())
      co_return weft::user_error(404, "nobody is called " + name, weft::StatusCode::kNotFound);
    auto answer = co_await found.front().call<&Screen::asks>(question);
    co_return answer;
  }
};
// end: room

// begin: member
struct Member {
  Member(weft::Loop& loop, const std::string& url) : client(loop, {.connect = url}) {
    client.register_handler<&Screen::show, &Screen::asks>(&screen);  // before it connects
  }
  Screen screen;  // outlives the client
  weft::Client client;
};
// end: member

weft::Task<int> chat(weft::Client& ann, weft::Client& bob, weft::Client& eve) {
  auto joined = co_await ann.call<&Room::join>("ann");
  if (joined.ok()) joined = co_await bob.call<&Room::join>("bob");
  if (joined.ok()) joined = co_await eve.call<&Room::join>("eve");
  if (!joined.ok()) co_return 1;
  auto heard = co_await ann.call<&Room::say>("Is anybody hungry?");
  auto hungry = co_await ann.call<&Room::ask>("eve", "Is anybody hungry?");
  auto missing = co_await bob.call<&Room::ask>("zoe", "Where are you?");
  eve.close();
  auto later = co_await bob.call<&Room::say>("Eve has left.");
  if (!heard.ok() || !hungry.ok() || missing.ok() || !later.ok()) co_return 1;
  std::printf("%zu heard ann, %s, %s, %zu heard bob\n", *heard,
              *hungry ? "eve is hungry" : "nobody is hungry", std::string{missing.status().message()}.c_str(),
              *later);
  co_return 0;
}

int main() {
  auto loop = weft::Loop::create().value();
  std::string door;
  weft::ServerOptions options{.listen = {"tcp://127.0.0.1:0"}};
  options.threads = 0;
  options.loop = loop.get();
  weft::Server server{std::move(options)};
  Room room{&server};
  server.register_handler<&Room::join, &Room::say, &Room::ask>(&room);
  // begin: hooks
  server.on_peers([&](const weft::Peer&) { door += " in"; },
                  [&](const weft::Peer& peer) { door += " out:" + peer.tag(); });
  // end: hooks
  server.start().value();

  const std::string url = server.urls().front();
  Member ann{*loop, url};
  Member bob{*loop, url};
  Member eve{*loop, url};
  const int outcome = loop->block_on(chat(ann.client, bob.client, eve.client));
  std::printf("ann\n%sbob\n%seve\n%sdoor%s\n", ann.screen.lines.c_str(), bob.screen.lines.c_str(),
              eve.screen.lines.c_str(), door.c_str());
  return outcome;
}
