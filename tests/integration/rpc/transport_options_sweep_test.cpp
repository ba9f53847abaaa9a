// SPDX-License-Identifier: Apache-2.0
// Each field of the options of threads, sockets and TLS at its extremes, one at a time, with calls between a
// server and a client of this process. Options are refused with words that name them, or calls end.
//
// transport_options_sweep_test --show prints how the calls of each extreme end.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <latch>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "integration/http/raw_http.hpp"
#include "support/option_extremes.hpp"
#include "weft/access.hpp"
#include "weft/blocking_client.hpp"
#include "weft/coroutines.hpp"
#include "weft/detail/runtime/loop_thread.hpp"
#include "weft/detail/runtime/worker_pool.hpp"
#include "weft/http.hpp"
#include "weft/naming.hpp"
#include "weft/server.hpp"
#if WEFT_SWEEP_TLS
#include "support/test_ca.hpp"
#endif

namespace weft::transport_options_sweep {
namespace {

using namespace std::chrono_literals;
using testing::OptionExtreme;

bool show = false;
int extremes_seen = 0;

class Silent final : public Logger {
 public:
  void write(LogLevel, std::string_view) override {}
};

std::string repeat(std::string text) {
  return text + text;
}

/// Judges how all that was done with one extreme ended.
void judge(const OptionExtreme& extreme, const Status& status) {
  if (show) std::printf("%-40s %.150s\n", extreme.text().c_str(), status.to_string().c_str());
  if (status.code() != StatusCode::kInvalidArgument) return;
  const std::string text = status.to_string();
  // UCX names one of its settings.
  const std::string option = extreme.option() == "settings" ? "setting" : extreme.option();
  EXPECT_NE(text.find(option), text.npos) << text;
}

template <typename T, typename Use>
void sweep(const T& defaults, Use use) {
  for (std::size_t number = 0;; ++number) {
    T options = defaults;
    OptionExtreme extreme{number};
    if (!extreme.set(options)) {
      EXPECT_GT(number, 0u);
      return;
    }
    SCOPED_TRACE(extreme.text());
    ++extremes_seen;
    judge(extreme, use(options));
  }
}

/// Calls a server over these transports; returns the failure of the server or of a call.
Status call_over(const std::string& url, const TransportOptions& transports,
                 const LoopThreadOptions& thread = {}) {
  static Silent logger;
  ServerOptions serving;
  serving.listen = {url};
  serving.logger = &logger;
  Server server{std::move(serving), transports};
  server.register_handler<&repeat>();
  const auto started = server.start();
  if (!started.ok()) return started.status();
  ClientOptions calling;
  calling.connect = server.urls().front();
  calling.connect_timeout = 500ms;
  calling.call_timeout = 1s;
  calling.logger = &logger;
  BlockingClient client{std::move(calling), make_transports(transports), thread};
  Status failure;
  for (const std::size_t bytes : {std::size_t{10}, std::size_t{100'000}}) {
    const Result<std::string> answer = client.call<&repeat>(std::string(bytes, 'x'));
    if (!answer.ok()) failure = answer.status();
  }
  return failure;
}

TEST(TransportOptionsSweep, OptionsOfSocketsAreRefusedByNameOrWork) {
  static Silent logger;
  TcpOptions defaults;
  defaults.logger = &logger;
  sweep(defaults, [](const TcpOptions& options) {
    TransportOptions transports;
    transports.tcp = options;
    return call_over("tcp://127.0.0.1:0", transports);
  });
}

#if WEFT_SWEEP_TLS
TEST(TransportOptionsSweep, OptionsOfTlsAreRefusedByNameOrWork) {
  static Silent logger;
  const testing::TestCa ca;
  TlsOptions defaults;
  defaults.logger = &logger;
  defaults.certificates = {ca.issue()};
  defaults.ca_pem = ca.pem();
  sweep(defaults, [](const TlsOptions& options) {
    TransportOptions transports;
    transports.tls = options;
    return call_over("tls://127.0.0.1:0", transports);
  });
}
#endif

TEST(TransportOptionsSweep, OptionsOfHttpAreRefusedByNameOrWork) {
  static Silent logger;
  sweep(HttpOptions{}, [](const HttpOptions& options) {
    ServerOptions serving{.listen = {"tcp://127.0.0.1:0"}};
    serving.protocols = {http(options)};
    serving.logger = &logger;
    Server server{std::move(serving)};
    server.register_handler<&repeat>();
    const auto started = server.start();
    if (!started.ok()) return started.status();
    testing::RawHttp client{server.urls().front()};
    const testing::HttpAnswer answer =
        client.call("/functions/weft::transport_options_sweep::(anonymous%20namespace)::repeat", R"(["x"])");
    return answer.status == 0 ? Status{StatusCode::kUnavailable, Layer::kUser, "no answer"} : Status{};
  });
}

TEST(TransportOptionsSweep, OptionsOfLoopThreadsAreRefusedByNameOrWork) {
  sweep(LoopThreadOptions{}, [](const LoopThreadOptions& options) {
    auto thread = LoopThread::start(options);
    if (!thread.ok()) return thread.status();
    std::latch ran{100};
    for (int i = 0; i < 100; ++i) (*thread)->loop().post([&ran] { ran.count_down(); });
    ran.wait();
    thread->reset();
    return call_over("tcp://127.0.0.1:0", {}, options);
  });
}

TEST(TransportOptionsSweep, OptionsOfWorkerPoolsAreRefusedByNameOrWork) {
  sweep(WorkerPoolOptions{}, [](const WorkerPoolOptions& options) {
    auto pool = WorkerPool::start(options);
    if (!pool.ok()) return pool.status();
    auto loop = Loop::create().value();
    auto work = [](WorkerPool* its) -> Task<int> {
      auto three = on_worker(*its, [] { return 3; });
      auto answer = co_await std::move(three);
      co_return answer.ok() ? *answer : 0;
    };
    EXPECT_EQ(loop->block_on(work(pool->get())), 3);
    return Status{};
  });
}

TEST(TransportOptionsSweep, OptionsOfRegistrationsAreRefusedByNameOrWork) {
  static Silent logger;
  RegistrationOptions defaults;
  defaults.logger = &logger;
  sweep(defaults, [](const RegistrationOptions& options) {
    auto loop = Loop::create().value();
    // No server listens at this URL.
    auto registration = register_name(*loop, "etcd://127.0.0.1:1/services/kv",
                                      Endpoint{.url = "tcp://127.0.0.1:9000"}, options);
    if (!registration.ok()) return registration.status();
    for (int turn = 0; turn < 50; ++turn) loop->run_once(Duration::zero());
    return Status{};
  });
}

TEST(TransportOptionsSweep, OptionsOfTokensAreRefusedByNameOrWork) {
  static Silent logger;
  const std::string name = ::testing::TempDir() + "weft_sweep_" + std::to_string(::getpid());
  const std::string tokens = name + ".tokens";
  const std::string token = name + ".token";
  std::ofstream{tokens} << "somebody abcdefghijklmnopqrst\n";
  std::ofstream{token} << "abcdefghijklmnopqrst\n";
  BearerOptions defaults;
  defaults.file.logger = &logger;
  sweep(defaults, [&](const BearerOptions& options) {
    auto authenticator = token_file(tokens, options.file);
    if (!authenticator.ok()) return authenticator.status();
    auto bearer = bearer_token_file(token, options);
    if (!bearer.ok()) return bearer.status();
    ServerOptions serving;
    serving.listen = {"tcp://127.0.0.1:0"};
    serving.authenticator = *authenticator;
    serving.logger = &logger;
    Server server{std::move(serving)};
    server.register_handler<&repeat>();
    const auto started = server.start();
    if (!started.ok()) return started.status();
    ClientOptions calling;
    calling.connect = server.urls().front();
    calling.interceptors = {*bearer};
    calling.logger = &logger;
    BlockingClient client{std::move(calling)};
    Status last;
    for (int i = 0; i < 10; ++i) {
      last = client.call<&repeat>(std::string{"x"}).status();
      EXPECT_TRUE(last.ok()) << last.to_string();
    }
    return last;
  });
  std::filesystem::remove(tokens);
  std::filesystem::remove(token);
}

// In a build without UCX each server is refused.
TEST(TransportOptionsSweep, OptionsOfUcxAreRefusedByNameOrWork) {
  static Silent logger;
  UcxOptions defaults;
  defaults.logger = &logger;
  defaults.settings = {{"RNDV_THRESH", "8k"}};
  sweep(defaults, [](const UcxOptions& options) {
    TransportOptions transports;
    transports.ucx = options;
    return call_over("ucx://127.0.0.1:0", transports);
  });
}

TEST(TransportOptionsSweep, OptionsOfSharedMemoryAreRefusedByNameOrWork) {
  SharedMemoryOptions defaults;
  defaults.connecting = defaults.listening = CarrierPolicy::kPrefer;
  sweep(defaults, [](const SharedMemoryOptions& options) {
    TransportOptions transports;
    transports.shared_memory = options;
    const std::string path = ::testing::TempDir() + "weft_sweep_" + std::to_string(::getpid()) + ".socket";
    return call_over("unix://" + path, transports);
  });
}

using Listed = testing::Structs<AccessFileOptions, BearerOptions, HttpOptions, LoopThreadOptions, Rate,
                                RegistrationOptions, SharedMemoryOptions, TcpOptions, TlsCertificate,
                                TlsOptions, UcxOptions, WorkerPoolOptions>;
using Roots = testing::Structs<BearerOptions, HttpOptions, LoopThreadOptions, RegistrationOptions,
                               SharedMemoryOptions, TcpOptions, TlsOptions, UcxOptions, WorkerPoolOptions>;
static_assert(testing::reached_by(Roots{}, Listed{}));

}  // namespace
}  // namespace weft::transport_options_sweep

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::string_view{argv[i]} == "--show") weft::transport_options_sweep::show = true;
  }
  const int outcome = RUN_ALL_TESTS();
  std::printf("%d extremes\n", weft::transport_options_sweep::extremes_seen);
  return outcome;
}
