// SPDX-License-Identifier: Apache-2.0
// A network of hosts on a virtual clock: a slow link, a partition, and a host that crashes.
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <weft/networks.hpp>
#include <weft/weft.hpp>

using namespace std::chrono_literals;

std::string lend(std::string_view title) {
  return "here is " + std::string{title};
}

weft::Transports on(const weft::SimulatedHost& host) {
  weft::Transports transports;
  transports.add(host.transport());
  return transports;
}

weft::Task<void> borrow(weft::Client* client) {
  const weft::TimePoint began = weft::Loop::current()->now();
  auto book = co_await client->call<lend>("Moby-Dick");
  const double seconds = std::chrono::duration<double>(weft::Loop::current()->now() - began).count();
  std::printf("after %.2f s: %s\n", seconds, book.ok() ? book->c_str() : book.status().to_string().c_str());
}

int main() {
  // begin: setup
  weft::ManualClock clock;
  auto loop = weft::Loop::create({.clock = &clock, .seed = 1}).value();
  weft::SimulatedNetwork network{*loop, {.seed = 1, .outgoing = {.latency = 20ms, .jitter = 5ms}}};
  weft::SimulatedHost library = network.host("library");
  weft::SimulatedHost home = network.host("home");

  weft::ServerOptions options{.listen = {"memory://books"}, .threads = 0, .loop = loop.get()};
  auto server = std::make_unique<weft::Server>(std::move(options), on(library));
  server->register_handler<lend>();
  server->start().value();
  weft::Client client{*loop, {.connect = "memory://books", .call_timeout = 30s}, on(home)};
  // end: setup

  // begin: drive
  weft::Scope scope;
  const auto call_and_wait = [&] {
    loop->post([&] { scope.spawn(&borrow, &client); });
    loop->run_until_idle();
    while (scope.count() > 0) {
      clock.set(*loop->next_timer());  // to the next moment at which something happens
      loop->run_until_idle();
    }
  };
  call_and_wait();
  // end: drive

  // begin: faults
  library.set_outgoing({.latency = 300ms, .bytes_per_second = 1'000'000, .loss = 0.01});
  call_and_wait();
  library.set_side(1);  // hosts of side 0 cannot reach it
  call_and_wait();
  library.set_side(0);
  library.crash();
  server.reset();
  call_and_wait();
  // end: faults
  std::printf("trace %016llx\n", static_cast<unsigned long long>(network.stats().trace_hash));
  return 0;
}
