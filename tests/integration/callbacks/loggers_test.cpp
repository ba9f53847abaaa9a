// SPDX-License-Identifier: Apache-2.0
// Loggers that destroy what they are told of.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <weft/access.hpp>
#include <weft/fleet.hpp>
#include <weft/naming.hpp>
#include <weft/weft.hpp>

#if WEFT_HAVE_TLS
#include "integration/tls/tls_files.hpp"
#include "support/test_ca.hpp"
#endif

namespace weft::testing::loggers {
namespace {

using namespace std::chrono_literals;

/// Calls a function at each line.
class Acts final : public Logger {
 public:
  void write(LogLevel, std::string_view line) override {
    ++lines;
    last = line;
    if (act) act();
  }

  std::function<void()> act;
  std::string last;
  int lines = 0;
};

int add(int number) {
  return number + 1;
}
/// Replies that a handler keeps.
std::vector<Reply<int>>* kept = nullptr;
void keep(Reply<int> reply) {
  kept->push_back(std::move(reply));
}

class Loggers : public ::testing::Test {
 protected:
  template <typename Condition>
  bool turn_until(Condition condition) {
    const auto patience = std::chrono::steady_clock::now() + 30s;
    while (!condition() && std::chrono::steady_clock::now() < patience) loop_->run_once(1ms);
    return condition();
  }
  /// A server on the test's loop.
  std::unique_ptr<Server> serve(ServerOptions options, TransportOptions transports = {}) {
    options.threads = 0;
    options.loop = loop_.get();
    auto server = std::make_unique<Server>(std::move(options), std::move(transports));
    server->register_handler<add, keep>();
    server->start().value();
    return server;
  }
  /// A server on threads of its own.
  std::unique_ptr<Server> serve_on(unsigned threads, ServerOptions options) {
    options.threads = threads;
    auto server = std::make_unique<Server>(std::move(options));
    server->register_handler<add, keep>();
    server->start().value();
    return server;
  }
  void end(Server& server) {
    server.stop(0s);
    EXPECT_TRUE(turn_until([&] { return server.stopped(); }));
  }
  std::string file(std::string_view text) {
    const std::string path = ::testing::TempDir() + "weft-loggers-" + std::to_string(::getpid());
    std::ofstream{path} << text;
    return path;
  }

  std::unique_ptr<Loop> loop_ = Loop::create().value();
  Acts log_;
};

TEST_F(Loggers, ANameWatchIsDestroyedByTheLoggerThatItWritesTo) {
  const std::string good = file("tcp://127.0.0.1:1\nnot an endpoint at all\n");
  for (const std::string& name :
       {std::string{"file:/nowhere/at/all"}, "file:" + good, std::string{"dns://nothing.invalid:1"},
        std::string{"etcd://127.0.0.1:1/services"}}) {
    NameOptions options;
    options.logger = &log_;
    std::optional<NameWatch> watch;
    log_.act = [&] { watch.reset(); };
    Result<NameWatch> made = watch_name(*loop_, name, options);
    if (!made.ok()) {
      EXPECT_EQ(made.status().code(), StatusCode::kUnimplemented) << made.status().to_string();
      continue;
    }
    watch.emplace(*std::move(made));
    EXPECT_TRUE(turn_until([&] { return !watch; })) << name;
  }
  std::filesystem::remove(good);
}

TEST_F(Loggers, ARegistrationIsDestroyedByTheLoggerThatItWritesTo) {
  RegistrationOptions options;
  options.logger = &log_;
  std::optional<NameRegistration> registration;
  log_.act = [&] { registration.reset(); };
  Result<NameRegistration> made =
      register_name(*loop_, "etcd://127.0.0.1:1/services", Endpoint{.url = "tcp://127.0.0.1:9"}, options);
  if (!made.ok()) GTEST_SKIP() << made.status().to_string();
  registration.emplace(*std::move(made));
  EXPECT_TRUE(turn_until([&] { return !registration; }));
  EXPECT_EQ(log_.lines, 1);
}

TEST_F(Loggers, LinesThatWaitAreDroppedWithTheirWatch) {
  {
    Acts log;
    NameOptions options;
    options.logger = &log;
    Result<NameWatch> made = watch_name(*loop_, "file:/nowhere/at/all", options);
    ASSERT_TRUE(made.ok());
  }
  loop_->run_until_idle();
}

TEST_F(Loggers, AFleetIsDestroyedByTheLoggerOfItsNames) {
  for (const bool closes : {false, true}) {
    FleetOptions options;
    options.name = "file:/nowhere/at/all";
    options.naming.logger = &log_;
    std::optional<FleetClient> fleet{std::in_place, *loop_, std::move(options)};
    bool told = false;
    log_.act = [&] {
      told = true;
      closes ? fleet->close() : fleet.reset();
    };
    Scope calls;
    StatusCode code = StatusCode::kOk;
    calls.spawn(
        [](FleetClient* its, StatusCode* outcome) -> Task<void> {
          const Result<int> answer = co_await its->call<add>(1);
          *outcome = answer.status().code();
        },
        &*fleet, &code);
    EXPECT_TRUE(turn_until([&] { return told && calls.count() == 0; }));
    EXPECT_NE(code, StatusCode::kOk);
    log_.act = nullptr;
  }
}

TEST_F(Loggers, RepliesAreDroppedByTheLoggerThatNamesThem) {
  std::vector<Reply<int>> replies;
  kept = &replies;
  ServerOptions options{.listen = {"tcp://127.0.0.1:0"}};
  options.logger = &log_;
  const auto server = serve(std::move(options));
  {
    Client client{*loop_, {.connect = server->urls().front()}};
    std::vector<Call<int>> calls;
    for (int i = 0; i < 3; ++i) calls.push_back(client.start<keep>());
    ASSERT_TRUE(turn_until([&] { return replies.size() == 3; }));
  }
  log_.act = [&] { replies.clear(); };
  end(*server);
  EXPECT_TRUE(replies.empty());
  EXPECT_NE(log_.last.find("waits for a handler of"), std::string::npos) << log_.last;
  kept = nullptr;
}

// The connection is refused as one too many, or because `accept` returned false or threw.
TEST_F(Loggers, AServerIsStoppedByTheLoggerOfAConnectionThatItRefuses) {
  for (const unsigned threads : {0u, 2u}) {
    for (const int how : {0, 1, 2}) {
      SCOPED_TRACE(std::to_string(threads) + " threads, " + std::to_string(how));
      std::atomic<bool> refuses = false;
      std::atomic<Server*> stopped_one = nullptr;
      log_.lines = 0;
      log_.act = [&] { stopped_one.load()->stop(0s); };
      ServerOptions options{.listen = {"tcp://127.0.0.1:0"}};
      if (how == 0) options.connections_max = 1;
      options.accept = [&](std::string_view) {
        if (refuses && how == 2) throw std::runtime_error{"not this one"};
        return !refuses || how == 0;
      };
      options.logger = &log_;
      const auto server = threads == 0 ? serve(std::move(options)) : serve_on(threads, std::move(options));
      Client first{*loop_, {.connect = server->urls().front()}};
      ASSERT_TRUE(loop_->block_on(first.call<add>(1)).ok());
      stopped_one = server.get();
      refuses = true;
      Client second{*loop_, {.connect = server->urls().front()}};
      EXPECT_FALSE(loop_->block_on(second.call<add>(1)).ok());
      EXPECT_TRUE(turn_until([&] { return server->stopped(); }));
      EXPECT_EQ(log_.lines, 1);
      EXPECT_NE(log_.last.find("refused the connection"), std::string::npos) << log_.last;
      log_.act = nullptr;
    }
  }
}

// `accept` admits the connection, or turns it away, after it has stopped the server.
TEST_F(Loggers, AServerIsStoppedByItsAccept) {
  for (const unsigned threads : {0u, 2u}) {
    for (const bool admits : {true, false}) {
      SCOPED_TRACE(std::to_string(threads) + (admits ? " threads, admits" : " threads, turns away"));
      std::atomic<Server*> its = nullptr;
      std::atomic<int> asked = 0;
      ServerOptions options{.listen = {"tcp://127.0.0.1:0"}};
      options.accept = [&](std::string_view) {
        ++asked;
        its.load()->stop(0s);
        return admits;
      };
      options.logger = &log_;
      const auto server = threads == 0 ? serve(std::move(options)) : serve_on(threads, std::move(options));
      its = server.get();
      std::vector<std::unique_ptr<Client>> clients;
      std::vector<Call<int>> calls;
      for (int i = 0; i < 3; ++i) {
        clients.push_back(std::make_unique<Client>(*loop_, ClientOptions{.connect = server->urls().front()}));
        calls.push_back(clients.back()->start<add>(1));
      }
      EXPECT_TRUE(turn_until([&] { return server->stopped(); }));
      EXPECT_TRUE(turn_until(
          [&] { return std::ranges::all_of(calls, [](Call<int>& call) { return call.done(); }); }));
      EXPECT_GE(asked, 1);
    }
  }
}

// The logger of a token's file calls by the client that reads the file for this call.
TEST_F(Loggers, ATokenFileIsUsedAndItsClientEndedByTheLoggerOfTheFile) {
  const auto server = serve({.listen = {"tcp://127.0.0.1:0"}});
  for (const bool good : {true, false}) {
    for (const int how : {0, 1, 2}) {
      const std::string path = file("first-token-of-all\n");
      BearerOptions bearer;
      bearer.over_plain = true;
      bearer.file = {.look_interval = 1ns, .logger = &log_};
      ClientOptions options{.connect = server->urls().front()};
      options.interceptors = {bearer_token_file(path, bearer).value()};
      std::optional<Client> client{std::in_place, *loop_, options};
      ASSERT_TRUE(loop_->block_on(client->call<add>(1)).ok());
      std::ofstream{path + ".new"} << (good ? "second-token-of-all\n" : "no token\n");
      std::filesystem::rename(path + ".new", path);
      std::optional<Call<int>> inner;
      std::optional<Call<int>> outer;
      bool told = false;
      log_.act = [&] {
        if (std::exchange(told, true)) return;
        if (how == 0) {
          inner.emplace(client->start<add>(2));
        } else if (how == 1) {
          client->close();
        } else {
          client.reset();
        }
      };
      loop_->post([&] { outer.emplace(client->start<add>(1)); });
      EXPECT_TRUE(turn_until([&] { return told && outer && outer->done() && (!inner || inner->done()); }));
      log_.act = nullptr;
      std::filesystem::remove(path);
    }
  }
  end(*server);
}

// Both files are read again by the call that asks for them.
TEST_F(Loggers, RightsAreAskedForByTheLoggerOfTheirFile) {
  for (const int how : {0, 1, 2}) {
    const std::string path = file("allow anyone *\n");
    std::shared_ptr<Authorizer> rights = policy_file(path, {.look_interval = 1ns, .logger = &log_}).value();
    ServerOptions options{.listen = {"tcp://127.0.0.1:0"}};
    options.authorizer = rights;
    const auto server = serve(std::move(options));
    Client client{*loop_, {.connect = server->urls().front()}};
    ASSERT_TRUE(loop_->block_on(client.call<add>(1)).ok());
    std::ofstream{path + ".new"} << "allow no one knows what";
    std::filesystem::rename(path + ".new", path);
    bool told = false;
    log_.act = [&] {
      if (std::exchange(told, true)) return;
      std::ofstream{path + ".new"} << "allow anyone *\nallow anyone *.add\n";
      std::filesystem::rename(path + ".new", path);
      if (how == 0) rights->version(loop_->now() + 1s);
      if (how == 1) server->stop(0s);
      if (how == 2) server->peers().for_each_here([](Peer peer) { peer.close("cut"); });
      EXPECT_TRUE(rights->may_call(Identity{}, "any"));
    };
    const Result<int> answer = loop_->block_on(client.call<add>(1));
    EXPECT_TRUE(told);
    if (how == 0) {
      EXPECT_TRUE(answer.ok()) << answer.status().to_string();
      EXPECT_NE(log_.last.find("counts from now on"), std::string::npos) << log_.last;
    }
    log_.act = nullptr;
    end(*server);
    std::filesystem::remove(path);
  }
}

#if WEFT_HAVE_TLS
class TlsLoggers : public Loggers {
 protected:
  enum class Action : int { kReload, kClose, kDestroy, kStop, kServeAnother, kLast };

  TransportOptions with(std::shared_ptr<TlsCredentials> credentials) {
    TransportOptions options;
    options.tls_credentials = std::move(credentials);
    return options;
  }
  std::shared_ptr<TlsCredentials> of_files(TlsCertificate certificate) {
    return std::make_shared<TlsCredentials>(TlsOptions{.certificates = {std::move(certificate)},
                                                       .ca_pem = ca_.pem(),
                                                       .reload_interval = {},
                                                       .logger = &log_});
  }
  /// Another server can use `credentials` only if their files were good when a server first asked for them.
  void act(Action action, std::optional<Client>& client, Server& server,
           const std::shared_ptr<TlsCredentials>& credentials, bool of_server) {
    switch (action) {
      case Action::kReload:
        EXPECT_FALSE(credentials->reload().ok());
        EXPECT_FALSE(credentials->last_failure().ok());
        return;
      case Action::kClose:
        return client->close();
      case Action::kDestroy:
        return client.reset();
      case Action::kStop:
        return server.stop(0s);
      case Action::kServeAnother: {
        Server another{{.listen = {"tls://127.0.0.1:0"}, .threads = 1}, with(credentials)};
        another.register_handler<add>();
        EXPECT_EQ(another.start().ok(), of_server);
        return;
      }
      case Action::kLast:
        return;
    }
  }

  const TestCa ca_;
  const TlsFiles files_;
};

// The files are bad for the client's next handshake, or for the server's.
TEST_F(TlsLoggers, CredentialsAreUsedAndTheirUsersEndedByTheLoggerOfTheirFiles) {
  for (const bool at_server : {false, true}) {
    for (int action = 0; action < static_cast<int>(Action::kLast); ++action) {
      SCOPED_TRACE(std::to_string(action) + (at_server ? " at the server" : " at the client"));
      const auto own = of_files(files_.write("server", ca_.issue()));
      const auto other = of_files(files_.write("client", ca_.issue()));
      const auto server = serve({.listen = {"tls://127.0.0.1:0"}}, with(own));
      const auto used = at_server ? own : other;
      std::optional<Client> client{std::in_place, *loop_, ClientOptions{.connect = server->urls().front()},
                                   with(other)};
      if (at_server || action % 2 == 0) {
        ASSERT_TRUE(loop_->block_on(client->call<add>(1)).ok());
        client.emplace(*loop_, ClientOptions{.connect = server->urls().front()}, with(other));
      }
      // A client that asks for the first time only says that the certificate is of no use.
      const bool is_first = !at_server && action % 2 != 0;
      if (is_first) {
        files_.write("client", ca_.issue({.from_days = -30, .to_days = -1}));
      } else {
        files_.write(at_server ? "server.pem" : "client.pem", "half of a certifi");
      }
      bool told = false;
      log_.act = [&] {
        if (std::exchange(told, true)) return;
        if (is_first && action == static_cast<int>(Action::kReload)) return;
        act(static_cast<Action>(action), client, *server, used, at_server);
      };
      std::optional<Call<int>> call{client->start<add>(1)};
      EXPECT_TRUE(turn_until([&] { return told && call->done(); }));
      log_.act = nullptr;
      call.reset();
      client.reset();
      end(*server);
    }
  }
}

TEST_F(TlsLoggers, AServerIsStoppedByTheLoggerOfItsConnectionsAboveTheRate) {
  TlsOptions tls{.certificates = {ca_.issue()}, .ca_pem = ca_.pem(), .logger = &log_};
  tls.handshake_rate = Rate{.per_second = 0.001, .burst = 1};
  const auto server = serve({.listen = {"tls://127.0.0.1:0"}}, with(std::make_shared<TlsCredentials>(tls)));
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<Call<int>> calls;
  log_.act = [&] {
    server->stop(0s);
    clients.clear();
  };
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<Client>(*loop_, ClientOptions{.connect = server->urls().front()},
                                               with(std::make_shared<TlsCredentials>(tls))));
    calls.push_back(clients.back()->start<add>(1));
  }
  EXPECT_TRUE(turn_until([&] { return server->stopped(); }));
  EXPECT_TRUE(clients.empty());
  EXPECT_EQ(log_.lines, 1);
}
#endif

}  // namespace
}  // namespace weft::testing::loggers
