// SPDX-License-Identifier: Apache-2.0
// Streams for threads that block: a handler that computes, on a worker's thread, and a client without a loop.
#include <cstdio>
#include <string>
#include <weft/weft.hpp>

// begin: handler
long total_of(weft::BlockingReader<long>& numbers) {
  long total = 0;
  while (auto number = numbers.next()) total += *number;
  if (!numbers.status().ok()) throw numbers.status();  // the caller is gone: the total is not the whole
  return total;
}

void primes(weft::BlockingWriter<int>& found, int below) {
  for (int number = 2; number < below; ++number) {
    bool is_prime = true;
    for (int by = 2; by * by <= number && is_prime; ++by) is_prime = number % by != 0;
    if (is_prime && !found.write(number)) return;  // the client has stopped reading
  }
}
// end: handler

// begin: reading
void print_primes(weft::BlockingClient& client) {
  auto found = client.open<primes>(30);
  while (auto prime = found.next()) std::printf("%d ", *prime);
  std::printf("%s\n", found.status().ok() ? "" : found.status().to_string().c_str());
}
// end: reading

// begin: writing
long sum_up(weft::BlockingClient& client, int count) {
  auto upload = client.open<total_of>();
  for (long number = 1; number <= count; ++number) {
    if (!upload.write(number)) break;  // the handler has ended: finish() says how
  }
  return upload.finish().value_or(-1);
}
// end: writing

int main() {
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  server.register_handler<total_of, primes>();
  server.start().value();
  weft::BlockingClient client{{.connect = server.urls().front()}};
  print_primes(client);
  std::printf("%ld\n", sum_up(client, 100'000));
}
