// SPDX-License-Identifier: Apache-2.0
// Peers that know an IP address and a port, instead of a worker's address. Two workers of one loop stand for
// two processes.
#include <arpa/inet.h>

#include <cstdio>
#include <string>
#include <weft/ucx.hpp>
#include <weft/weft.hpp>

namespace ucx = weft::ucx;

// begin: accept
weft::Task<> serve_one(ucx::Worker& server, ucx::Listener& listener) {
  auto request = co_await listener.next();
  if (!request.ok()) co_return;  // a request that goes without accept() is refused
  auto peer = ucx::Endpoint::accept(server, std::move(*request));
  if (!peer.ok()) co_return;
  const auto into = ucx::Memory::allocate(5);
  auto received = co_await ucx::stream_receive(*peer, into, ucx::StreamWait::kAll);
  if (!received.ok()) co_return;
  std::printf("a peer says %s\n", std::string{weft::as_text(into.bytes())}.c_str());
  auto answered = co_await ucx::stream_send(*peer, into);
  if (!answered.ok()) co_return;
  // Fails when the peer closes, which the peer does after it has read the answer.
  auto closed = co_await ucx::stream_receive(*peer, into, ucx::StreamWait::kAll);
  static_cast<void>(closed);
}
// end: accept

// begin: connect
weft::Task<> greet(ucx::Worker& client, const sockaddr_storage& at) {
  auto to = ucx::Endpoint::connect(client, reinterpret_cast<const sockaddr*>(&at), sizeof(sockaddr_in));
  if (!to.ok()) co_return;                // on_error reports a missing peer later
  auto connected = co_await to->flush();  // nothing of some length is sent before it
  if (!connected.ok()) co_return;
  const auto hello = ucx::Memory::copy_of(weft::as_bytes("hello"));
  auto sent = co_await ucx::stream_send(*to, hello);
  if (!sent.ok()) co_return;
  const auto answer = ucx::Memory::allocate(5);  // a close may overtake "hello" until the answer is here
  auto answered = co_await ucx::stream_receive(*to, answer, ucx::StreamWait::kAll);
  if (!answered.ok()) co_return;
  auto closed = co_await to->close();
  if (!closed.ok()) std::printf("%s\n", closed.status().to_string().c_str());
}
// end: connect

weft::Task<> run(ucx::Worker& server, ucx::Listener& listener, ucx::Worker& client, sockaddr_storage at) {
  co_await weft::when_all(serve_one(server, listener), greet(client, at));
}

int main() {
  auto context = ucx::Context::create({.features = {.stream = true}}).value();
  auto loop = weft::Loop::create().value();
  auto server = ucx::Worker::create(*loop, context).value();
  auto client = ucx::Worker::create(*loop, context).value();
  // begin: listen
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);  // port 0: the system chooses
  auto listener = ucx::Listener::create(*server, reinterpret_cast<const sockaddr*>(&any), sizeof any).value();
  const sockaddr_storage at = listener->address().value();
  // end: listen
  loop->block_on(run(*server, *listener, *client, at));
  return 0;
}
