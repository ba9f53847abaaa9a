// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "functions.hpp"

using namespace std::chrono_literals;

weft::Task<weft::Result<void>> ask(weft::Client& client) {
  auto waiting = client.start<answer_after>(100);  // on its way; the calls below overtake it

  auto greeting = co_await client.call<greet>("world");
  if (!greeting.ok()) co_return greeting.status();
  std::printf("  greet(\"world\")              %s\n", greeting->c_str());

  // begin: named
  std::vector<Point> triangle{{0, 0}, {6, 0}, {0, 3}};
  auto middle = co_await client.call<centre>(triangle);
  // end: named
  if (!middle.ok()) co_return middle.status();
  std::printf("  centre({0,0}, {6,0}, {0,3}) {%g,%g}\n", middle->x, middle->y);

  auto words = co_await client.call<count_words>("to be or not to be");
  if (!words.ok()) co_return words.status();
  std::printf("  count_words(...)            ");
  for (const auto& [word, count] : *words) std::printf("%s:%d ", word.c_str(), count);

  auto refused = co_await client.call<divide>(1.0, 0.0);
  std::printf("\n  divide(1, 0)                %s\n", refused.status().to_string().c_str());

  auto late = co_await client.call<answer_after>({.timeout = 20ms}, 60'000);
  std::printf("  answer_after(60000), 20 ms  %s\n", std::string{to_string(late.status().code())}.c_str());

  auto answer = co_await std::move(waiting);
  if (!answer.ok()) co_return answer.status();
  std::printf("  answer_after(100)           %s\n", answer->c_str());
  co_return weft::Result<void>{};
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = argv[1]}};
  const auto outcome = loop->block_on(ask(client));
  if (!outcome.ok()) std::fprintf(stderr, "%s\n", outcome.status().to_string().c_str());
  return outcome.ok() ? 0 : 1;
}
