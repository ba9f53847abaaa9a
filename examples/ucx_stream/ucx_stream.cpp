// SPDX-License-Identifier: Apache-2.0
// Bytes in order, without messages. Two workers of one loop stand for two processes.
#include <cstdio>
#include <string>
#include <weft/ucx.hpp>
#include <weft/weft.hpp>

namespace ucx = weft::ucx;

// begin: send
weft::Task<> write_two(ucx::Endpoint& to) {
  for (const char* part : {"one", "-two"}) {
    const auto bytes = ucx::Memory::copy_of(weft::as_bytes(part));
    auto sent = co_await ucx::stream_send(to, bytes);
    if (!sent.ok()) co_return;
  }
}
// end: send

// begin: receive
weft::Task<> read_seven(ucx::Endpoint& from) {
  const auto into = ucx::Memory::allocate(7);
  auto all = co_await ucx::stream_receive(from, into, ucx::StreamWait::kAll);  // not before all 7 are there
  if (!all.ok()) co_return;
  std::printf("%s\n", std::string{weft::as_text(into.bytes())}.c_str());
}
// end: receive

int main() {
  auto context = ucx::Context::create({.features = {.stream = true}}).value();
  auto loop = weft::Loop::create().value();
  auto left = ucx::Worker::create(*loop, context).value();
  auto right = ucx::Worker::create(*loop, context).value();
  // A stream belongs to a pair of endpoints, so the side that reads has one too.
  const auto left_address = left->address().value();
  const auto right_address = right->address().value();
  auto to_right = ucx::Endpoint::connect(*left, right_address).value();
  auto to_left = ucx::Endpoint::connect(*right, left_address).value();

  auto both = [](ucx::Endpoint& out, ucx::Endpoint& in) -> weft::Task<> {
    co_await weft::when_all(write_two(out), read_seven(in));
  };
  loop->block_on(both(to_right, to_left));
  return 0;
}
