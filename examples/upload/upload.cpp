// SPDX-License-Identifier: Apache-2.0
// A handler that takes many values and gives one result.
#include <cstdint>
#include <cstdio>
#include <string>
#include <weft/weft.hpp>

// begin: handler
struct Stored {
  std::string name;
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
};

weft::Task<weft::Result<Stored>> store(weft::Reader<std::string>& lines, std::string name) {
  Stored stored{.name = name};
  while (auto line = co_await lines.next()) {
    if (line->empty()) co_return weft::user_error(1, "an empty line");
    ++stored.lines;
    stored.bytes += line->size();
  }
  // The caller cancelled, or its connection was lost: the items are incomplete.
  if (!lines.status().ok()) co_return lines.status();
  co_return stored;
}
// end: handler

// begin: writing
weft::Task<weft::Result<Stored>> send(weft::Client& client, int count) {
  auto upload = client.open<store>("report.txt");
  for (int i = 0; i < count; ++i) {
    const std::string line = i == 5000 ? "" : "line " + std::to_string(i);
    const bool written = co_await upload.write(line);
    if (!written) break;  // the handler has ended: finish() says how
  }
  co_return co_await upload.finish();
}
// end: writing

void print(const weft::Result<Stored>& stored) {
  if (!stored.ok()) return void(std::printf("%s\n", stored.status().to_string().c_str()));
  std::printf("%s: %llu lines, %llu bytes\n", stored->name.c_str(),
              static_cast<unsigned long long>(stored->lines), static_cast<unsigned long long>(stored->bytes));
}

int main() {
  auto loop = weft::Loop::create().value();
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  server.register_handler<store>();
  server.start().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  print(loop->block_on(send(client, 1000)));
  print(loop->block_on(send(client, 1'000'000)));
}
