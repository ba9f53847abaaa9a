// SPDX-License-Identifier: Apache-2.0
// Makes a given number of small calls, or sends so many items, in turns that one thread gives to the client
// and to the server, so that the speed guard (guard.py) can count what one costs. Nothing here depends on
// time.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "guard/attached_calls.hpp"
#include "guard/progress.hpp"
#include "guard/small_items.hpp"
#include "support/heap_count.hpp"
#include "weft/client.hpp"
#include "weft/connection_pool.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/runtime/clock.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/transport/memory.hpp"
#include "weft/detail/transport/tcp.hpp"
#include "weft/server.hpp"

namespace {

using weft::guard::kWarmUp;
using weft::guard::Payload;
using weft::guard::Progress;

/// Time for a turn that has nothing to do, which no turn is once the calls have begun.
constexpr weft::Duration kPatience = std::chrono::milliseconds{100};
/// Time that a turn waits: none for a stream, of which one side may have more to do while the other has
/// nothing.
weft::Duration patience = kPatience;
/// Turns without an answer after which the program gives up.
constexpr int kIdleTurnsMax = 100;

Payload echo(Payload payload) {
  ++payload[0];
  return payload;
}

template <typename Client>
weft::Task<void> call_again_and_again(Client* client, Progress* progress) {
  Payload payload{};
  while (progress->to_start > 0) {
    --progress->to_start;
    weft::Result<Payload> answer = co_await client->template call<echo>(payload);
    progress->end_one(answer.ok() && (*answer)[0] == payload[0] + 1);
    ++payload[0];
  }
}

/// Removes `suffix` from the end of `text`; false if that ends in something else.
bool remove_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

weft::LoopOptions loop_options(weft::Clock& clock) {
  return {.poller = weft::PollerKind::kEpoll, .mode = weft::WaitMode::kWait, .clock = &clock};
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : 0;
}

}  // namespace

// The guard finds these by their names, and adds up what is executed below them.
extern "C" {
[[gnu::noinline]] void guard_turn_of_client(weft::Loop& loop) {
  loop.run_once(patience);
}
[[gnu::noinline]] void guard_turn_of_server(weft::Loop& loop) {
  loop.run_once(patience);
}
}

int main(int argc, char** argv) {
  std::string_view transport = argc == 4 ? argv[1] : "";
  const bool timed = remove_suffix(transport, "-timed");
  const bool by_pool = remove_suffix(transport, "-pool");
  const bool attached = remove_suffix(transport, "-attached");
  const bool down = remove_suffix(transport, "-down");
  const bool items = down || remove_suffix(transport, "-up");
  if (items) patience = weft::Duration::zero();
  const std::uint64_t in_flight = argc == 4 ? number(argv[2]) : 0;
  const std::uint64_t calls = argc == 4 ? number(argv[3]) : 0;
  if ((transport != "tcp" && transport != "memory") || in_flight == 0 || calls == 0) {
    std::fprintf(
        stderr,
        "usage: guard_small_calls tcp|memory|tcp-pool|memory-pool|tcp-attached|memory-attached[-timed] "
        "IN_FLIGHT CALLS\n"
        "       guard_small_calls tcp-down|tcp-up|memory-down|memory-up STREAMS ITEMS\n");
    return 2;
  }

  // It stands still: a server that sees a request late, as it does in a slow run, takes a longer way.
  weft::ManualClock clock;
  weft::Transports transports;
  transports.add(weft::detail::make_tcp_transport());
  transports.add(std::make_unique<weft::MemoryNetwork>());
  // Over memory both sides share a loop: two of them would wake each other by posted work, which is not the
  // path of a call.
  const std::unique_ptr<weft::Loop> client_loop = weft::Loop::create(loop_options(clock)).value();
  const std::unique_ptr<weft::Loop> own_loop =
      transport == "tcp" ? weft::Loop::create(loop_options(clock)).value() : nullptr;
  weft::Loop& server_loop = own_loop != nullptr ? *own_loop : *client_loop;
  const std::string listen = transport == "tcp" ? "tcp://127.0.0.1:0" : "memory://guard";

  // All of a window has room in the outbox, so that no writer waits for that.
  weft::RpcLimits limits;
  limits.stream_window = 256 * 1024;
  weft::Server server{
      {.listen = {listen}, .threads = 0, .loop = &server_loop, .call_times = timed, .limits = limits},
      transports};
  server.register_handler<echo>();
  weft::guard::register_items(server);
  weft::guard::register_attached(server);
  server.start().value();
  weft::ClientOptions client_options;
  client_options.connect = server.urls().front();
  client_options.limits = limits;
  weft::Client client{*client_loop, client_options, transports};
  // Of one connection, as the client has, so that both do the same work.
  weft::PoolOptions pool_options;
  pool_options.client.connect = server.urls().front();
  pool_options.connections_max = 1;
  pool_options.calls_per_connection = 65536;
  weft::ConnectionPool pool{*client_loop, pool_options, transports};

  Progress progress{.to_start = kWarmUp + calls};
  weft::Scope callers;
  client_loop->post([&] {
    if (items) return weft::guard::use_streams(callers, client, progress, in_flight, down);
    for (std::uint64_t i = 0; i < in_flight; ++i) {
      if (attached) {
        callers.spawn(&weft::guard::call_with_attachment, &client, &progress);
      } else if (by_pool) {
        callers.spawn(&call_again_and_again<weft::ConnectionPool>, &pool, &progress);
      } else {
        callers.spawn(&call_again_and_again<weft::Client>, &client, &progress);
      }
    }
  });
  int idle_turns = 0;
  // A stream ends a little behind its last item.
  for (std::uint64_t ended = 0; ended < kWarmUp + calls || callers.count() > 0; ended = progress.ended) {
    guard_turn_of_client(*client_loop);
    if (own_loop != nullptr) guard_turn_of_server(*own_loop);
    idle_turns = progress.ended > ended ? 0 : idle_turns + 1;
    if (idle_turns > kIdleTurnsMax) break;
  }
  const std::size_t allocations = weft::testing::heap_allocations() - progress.allocations_before;
  if (progress.failed > 0 || progress.ended < kWarmUp + calls || callers.count() > 0) {
    std::fprintf(stderr, "%llu calls or items ended, %llu of them failed\n",
                 static_cast<unsigned long long>(progress.ended),
                 static_cast<unsigned long long>(progress.failed));
    std::fflush(stderr);
    std::_Exit(1);
  }
  std::printf("{\"allocations\": %zu, \"compiler\": \"%s\"}\n", allocations, WEFT_GUARD_COMPILER);
  return 0;
}
