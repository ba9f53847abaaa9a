// SPDX-License-Identifier: Apache-2.0
// Active messages: small ones are looked at where UCX has them, large ones are fetched to where they belong.
// Two workers of one loop stand for two processes.
#include <cstdio>
#include <string>
#include <weft/ucx.hpp>
#include <weft/weft.hpp>

namespace ucx = weft::ucx;

constexpr std::uint16_t kQuestion = 1;
constexpr std::uint16_t kAnswer = 2;

// begin: serve
weft::Task<> serve(ucx::AmReceiver& questions) {
  auto small = co_await questions.receive();
  if (!small.ok()) co_return;
  // header() and data() lie in UCX's own buffer, which goes back to it when the message goes.
  const auto answer = ucx::Memory::copy_of(small->data());
  auto answered = co_await ucx::am_send(small->reply_endpoint(), kAnswer, small->header(), answer);
  if (!answered.ok()) co_return;

  auto large = co_await questions.receive();
  if (!large.ok()) co_return;
  const bool still_there = large->rendezvous();  // nothing of it was sent so far but its size
  const auto place = ucx::Memory::allocate(large->size());
  auto fetched = co_await std::move(*large).receive_into(place);
  if (fetched.ok()) std::printf("fetched %zu bytes%s\n", *fetched, still_there ? " by rendezvous" : "");
}
// end: serve

// begin: ask
weft::Task<> ask(ucx::Endpoint& to, ucx::AmReceiver& answers) {
  const auto small = ucx::Memory::copy_of(weft::as_bytes("how are you?"));
  const ucx::AmSendOptions with_reply{.reply_endpoint = true};
  auto asked = co_await ucx::am_send(to, kQuestion, weft::as_bytes("id 1"), small, with_reply);
  if (!asked.ok()) co_return;
  auto answer = co_await answers.receive();
  if (!answer.ok()) co_return;
  const std::string header{weft::as_text(answer->header())};
  const std::string data{weft::as_text(answer->data())};
  std::printf("%s: %s\n", header.c_str(), data.c_str());

  const auto large = ucx::Memory::allocate(1 << 20);
  const ucx::AmSendOptions by_rendezvous{.protocol = ucx::AmProtocol::kRendezvous};
  auto sent = co_await ucx::am_send(to, kQuestion, weft::Bytes{}, large, by_rendezvous);
  if (!sent.ok()) std::printf("%s\n", sent.status().to_string().c_str());  // else: fetched, and ours again
}
// end: ask

weft::Task<> run(ucx::Worker& client, ucx::Worker& server, ucx::Endpoint& to_server) {
  ucx::AmReceiver answers{client, kAnswer};
  ucx::AmReceiver questions{server, kQuestion};
  co_await weft::when_all(serve(questions), ask(to_server, answers));
}

int main() {
  auto context = ucx::Context::create({.features = {.active_messages = true}}).value();
  auto loop = weft::Loop::create().value();
  auto client = ucx::Worker::create(*loop, context).value();
  auto server = ucx::Worker::create(*loop, context).value();
  const auto address = server->address().value();
  auto to_server = ucx::Endpoint::connect(*client, address).value();
  loop->block_on(run(*client, *server, to_server));
  return 0;
}
