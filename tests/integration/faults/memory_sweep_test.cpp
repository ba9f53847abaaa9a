// SPDX-License-Identifier: Apache-2.0
// Faults, part "resources and load": each allocation of a server and its client fails once, and thirty of
// them in a row, from the first that they make to the last, on whichever of their threads it is.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

#include "integration/faults/hostile_peer.hpp"
#include "support/heap_count.hpp"
#include "transport/tcp/tcp_transport.hpp"

namespace weft::faults {

using namespace weft::detail;
namespace {

using namespace std::chrono_literals;
using testing::allocation_anywhere_still_to_fail;
using testing::fail_allocations_anywhere;
using testing::fail_mallocs_too;
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
/// Answers with blocks in many places, as many as travel in pieces.
void gather(CallContext& context) {
  const auto memory = std::make_shared<std::vector<std::byte>>(400'000);
  std::vector<Bytes> blocks;
  for (std::size_t at = 0; at < memory->size(); at += 8000)
    blocks.push_back(Bytes{*memory}.subspan(at, 4000));
  context.set_attachment({blocks, memory});
}
void give_back(CallContext& context) {
  context.set_attachment(context.take_attachment());
}
Task<std::uint64_t> measure_later(CallContext& context) {
  co_return context.attachment().size();
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
std::string on_worker(std::string_view text) {
  return std::string{text};
}
Task<Result<std::string>> ask_back(CallContext& context, std::string_view text) {
  Result<std::string> answer = co_await context.peer().call<echo>(text);
  co_return answer;
}
Result<std::string> ask_back_blocking(CallContext& context, std::string_view text) {
  Peer peer = context.peer();
  return blocking(peer).call<echo>(text);
}

const std::string kText(100, 'x');

Task<Result<BroadcastOutcome>> tell_all(Peers peers) {
  Result<BroadcastOutcome> outcome = co_await peers.broadcast<echo>(kText);
  co_return outcome;
}

/// Sends texts of several sizes, those that are copied and one that stays in its chunk.
Stream<std::string> watch(int count) {
  for (int i = 0; i < count; ++i) {
    const std::string text(i % 4 == 3 ? 60'000 : 100 * i, 'w');
    co_yield text;
  }
}
Task<Result<std::size_t>> upload(Reader<std::string>& texts, std::string_view name) {
  std::size_t bytes = name.size();
  while (auto text = co_await texts.next()) bytes += text->size();
  if (!texts.status().ok()) co_return texts.status();
  co_return bytes;
}
Stream<std::string> repeat(Reader<std::string>& texts) {
  while (auto text = co_await texts.next()) co_yield *text;
}

class SilentLogger final : public Logger {
 public:
  void write(LogLevel, std::string_view) override {}
};

/// A server and how its client finds it.
struct Setting {
  const char* name;
  std::string listen = "tcp://127.0.0.1:0";
  /// The number of the process is the end of it.
  bool of_process = false;
  /// Loops of the server; none: it shares the client's.
  unsigned threads = 0;
  bool by_name = false;
  /// Both sides use another carrier than the stream, as the URL says. The memory of UCX and of the RDMA
  /// libraries themselves does not come from operator new.
  bool by_carrier = false;
};

/// One name that stands for two addresses of this machine, asked for on a thread of the resolver's; of the
/// first nobody says anything but that nobody listens there. While it is silent, nobody is answered.
class OneName final : public tcp::HostNames {
 public:
  tcp::Addresses blocking_look_up(const std::string&, std::uint16_t port) override {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return !silent_; });
    auto addresses = tcp::addresses_of(Url{"tcp", "127.0.0.2", port});
    const auto right = tcp::addresses_of(Url{"tcp", "127.0.0.1", port});
    if (!addresses.ok() || !right.ok()) return right.ok() ? addresses : right;
    addresses->push_back(right->front());
    return addresses;
  }
  void set_silent(bool silent) {
    const std::lock_guard lock{mutex_};
    silent_ = silent;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool silent_ = false;
};

/// A server and a client, made anew for each allocation that fails.
class World {
 public:
  explicit World(const Setting& setting) : by_name_(setting.by_name), by_carrier_(setting.by_carrier) {
    ServerOptions serving;
    serving.listen = {setting.listen + (setting.of_process ? std::to_string(::getpid()) : std::string{})};
    serving.threads = setting.threads;
    if (setting.threads == 0) serving.loop = loop_.get();
    serving.worker_threads = 2;
    serving.logger = &logger_;
    server_.emplace(std::move(serving), transport_options());
    server_->register_handler<echo>();
    server_->register_handler<length>();
    server_->register_handler<later>();
    server_->register_handler<measure, measure_later, give_back, gather>();
    server_->register_handler<refuse_all>();
    server_->register_handler<leave>();
    server_->register_handler<ask_back>();
    server_->register_handler<on_worker, ask_back_blocking>({.blocking = true});
    server_->register_handler<watch, upload, repeat>();
    server_->start().value();
    url_ = server_->urls().front();
    make_client();
  }

  Loop& loop() { return *loop_; }
  Server& server() { return *server_; }
  Client& client() { return *client_; }
  const std::string& url() const { return url_; }
  void drop_client() { client_.reset(); }
  /// A client that soon gives up, and while it is there nobody finds the server by its name.
  void silence_names() {
    names_->set_silent(true);
    make_client(2ms);
  }
  void let_names_speak() { names_->set_silent(false); }
  void drop_server() { server_.reset(); }
  bool serves() const { return server_.has_value(); }
  void connect() { note(loop_->block_on(client_->connect())); }
  /// Turns the loop until nothing happens.
  void run_until_idle() {
    while (loop_->run_once(2ms)) {
    }
  }
  /// The same, but no sooner than `done`, which another thread may bring about.
  template <typename Done>
  void run_until(Done done) {
    const auto patience = std::chrono::steady_clock::now() + 10s;
    while (!done()) {
      if (std::chrono::steady_clock::now() > patience) std::abort();
      loop_->run_once(2ms);
    }
    run_until_idle();
  }

  /// A peer that the server has accepted, or had no memory for.
  HostilePeer meet_peer() {
    const std::uint64_t before = server_->stats().connections_accepted;
    HostilePeer peer{url_};
    const auto patience = std::chrono::steady_clock::now() + 300ms;
    while (server_->stats().connections_accepted == before && std::chrono::steady_clock::now() < patience) {
      loop_->run_once(2ms);
    }
    return peer;
  }

  /// Judges how a call of a world with too little memory ended.
  template <typename R>
  void note(const Result<R>& outcome) {
    const StatusCode code = outcome.status().code();
    const bool paid = code == StatusCode::kOk || code == StatusCode::kResourceExhausted ||
                      code == StatusCode::kUnavailable || code == StatusCode::kCancelled ||
                      outcome.status().native() == kRefused;
    // A carrier that the URL requires, and that the peer had no memory for, which its text says.
    const std::string_view text = outcome.status().message();
    const bool says_memory =
        text.find("the peer could not bring it up") != text.npos &&
        (text.find("memory is out") != text.npos || text.find("out of memory") != text.npos);
    const bool carrier_paid = by_carrier_ && code == StatusCode::kFailedPrecondition && says_memory;
    if (paid || carrier_paid) return;
    wrong_ = true;
    fail_allocations_anywhere(0);
    std::printf("  a call ended with %s\n", outcome.status().to_string().c_str());
    std::fflush(stdout);
  }
  template <auto M, typename... Arguments>
  void call(const Arguments&... arguments) {
    note(loop_->block_on(called<M>(*client_, arguments...)));
  }
  /// Memory is back: both sides work as before. Whoever was let go tries again.
  bool works() {
    if (!client_) make_client();
    for (int attempt = 0; attempt < 100; ++attempt) {
      if (loop_->block_on(called<echo>(*client_, kText)).ok()) return !wrong_;
    }
    return false;
  }

 private:
  template <auto M, typename... Arguments>
  static auto called(Client& client, Arguments... arguments) -> Task<Result<detail::ResultOfMethod<M>>> {
    CallOptions options;
    options.timeout = 5s;
    auto result = co_await client.call<M>(options, arguments...);
    co_return result;
  }
  void make_client(Duration connect_timeout = 5s) {
    if (by_carrier_) {
      client_.emplace(*loop_, client_options(connect_timeout), transport_options());
      client_->register_handler<echo>();
      return;
    }
    Transports transports;
    transports.add(tcp::make_transport({.logger = &logger_}, names_));
    client_.emplace(*loop_, client_options(connect_timeout), std::move(transports));
    client_->register_handler<echo>();
  }
  TransportOptions transport_options() {
    TransportOptions transport;
    transport.tcp.logger = &logger_;
    transport.ucx.logger = &logger_;
    transport.verbs.logger = &logger_;
    return transport;
  }
  ClientOptions client_options(Duration connect_timeout) {
    Url url = Url::parse(url_).value();
    if (by_name_) url.host = "server.test";
    ClientOptions options;
    options.connect = url.to_string();
    options.connect_timeout = connect_timeout;
    options.reconnect_wait_min = 1ms;
    options.reconnect_wait_max = 20ms;
    options.logger = &logger_;
    return options;
  }

  const bool by_name_;
  const bool by_carrier_;
  const std::shared_ptr<OneName> names_ = std::make_shared<OneName>();
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

CallOptions five_seconds() {
  CallOptions options;
  options.timeout = 5s;
  return options;
}
/// Reads nothing until much waits to be read, where there is time for it.
Task<Result<void>> watched(Client* client, int count) {
  auto stream = client->open<watch>(five_seconds(), count);
  [[maybe_unused]] const auto slept = co_await sleep_for(1ms);
  while (auto text = co_await stream.next()) {
  }
  Result<void> end = co_await stream.finish();
  co_return end;
}
Task<Result<void>> given_back(Client* client, CallOptions options) {
  options.timeout = 5s;
  auto answer = co_await client->call<give_back>(options).with_attachment();
  if (!answer.ok()) co_return answer.status();
  if (answer->attachment.size() != options.attachment.bytes()) std::abort();
  co_return Result<void>{};
}
Task<Result<std::size_t>> uploaded(Client* client, int count) {
  auto stream = client->open<upload>(five_seconds(), kText);
  for (int i = 0; i < count; ++i) {
    const std::string text(i % 4 == 3 ? 60'000 : 100 * i, 'u');
    if (const bool taken = co_await stream.write(text); !taken) break;
  }
  Result<std::size_t> end = co_await stream.finish();
  co_return end;
}
Task<Result<void>> repeated(Client* client, int count) {
  auto stream = client->open<repeat>(five_seconds());
  for (int i = 0; i < count; ++i) {
    if (const bool taken = co_await stream.write(kText); !taken) break;
    auto text = co_await stream.next();
    if (!text) break;
  }
  Result<void> end = co_await stream.finish();
  co_return end;
}

constexpr Part kParts[] = {
    {"connect and hello", &nothing, [](World& world) { world.connect(); }},
    {"a call that waits for its connection", &nothing, [](World& world) { world.call<echo>(kText); }},
    {"a function", &connected, [](World& world) { world.call<echo>(kText); }},
    {"a coroutine", &connected, [](World& world) { world.call<length>(kText); }},
    {"a delayed reply", &connected, [](World& world) { world.call<later>(kText); }},
    {"a handler on a worker", &connected, [](World& world) { world.call<on_worker>(kText); }},
    {"a call back", &connected, [](World& world) { world.call<ask_back>(kText); }},
    {"a call back from a worker", &connected, [](World& world) { world.call<ask_back_blocking>(kText); }},
    {"a broadcast", &connected,
     [](World& world) {
       attempt([&] { world.note(world.loop().block_on(tell_all(world.server().peers()))); });
     }},
    {"a failing handler", &connected, [](World& world) { world.call<refuse_all>(); }},
    {"an unknown method", &connected,
     [](World& world) {
       attempt([&] {
         Call<std::string> call = world.client().start<nobody>(kText);
         world.run_until([&] { return call.done(); });
       });
     }},
    {"an attachment", &connected,
     [](World& world) {
       static const std::vector<std::byte> kBytes(100'000);
       CallOptions options;
       options.attachment = AttachmentView{Bytes{kBytes}};
       attempt([&] {
         Call<std::uint64_t> call = world.client().start<measure>(options);
         world.run_until([&] { return call.done(); });
       });
     }},
    {"an answer from many places", &connected,
     [](World& world) {
       static std::vector<std::byte> landing(200'000);
       attempt([&] {
         Call<void> call = world.client().start<gather>({.landing = landing});
         world.run_until([&] { return call.done(); });
       });
     }},
    {"a short attachment and its way back", &connected,
     [](World& world) {
       // Of no size that the pool of frames keeps, so that each takes memory of the system.
       static const std::vector<std::byte> kBytes(10'000);
       CallOptions options;
       options.attachment = AttachmentView{Bytes{kBytes}};
       attempt([&] { world.note(world.loop().block_on(given_back(&world.client(), options))); });
       attempt([&] {
         Call<std::uint64_t> call = world.client().start<measure_later>(options);
         world.run_until([&] { return call.done(); });
       });
     }},
    {"a stream of the server", &connected,
     [](World& world) { world.note(world.loop().block_on(watched(&world.client(), 8))); }},
    {"a stream of the client", &connected,
     [](World& world) { world.note(world.loop().block_on(uploaded(&world.client(), 8))); }},
    {"a stream both ways", &connected,
     [](World& world) { world.note(world.loop().block_on(repeated(&world.client(), 5))); }},
    {"a stream that waits for its connection", &nothing,
     [](World& world) { world.note(world.loop().block_on(repeated(&world.client(), 3))); }},
    {"a stream that is dropped", &connected,
     [](World& world) {
       auto stream = world.client().open<watch>(1000);
       world.run_until_idle();
       stream.cancel();
       world.run_until_idle();
     }},
    {"the client closes", &connected,
     [](World& world) {
       with_calls_under_way(world, [&] { world.client().close(); });
       world.drop_client();
       world.run_until_idle();
     }},
    {"a connection that is made again", &connected,
     [](World& world) {
       world.call<leave>();
       world.run_until_idle();
       world.call<echo>(kText);
       world.call<echo>(kText);
     }},
    {"a server where nobody listens", &nothing,
     [](World& world) {
       world.drop_server();
       world.connect();
     }},
    {"a resolver that does not answer", [](World& world) { world.silence_names(); },
     [](World& world) {
       attempt([&] { world.connect(); });
       world.drop_client();
       world.let_names_speak();
     }},
    {"a peer that is no Weft", &connected,
     [](World& world) {
       HostilePeer peer = world.meet_peer();
       peer.send("GET / HTTP/1.1\r\n\r\n");
       world.run_until_idle();
     }},
    {"a peer that resets", &connected,
     [](World& world) {
       HostilePeer peer = world.meet_peer();
       peer.send(hello_bytes());
       world.run_until_idle();
       const linger reset{1, 0};
       ::setsockopt(peer.fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
       peer.close();
       world.run_until_idle();
     }},
    {"a peer that ends inside a frame", &connected,
     [](World& world) {
       HostilePeer peer = world.meet_peer();
       peer.send(hello_bytes());
       peer.send(request_bytes<echo>(1, kText).substr(0, 60));
       peer.close();
       world.run_until_idle();
     }},
    {"the server stops", &connected,
     [](World& world) {
       with_calls_under_way(world, [&] { world.server().stop(0s); });
       world.drop_server();
     }},
};

enum class Outcome : int { kUnused = 0, kSurvived = 1, kWrong = 2 };

Outcome run(const Setting& setting, const Part& part, std::size_t first, std::size_t count) {
  World world{setting};
  part.prepare(world);
  // UCX and the libraries of RDMA end the process themselves where malloc fails.
  fail_mallocs_too(!setting.by_carrier);
  fail_allocations_anywhere(first, count);
  attempt([&] { part.work(world); });
  const bool unused = allocation_anywhere_still_to_fail();
  fail_allocations_anywhere(0);
  if (world.serves() && !world.works()) return Outcome::kWrong;
  return unused ? Outcome::kUnused : Outcome::kSurvived;
}

/// Tells whether a server can be had in `setting`. It is tried in a child, for the setting's sake: nothing of
/// it stays.
bool is_possible(const Setting& setting) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    const std::unique_ptr<Loop> loop = Loop::create().value();
    ServerOptions options;
    options.listen = {setting.listen};
    options.threads = 0;
    options.loop = loop.get();
    Server server{std::move(options)};
    std::_Exit(server.start().ok() ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

/// Tells the parent about the child, wherever that ends.
struct Report {
  std::size_t position = 1;
  bool finished = false;
};

/// Runs in a row without an allocation that fails: where threads race, one run takes a few more than another.
constexpr int kUnusedInARow = 3;

/// Distance of one run's first failing allocation from the next one's. Where several fail in a row each
/// allocation fails in several runs also at a distance, which is kept where each run costs a context of the
/// carrier. Such a run takes half a second in an emulated machine, where a third of the allocations fail
/// alone.
std::size_t step_of(const Setting& setting, std::size_t count) {
  if (!setting.by_carrier) return 1;
  return std::max<std::size_t>(count / 4, WEFT_SWEEP_OF_RDMA ? 3 : 1);
}

/// Tries, in a child, all positions from `report.position` on, as long as there is one to fail.
[[noreturn]] void run_all(const Setting& setting, const Part& part, std::size_t count, Report& report) {
  for (int unused = 0; unused < kUnusedInARow; report.position += step_of(setting, count)) {
    ::alarm(20);  // nothing waits for that long
    const Outcome outcome = run(setting, part, report.position, count);
    if (outcome == Outcome::kWrong) std::_Exit(2);
    unused = outcome == Outcome::kUnused ? unused + 1 : 0;
  }
  report.finished = true;
  std::_Exit(0);
}

/// A child for all positions, and another one behind each that did not survive.
void sweep(const Setting& setting, const Part& part, std::size_t count) {
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
    if (child == 0) run_all(setting, part, count, report);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (report.finished) break;
    ++lost;
    ADD_FAILURE() << part.name << ": allocation " << report.position
                  << (WIFSIGNALED(status) ? " ended the process by signal " + std::to_string(WTERMSIG(status))
                                          : std::string{" left something that does not work"});
    report.position += step_of(setting, count);
  }
  const std::size_t unused = kUnusedInARow * step_of(setting, count);
  std::printf("%zu allocations, %zu in a row each: %s, %s\n", report.position - 1 - unused, count, part.name,
              setting.name);
  EXPECT_GT(report.position, 1 + unused) << "nothing was allocated, so nothing was tried";
  ::munmap(shared, sizeof(Report));
}

const Setting kOneLoop{.name = "one loop"};
const Setting kUnix{.name = "Unix sockets",
                    .listen = "unix://" + ::testing::TempDir() + "weft_memory_sweep_",
                    .of_process = true};
const Setting kThreeLoops{.name = "three loops", .threads = 3};
const Setting kByName{.name = "by name", .by_name = true};

#if WEFT_SWEEP_OF_RDMA
// A program of its own, for where there is a device: memory_sweep_rdma_test.
const Setting kVerbs{.name = "RDMA", .listen = "verbs://127.0.0.1:0", .by_carrier = true};
#endif
const Setting kUcx{.name = "UCX", .listen = "ucx://127.0.0.1:0", .by_carrier = true};

class MemorySweep : public ::testing::TestWithParam<std::tuple<Setting, Part>> {
 protected:
  static void sweep_of(std::size_t count) {
    const auto& [setting, part] = GetParam();
    if (setting.by_carrier && !is_possible(setting)) GTEST_SKIP() << "no " << setting.name << " here";
    sweep(setting, part, count);
  }
};

TEST_P(MemorySweep, EachAllocationThatFailsCostsItsCallOrItsConnectionOnly) {
  sweep_of(1);
}
TEST_P(MemorySweep, ThirtyFailuresInARowAreSurvived) {
  sweep_of(30);
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<Setting, Part>>& info) {
  std::string name = std::string{std::get<0>(info.param).name} + " " + std::get<1>(info.param).name;
  for (char& letter : name) {
    if (letter == ' ') letter = '_';
  }
  return name;
}
/// Allows as many bytes of memory as this process has, and a little more: too few for a thread's stack.
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

// Each of its worlds costs a context of the carrier: the parts in which that does what a stream does not.
std::vector<Part> parts_of_carriers() {
  constexpr std::string_view kNames[] = {
      "connect and hello",  "a function",        "an attachment",    "an answer from many places",
      "a stream both ways", "the client closes", "the server stops", "a connection that is made again"};
  std::vector<Part> parts;
  for (const Part& part : kParts) {
    for (const std::string_view name : kNames) {
      if (part.name == name) parts.push_back(part);
    }
  }
  return parts;
}

#if WEFT_SWEEP_OF_RDMA
INSTANTIATE_TEST_SUITE_P(Carriers, MemorySweep,
                         ::testing::Combine(::testing::Values(kVerbs),
                                            ::testing::ValuesIn(parts_of_carriers())),
                         name_of);
#else
INSTANTIATE_TEST_SUITE_P(Carriers, MemorySweep,
                         ::testing::Combine(::testing::Values(kUcx),
                                            ::testing::ValuesIn(parts_of_carriers())),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Each, MemorySweep,
                         ::testing::Combine(::testing::Values(kOneLoop, kUnix, kThreeLoops, kByName),
                                            ::testing::ValuesIn(kParts)),
                         name_of);
#endif

}  // namespace
}  // namespace weft::faults
