// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <weft/weft.hpp>

#include "echo.weft.hpp"

using namespace std::chrono_literals;

// begin: call
weft::Task<void> say(demo::EchoStub stub) {
  demo::EchoRequest request;
  request.set_message("hello");
  weft::Result<demo::EchoResponse> answer = co_await stub.Say(request);
  std::printf("%s\n", answer.ok() ? answer->message().c_str() : answer.status().to_string().c_str());

  weft::CallOptions options;
  options.timeout = 1s;
  request.clear_message();
  answer = co_await stub.Say(options, request);
  std::printf("%s\n", answer.status().to_string().c_str());
}
// end: call

// begin: into
weft::Task<void> say_often(demo::EchoStub stub) {
  demo::EchoRequest request;
  request.set_message("a message that is longer than a short string");
  demo::EchoResponse response;
  int good = 0;
  for (int i = 0; i < 1000; ++i) {
    const weft::Result<void> outcome = co_await stub.Say(request).into(response);
    if (outcome.ok() && response.message() == request.message()) ++good;
  }
  std::printf("%d calls into one response\n", good);
}
// end: into

// begin: attachment
weft::Task<void> send_back(demo::EchoStub stub) {
  const std::vector<std::byte> bytes(100'000, std::byte{7});
  weft::CallOptions options;
  options.attachment = weft::Bytes{bytes};
  demo::EchoRequest request;
  const weft::Result<weft::Answer<demo::EchoResponse>> answer =
      co_await stub.SendBack(options, request).with_attachment();
  if (!answer.ok()) co_return;
  std::printf("sent %s, got %zu\n", answer->value.message().c_str(), answer->attachment.size());
}
// end: attachment

// begin: streams
weft::Task<void> spell(demo::WordsStub stub) {
  demo::EchoRequest request;
  request.set_message("one after the other");
  auto words = stub.Spell(request);
  while (const auto* word = co_await words.next()) std::printf("%s\n", word->message().c_str());
  if (!words.status().ok()) std::printf("%s\n", words.status().to_string().c_str());
}

weft::Task<void> join(demo::WordsStub stub) {
  auto joined = stub.Join();
  demo::EchoRequest part;
  for (const char* text : {"all ", "in ", "one"}) {
    part.set_message(text);
    const bool written = co_await joined.write(part);
    if (!written) break;
  }
  const weft::Result<demo::EchoResponse> whole = co_await joined.finish();
  std::printf("%s\n", whole.ok() ? whole->message().c_str() : whole.status().to_string().c_str());
}
// end: streams

int main(int argc, char** argv) {
  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = argc > 1 ? argv[1] : "tcp://127.0.0.1:9000"}};
  const demo::EchoStub stub{client};
  loop->block_on(say(stub));
  loop->block_on(say_often(stub));
  loop->block_on(send_back(stub));
  const demo::WordsStub words{client};
  loop->block_on(spell(words));
  loop->block_on(join(words));
}
