// SPDX-License-Identifier: Apache-2.0
// The tests as a user of the binding writes them: a coroutine for each operation in flight.
#include <sys/resource.h>

#include <chrono>
#include <cstring>

#include "fail.hpp"
#include "station.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/coro/yield.hpp"
#include "weft/detail/runtime/sleep.hpp"

namespace weft::bench {
namespace {

using ucx::AmReceiver;
using ucx::kWholeTag;

/// State that the coroutines of a window share.
struct Work {
  Station& station;
  std::uint64_t left;
  Stopwatch& watch;
  AmReceiver* messages = nullptr;

  bool take() {
    if (left == 0) return false;
    --left;
    return true;
  }
};

Task<> tag_sends(Work* work) {
  Station& station = work->station;
  while (work->take()) {
    require(co_await ucx::tag_send(station.peer, kTag, station.out));
    work->watch.tick();
  }
}

Task<> tag_receives(Work* work) {
  Station& station = work->station;
  while (work->take()) {
    require(co_await ucx::tag_receive(*station.worker, kTag, kWholeTag, station.in));
    work->watch.tick();
  }
}

Task<> puts(Work* work) {
  Station& station = work->station;
  while (work->take()) {
    require(co_await ucx::put(station.peer, station.out, station.peer_address, *station.key));
    work->watch.tick();
  }
}

Task<> gets(Work* work) {
  Station& station = work->station;
  while (work->take()) {
    require(co_await ucx::get(station.peer, station.in, station.peer_address, *station.key));
    work->watch.tick();
  }
}

using Lane = Task<> (*)(Work*);

Task<> window_of(Lane lane, Work* work) {
  Scope scope;
  for (std::uint64_t i = 0; i < work->station.plan.window; ++i) scope.spawn(lane, work);
  co_await scope.join();
}

Task<> tag_pingpong(Work* work) {
  Station& station = work->station;
  while (work->take()) {
    if (!station.serves) require(co_await ucx::tag_send(station.peer, kTag, station.out));
    require(co_await ucx::tag_receive(*station.worker, kTag, kWholeTag, station.in));
    if (station.serves) require(co_await ucx::tag_send(station.peer, kTag, station.out));
    work->watch.tick();
  }
}

Task<> am_pingpong(Work* work) {
  Station& station = work->station;
  while (work->take()) {
    if (!station.serves) require(co_await ucx::am_send(station.peer, kAmId, Bytes{}, station.out));
    require(co_await work->messages->receive());
    if (station.serves) require(co_await ucx::am_send(station.peer, kAmId, Bytes{}, station.out));
    work->watch.tick();
  }
}

/// Awaited for the end of the next question to UCX, for what UCX tells nobody. Not yield(): between two
/// questions the loop would come back to it many times.
class Progressed final : public ucx::AfterProgress {
 public:
  explicit Progressed(ucx::Worker& worker) : worker_(worker) {}
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    coroutine_ = coroutine;
    worker_.after_progress(*this);
  }
  void await_resume() const {}
  void on_progress() override { weft::detail::resume(coroutine_); }

 private:
  ucx::Worker& worker_;
  std::coroutine_handle<> coroutine_;
};

/// The last byte that the peer puts is the number of the round. It is looked for in memory, because a put
/// tells its target nothing.
class PutPingpong {
 public:
  explicit PutPingpong(Station& station)
      : station_(station),
        last_out_(station.out.data() + station.plan.size - 1),
        last_in_(station.region->memory().data() + station.plan.size - 1) {}

  // Not awaited: the answer says that the put has arrived, and that its memory is free.
  void put(std::uint8_t round) {
    *last_out_ = std::byte{round};
    require(ucx::put(station_.peer, station_.out, station_.peer_address, *station_.key).abandon());
  }
  bool arrived(std::uint8_t round) const { return *last_in_ == std::byte{round}; }

 private:
  Station& station_;
  std::byte* last_out_;
  volatile std::byte* last_in_;
};

Task<> put_pingpong(Work* work) {
  PutPingpong both{work->station};
  for (std::uint8_t round = 0; work->take(); ++round) {
    if (!work->station.serves) both.put(round);
    while (!both.arrived(round)) co_await Progressed{*work->station.worker};
    if (work->station.serves) both.put(round);
    work->watch.tick();
  }
}

// Turns go on meanwhile: the other side may need this one's UCX.
Task<> barrier(Station* station) {
  constexpr int kQuestionsPerLook = 64;
  station->channel.arrive();
  while (!station->channel.other_is_here()) {
    for (int i = 0; i < kQuestionsPerLook; ++i) co_await Progressed{*station->worker};
  }
}

// What the server does in tests that need only the client's calls is nothing: its loop turns.
Task<> side_of(Work* work) {
  const Plan& plan = work->station.plan;
  const bool serves = work->station.serves;
  switch (plan.test) {
    case Test::kTagBw:
      return window_of(serves ? &tag_receives : &tag_sends, work);
    case Test::kPutBw:
    case Test::kGetBw:
      if (serves) work->left = 0;
      return window_of(plan.test == Test::kPutBw ? &puts : &gets, work);
    case Test::kAmLat:
      return am_pingpong(work);
    case Test::kPutLat:
      return put_pingpong(work);
    case Test::kTagLat:
    case Test::kIdle:
      break;
  }
  return tag_pingpong(work);
}

Task<> measured(Work* work) {
  Station& station = work->station;
  co_await barrier(&station);
  work->watch.begin();
  co_await side_of(work);
  require(co_await station.worker->flush());
  work->watch.end();
  co_await barrier(&station);
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

void run_coroutines(Station& station, std::uint64_t iterations, Stopwatch& watch) {
  std::optional<AmReceiver> messages;
  if (station.plan.test == Test::kAmLat) messages.emplace(*station.worker, kAmId);
  if (station.region) std::memset(station.region->memory().data(), 0xFF, station.plan.size);
  Work work{station, iterations, watch, messages ? &*messages : nullptr};
  station.loop->block_on(measured(&work));
}

double measure_idle(Station& station) {
  const double before = cpu_seconds();
  const auto time =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(station.plan.idle_seconds));
  require(station.loop->block_on(sleep_for(time)));
  return (cpu_seconds() - before) / station.plan.idle_seconds;
}

}  // namespace weft::bench
