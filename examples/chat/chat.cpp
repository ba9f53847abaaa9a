// SPDX-License-Identifier: Apache-2.0
// A handler that takes many values and sends many: both sides write when they like.
#include <cstdio>
#include <string>
#include <weft/weft.hpp>

using namespace std::chrono_literals;

// begin: generator
weft::Stream<std::string> chat(weft::Reader<std::string>& questions) {
  while (auto question = co_await questions.next()) {
    std::string answer = "you said " + *question;
    co_yield answer;
  }
  std::string farewell = "goodbye";
  co_yield farewell;
}
// end: generator

// begin: writer
weft::Task<weft::Result<int>> chat_and_count(weft::Reader<std::string>& questions,
                                             weft::Writer<std::string>& answers, std::string name) {
  int count = 0;
  while (auto question = co_await questions.next()) {
    const std::string answer = name + ", you said " + *question;
    const bool written = co_await answers.write(answer);
    if (!written) co_return answers.status();
    ++count;
  }
  if (!questions.status().ok()) co_return questions.status();
  co_return count;
}
// end: writer

// begin: turns
weft::Task<void> talk(weft::Client& client) {
  auto stream = client.open<chat>();
  for (const std::string question : {"hello", "how are you"}) {
    const bool written = co_await stream.write(question);
    if (!written) break;
    auto answer = co_await stream.next();
    if (answer) std::printf("%s\n", answer->c_str());
  }
  stream.end_writing();  // the handler's reader sees the end; items that the handler sends later still arrive
  while (auto answer = co_await stream.next()) std::printf("%s\n", answer->c_str());
  if (!stream.status().ok()) std::printf("%s\n", stream.status().to_string().c_str());
}
// end: turns

// begin: both
weft::Task<void> say(weft::StreamOf<chat_and_count>& stream, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    const bool written = co_await stream.write(number);
    if (!written) break;
  }
  stream.end_writing();
}

weft::Task<int> listen(weft::StreamOf<chat_and_count>& stream) {
  int heard = 0;
  while (auto answer = co_await stream.next()) ++heard;
  co_return heard;
}

weft::Task<void> talk_at_once(weft::Client& client) {
  weft::CallOptions options;
  options.timeout = 30s;  // of the whole stream; without it there is none
  auto stream = client.open<chat_and_count>(options, "Ann");
  const auto [said, heard] = co_await weft::when_all(say(stream, 10'000), listen(stream));
  const weft::Result<int> counted = co_await stream.finish();
  std::printf("heard %d, counted %d\n", heard, counted.value_or(-1));
}
// end: both

int main() {
  auto loop = weft::Loop::create().value();
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  server.register_handler<chat, chat_and_count>();
  server.start().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  loop->block_on(talk(client));
  loop->block_on(talk_at_once(client));
}
