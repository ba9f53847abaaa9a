// SPDX-License-Identifier: Apache-2.0
// Messages find the receive that asked for their tag. Two workers of one loop stand for two processes.
#include <cstdio>
#include <string>
#include <weft/ucx.hpp>
#include <weft/weft.hpp>

namespace ucx = weft::ucx;

// begin: exchange
// The upper byte of a tag says what a message is, the lower one from whom.
constexpr std::uint64_t kOrder = 0x0100;
constexpr std::uint64_t kBill = 0x0200;
constexpr std::uint64_t kWhat = 0xff00;

weft::Task<> exchange(ucx::Worker& cafe, ucx::Endpoint& to_cafe) {
  const auto order = ucx::Memory::copy_of(weft::as_bytes("two coffees"));
  const auto bill = ucx::Memory::copy_of(weft::as_bytes("4.20"));
  const auto into = ucx::Memory::allocate(64);
  auto [billed, ordered, received] = co_await weft::when_all(
      ucx::tag_send(to_cafe, kBill | 7, bill), ucx::tag_send(to_cafe, kOrder | 7, order),
      ucx::tag_receive(cafe, kOrder, kWhat, into));  // the order, though the bill came first
  if (!billed.ok() || !ordered.ok() || !received.ok()) co_return;
  const std::string text{weft::as_text(into.first(received->bytes).bytes())};
  std::printf("table %d orders %s\n", static_cast<int>(received->tag & 0xff), text.c_str());
}
// end: exchange

// begin: posted
constexpr std::uint64_t kReceipt = 0x0300;

weft::Task<> pay(ucx::Worker& cafe, ucx::Endpoint& to_cafe) {
  const auto receipt = ucx::Memory::copy_of(weft::as_bytes("paid"));
  const auto into = ucx::Memory::allocate(64);
  auto expected = ucx::tag_receive(cafe, kReceipt, kWhat, into);  // posted: UCX has the memory from here on
  auto sent = co_await ucx::tag_send(to_cafe, kReceipt | 7, receipt);
  auto received = co_await std::move(expected);
  if (sent.ok() && received.ok()) std::printf("a receipt of %zu bytes\n", received->bytes);
}
// end: posted

// begin: probe
weft::Task<> take_bill(ucx::Worker& cafe) {
  auto message = co_await ucx::tag_probe(cafe, kBill, kWhat);  // there is no memory for it yet
  if (!message.ok()) co_return;
  const auto into = ucx::Memory::allocate(message->bytes());
  auto received = co_await std::move(*message).receive(into);
  if (received.ok()) std::printf("a bill of %zu bytes\n", received->bytes);
}
// end: probe

int main() {
  // begin: setup
  auto context = ucx::Context::create({.features = {.tag = true}}).value();
  auto loop = weft::Loop::create().value();
  auto guest = ucx::Worker::create(*loop, context).value();
  auto cafe = ucx::Worker::create(*loop, context).value();
  const auto address = cafe->address().value();  // travels to the peer by any means: a socket, a file
  auto to_cafe = ucx::Endpoint::connect(*guest, address).value();
  loop->block_on(exchange(*cafe, to_cafe));
  // end: setup
  loop->block_on(take_bill(*cafe));
  loop->block_on(pay(*cafe, to_cafe));
  return 0;
}
