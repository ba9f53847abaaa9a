// SPDX-License-Identifier: Apache-2.0
// Faults, part "resources and load": each allocation of a server and its client fails once, and thirty of
// them in a row, from the first that they make to the last.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <new>
#include <optional>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "integration/faults/hostile_peer.hpp"
#include "support/heap_count.hpp"

namespace weft::faults {
namespace {

using namespace std::chrono_literals;
using testing::allocation_still_to_fail;
using testing::fail_allocations;
using testing::kHeapIsCounted;

// In a text that does not fit into a std::string itself.
std::string echo(std::string_view text) {
  return std::string{text};
}
Task<std::size_t> length(std::string_view text) {
  co_return text.size();
}
void later(Reply<std::string> reply, std::string_view text) {
  std::move(reply)(std::string{text});
}
std::uint64_t measure(CallContext& context) {
  return context.attachment().size();
}
void leave(CallContext& context) {
  context.close_connection();
}
constexpr int kRefused = 7;
void refuse_all(Reply<std::string> reply) {
  std::move(reply).fail(user_error(kRefused, "no, for a reason that is too long for a small string"));
}
std::string nobody(std::string_view text) {
  return std::string{text};
}

/// Which allocation of a worker's thread fails next.
std::atomic<std::size_t> failing_on_worker = 0;
std::string on_worker(std::string_view text) {
  fail_allocations(failing_on_worker.exchange(0));
  return std::string{text};
}

const std::string kText(100, 'x');

class SilentLogger final : public Logger {
 public:
  void write(LogLevel, std::string_view) override {}
};

/// A server and a client on one loop of one thread, made anew for each allocation that fails.
class World {
 public:
  World() {
    ServerOptions serving;
    serving.listen = {"tcp://127.0.0.1:0"};
    serving.threads = 0;
    serving.loop = loop_.get();
    serving.worker_threads = 1;
    serving.logger = &logger_;
    TransportOptions transport;
    transport.tcp.logger = &logger_;
    server_.emplace(std::move(serving), std::move(transport));
    server_->register_handler<echo>();
    server_->register_handler<length>();
    server_->register_handler<later>();
    server_->register_handler<measure>();
    server_->register_handler<refuse_all>();
    server_->register_handler<leave>();
    server_->register_handler<on_worker>({.blocking = true});
    server_->start().value();
    url_ = server_->urls().front();
    client_.emplace(*loop_, client_options());
  }

  Loop& loop() { return *loop_; }
  Server& server() { return *server_; }
  Client& client() { return *client_; }
  const std::string& url() const { return url_; }
  void drop_client() { client_.reset(); }
  void drop_server() { server_.reset(); }
  void connect() { note(loop_->block_on(client_->connect())); }
  /// Turns the loop until nothing happens.
  void settle() {
    while (loop_->run_once(2ms)) {
    }
  }

  /// Judges how a call of a world with too little memory ended.
  template <typename R>
  void note(const Result<R>& outcome) {
    const StatusCode code = outcome.status().code();
    const bool paid = code == StatusCode::kOk || code == StatusCode::kResourceExhausted ||
                      code == StatusCode::kUnavailable || code == StatusCode::kCancelled ||
                      outcome.status().native() == kRefused;
    if (paid) return;
    wrong_ = true;
    fail_allocations(0);
    std::printf("  a call ended with %s\n", outcome.status().to_string().c_str());
  }
  template <auto M, typename... Arguments>
  void call(const Arguments&... arguments) {
    note(loop_->block_on(called<M>(*client_, arguments...)));
  }
  /// Memory is back: both sides work as before. Whoever was let go tries again.
  bool works() {
    if (!client_) client_.emplace(*loop_, client_options());
    for (int attempt = 0; attempt < 100; ++attempt) {
      if (loop_->block_on(called<echo>(*client_, kText)).ok()) return !wrong_;
    }
    return false;
  }

 private:
  template <auto M, typename... Arguments>
  static auto called(Client& client, Arguments... arguments) -> Task<Result<ResultOfMethod<M>>> {
    CallOptions options;
    options.timeout = 5s;
    auto result = co_await client.call<M>(options, arguments...);
    co_return result;
  }
  ClientOptions client_options() {
    ClientOptions options;
    options.connect = url_;
    options.reconnect_wait_min = 1ms;
    options.reconnect_wait_max = 20ms;
    options.logger = &logger_;
    return options;
  }

  SilentLogger logger_;
  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::string url_;
  std::optional<Server> server_;
  std::optional<Client> client_;
  bool wrong_ = false;
};

// What throws in the caller's own frame has failed as it should.

template <typename Step>
void attempt(Step step) {
  try {
    step();
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the caller's own allocation
  }
}

/// `prepare` with memory, `work` without.
struct Part {
  const char* name;
  void (*prepare)(World& world);
  void (*work)(World& world);
};

void connected(World& world) {
  world.connect();
}
void nothing(World&) {}

Task<void> keep(Client* client, int* ended) {
  CallOptions options;
  options.timeout = 5s;
  auto result = co_await client->call<echo>(options, kText);
  static_cast<void>(result);
  ++*ended;
}
Task<void> joined(Scope* scope) {
  co_await scope->join();
}

/// Many calls at once, with `event` while they are under way: each ends.
template <typename Event>
void with_calls_under_way(World& world, Event event) {
  Scope scope;
  int ended = 0;
  int begun = 0;
  for (int i = 0; i < 3; ++i) {
    attempt([&] {
      scope.spawn(&keep, &world.client(), &ended);
      ++begun;
    });
  }
  event();
  // The frame of the waiting itself may be what there is no memory for.
  bool done = false;
  while (!done) {
    attempt([&] {
      world.loop().block_on(joined(&scope));
      done = true;
    });
  }
  if (ended != begun) std::abort();
}

constexpr Part kParts[] = {
    {"connect and hello", &nothing, [](World& world) { world.connect(); }},
    {"a call that waits for its connection", &nothing, [](World& world) { world.call<echo>(kText); }},
    {"a function", &connected, [](World& world) { world.call<echo>(kText); }},
    {"a coroutine", &connected, [](World& world) { world.call<length>(kText); }},
    {"a delayed reply", &connected, [](World& world) { world.call<later>(kText); }},
    {"a handler on a worker", &connected, [](World& world) { world.call<on_worker>(kText); }},
    {"a failing handler", &connected, [](World& world) { world.call<refuse_all>(); }},
    {"an unknown method", &connected,
     [](World& world) {
       attempt([&] {
         Call<std::string> call = world.client().start<nobody>(kText);
         world.settle();
         if (!call.done()) std::abort();
       });
     }},
    {"an attachment", &connected,
     [](World& world) {
       static const std::vector<std::byte> kBytes(100'000);
       CallOptions options;
       options.attachment = AttachmentView{Bytes{kBytes}};
       attempt([&] {
         Call<std::uint64_t> call = world.client().start<measure>(options);
         world.settle();
         if (!call.done()) std::abort();
       });
     }},
    {"the client closes", &connected,
     [](World& world) {
       with_calls_under_way(world, [&] { world.client().close(); });
       world.drop_client();
       world.settle();
     }},
    {"a connection that is made again", &connected,
     [](World& world) {
       world.call<leave>();
       world.settle();
       world.call<echo>(kText);
       world.call<echo>(kText);
     }},
    {"a peer that is no Weft", &connected,
     [](World& world) {
       HostilePeer peer{world.url()};
       peer.send("GET / HTTP/1.1\r\n\r\n");
       world.settle();
     }},
    {"a peer that resets", &connected,
     [](World& world) {
       HostilePeer peer{world.url()};
       peer.send(hello_bytes());
       world.settle();
       const linger reset{1, 0};
       ::setsockopt(peer.fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
       peer.close();
       world.settle();
     }},
    {"a peer that ends inside a frame", &connected,
     [](World& world) {
       HostilePeer peer{world.url()};
       peer.send(hello_bytes());
       peer.send(request_bytes<echo>(1, kText).substr(0, 60));
       peer.close();
       world.settle();
     }},
};

constexpr Part kStop = {"the server stops", &connected, [](World& world) {
                          with_calls_under_way(world, [&] { world.server().stop(0s); });
                          world.drop_server();
                        }};

enum class Outcome : int { kUnused = 0, kSurvived = 1, kWrong = 2 };

Outcome run(const Part& part, std::size_t first, std::size_t count) {
  World world;
  part.prepare(world);
  failing_on_worker = first;
  fail_allocations(first, count);
  attempt([&] { part.work(world); });
  const bool unused = allocation_still_to_fail();
  fail_allocations(0);
  if (part.work != kStop.work && !world.works()) return Outcome::kWrong;
  return unused ? Outcome::kUnused : Outcome::kSurvived;
}

/// Tells the parent about the child, wherever that ends.
struct Report {
  std::size_t position = 1;
  bool finished = false;
};

/// In a child: all positions from `report.position` on, as long as there is one to fail.
[[noreturn]] void run_all(const Part& part, std::size_t count, Report& report) {
  for (;; ++report.position) {
    ::alarm(20);  // nothing waits for that long
    switch (run(part, report.position, count)) {
      case Outcome::kWrong:
        std::_Exit(2);
      case Outcome::kUnused:
        report.finished = true;
        std::_Exit(0);
      case Outcome::kSurvived:
        break;
    }
  }
}

/// A child for all positions, and another one behind each that did not survive.
void sweep(const Part& part, std::size_t count) {
  if (!kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new does not fail";
  void* const shared =
      ::mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  Report& report = *::new (shared) Report;
  int lost = 0;
  while (!report.finished && lost < 10) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) run_all(part, count, report);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (report.finished) break;
    ++lost;
    ADD_FAILURE() << part.name << ": allocation " << report.position
                  << (WIFSIGNALED(status) ? " ended the process by signal " + std::to_string(WTERMSIG(status))
                                          : std::string{" left something that does not work"});
    ++report.position;
  }
  std::printf("%zu allocations, %zu in a row each: %s\n", report.position - 1, count, part.name);
  EXPECT_GT(report.position, 1u) << "nothing was allocated, so nothing was tried";
  ::munmap(shared, sizeof(Report));
}

class MemorySweep : public ::testing::TestWithParam<Part> {};

TEST_P(MemorySweep, EachAllocationThatFailsCostsItsCallOrItsConnectionOnly) {
  sweep(GetParam(), 1);
}
TEST_P(MemorySweep, ThirtyFailuresInARowAreSurvived) {
  sweep(GetParam(), 30);
}

std::string name_of(const ::testing::TestParamInfo<Part>& info) {
  std::string name = info.param.name;
  for (char& letter : name) {
    if (letter == ' ') letter = '_';
  }
  return name;
}
/// As many bytes of memory as this process has, and a little more: too few for a thread's stack.
void forbid_threads() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  if (file == nullptr || std::fscanf(file, "%lu", &pages) != 1) std::_Exit(3);
  std::fclose(file);
  const rlim_t bytes = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + 4 * 1024 * 1024;
  const rlimit limit{bytes, bytes};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(3);
}

TEST(Threads, ThatCannotBeMadeFailTheStartOfTheServer) {
  if (!kHeapIsCounted) GTEST_SKIP() << "the sanitizers take more memory than there would be";
  for (const unsigned threads : {0u, 1u}) {
    const pid_t child = ::fork();
    if (child == 0) {
      const std::unique_ptr<Loop> loop = Loop::create().value();
      ServerOptions options;
      options.listen = {"tcp://127.0.0.1:0"};
      options.threads = threads;
      options.loop = threads == 0 ? loop.get() : nullptr;
      options.worker_threads = 4;
      Server server{std::move(options)};
      if (threads == 0) server.register_handler<on_worker>({.blocking = true});
      forbid_threads();
      const Result<void> started = server.start();
      std::_Exit(started.status().code() == StatusCode::kResourceExhausted ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << threads << " threads, status " << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, MemorySweep, ::testing::ValuesIn(kParts), name_of);
INSTANTIATE_TEST_SUITE_P(Stop, MemorySweep, ::testing::Values(kStop), name_of);

}  // namespace
}  // namespace weft::faults
