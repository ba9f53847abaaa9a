// SPDX-License-Identifier: Apache-2.0
// Names of a real etcd: puts, deletes, leases that expire, restarts, garbage, and servers that register.
#include <gtest/gtest.h>

#include "etcd_process.hpp"
#include "mute_proxy.hpp"
#include "naming/etcd_json.hpp"
#include "naming/http_client.hpp"
#include "unit/naming/naming_support.hpp"
#include "weft/detail/naming/name_registration.hpp"

namespace weft {
namespace {

using Urls = std::vector<std::string>;

class EtcdNames : public ::testing::Test {
 protected:
  NameWatch watch() { return watch_name(*loop, name(), options).value(); }
  std::string name() const { return "etcd://" + etcd.host() + "/services/kv"; }
  NameRegistration join(const Endpoint& endpoint) {
    return register_name(*loop, name(), endpoint, registration).value();
  }
  /// Asks etcd until it answers, for it may still be starting.
  std::string ask(const char* method, const std::string& body) {
    for (;;) {
      auto answer = loop->block_on(
          client.post("http://" + etcd.host() + "/v3/" + method, body, 1 << 20, std::chrono::seconds{5}));
      if (answer.ok()) return *answer;
    }
  }
  void put(const std::string& key, const std::string& value, std::int64_t lease = 0) {
    ask("kv/put", detail::put_request("/services/kv/" + key, value, lease));
  }
  void remove(const std::string& key) {
    ask("kv/deleterange", "{\"key\":\"" + detail::base64_of("/services/kv/" + key) + "\"}");
  }
  Urls next(const NameWatch& of, std::uint64_t seen) {
    return urls_of(loop->block_on(of.changed(seen)).value());
  }
  /// Waits by the watch's own events until its list is `urls`.
  void until(const NameWatch& of, const Urls& urls) {
    while (urls_of(of.list()) != urls) loop->block_on(of.changed(of.list()->version)).value();
  }

  EtcdProcess etcd;
  CountingLogger logger;
  NameOptions options = quick_options(logger);
  RegistrationOptions registration{.ttl = std::chrono::seconds{2},
                                   .backoff_min = std::chrono::milliseconds{1},
                                   .backoff_max = std::chrono::milliseconds{50},
                                   .logger = &logger};
  std::unique_ptr<Loop> loop = Loop::create().value();
  detail::HttpClient client{*loop};
};

TEST_F(EtcdNames, FollowPutsAndDeletesAndSkipGarbage) {
  put("b", "tcp://10.0.0.2:1 weight=3");
  put("a", "tcp://10.0.0.1:1 zone=x");
  ask("kv/put", detail::put_request("/services/kvs/other", "tcp://10.9.9.9:1", 0));
  NameWatch of = watch();
  EXPECT_EQ(next(of, 0), (Urls{"tcp://10.0.0.1:1", "tcp://10.0.0.2:1"}));
  EXPECT_EQ(of.list()->endpoints[1].weight, 3u);
  remove("b");
  EXPECT_EQ(next(of, 1), Urls{"tcp://10.0.0.1:1"});
  put("garbage", std::string{"\xff\x00\x1b[31m {", 9});
  turn_until(*loop, [&] { return of.stats().skipped >= 1; });
  put("c", "tcp://10.0.0.3:1");
  EXPECT_EQ(next(of, 2), (Urls{"tcp://10.0.0.1:1", "tcp://10.0.0.3:1"}));
  remove("a");
  until(of, {"tcp://10.0.0.3:1"});
  remove("c");
  turn_until(*loop, [&] { return of.stats().refused_malformed >= 1; });
  remove("garbage");
  turn_until(*loop, [&] { return of.stats().refused_empty >= 1; });
  EXPECT_EQ(urls_of(of.list()), Urls{"tcp://10.0.0.3:1"}) << "the last good list is kept";
}

// Answers of so many bytes are read off the loop.
TEST_F(EtcdNames, OfManyServersFollowEachChange) {
  constexpr int kServers = 120;
  const std::string host(480, 'h');
  for (int i = 0; i < kServers; ++i) {
    put("s" + std::to_string(100 + i), "tcp://" + host + std::to_string(100 + i) + ":1");
  }
  NameWatch of = watch();
  EXPECT_EQ(next(of, 0).size(), std::size_t{kServers});
  remove("s100");
  EXPECT_EQ(next(of, 1).front(), "tcp://" + host + "101:1");
  put("s100", "no server");
  turn_until(*loop, [&] { return of.stats().skipped >= 1; });
  EXPECT_EQ(of.list()->endpoints.size(), std::size_t{kServers - 1});
  put("s100", "tcp://" + host + "100:1 zone=b");
  EXPECT_EQ(next(of, 2).size(), std::size_t{kServers});
  EXPECT_EQ(of.list()->endpoints.front().zone, "b");
  EXPECT_EQ(of.stats().failures, 0u);
}

TEST_F(EtcdNames, LoseServersWhoseLeaseExpires) {
  put("stays", "tcp://10.0.0.1:1");
  auto lease = detail::read_grant(ask("lease/grant", detail::grant_request(2)));
  ASSERT_TRUE(lease.ok());
  put("goes", "tcp://10.0.0.2:1", lease->id);
  NameWatch of = watch();
  EXPECT_EQ(next(of, 0), (Urls{"tcp://10.0.0.1:1", "tcp://10.0.0.2:1"}));
  EXPECT_EQ(next(of, 1), Urls{"tcp://10.0.0.1:1"});
}

TEST_F(EtcdNames, SurviveARestartOnTheSameData) {
  put("a", "tcp://10.0.0.1:1");
  NameWatch of = watch();
  EXPECT_EQ(next(of, 0), Urls{"tcp://10.0.0.1:1"});
  etcd.kill();
  turn_until(*loop, [&] { return of.stats().failures >= 2; });
  EXPECT_EQ(urls_of(of.list()), Urls{"tcp://10.0.0.1:1"});
  etcd.start();
  put("b", "tcp://10.0.0.2:1");
  until(of, {"tcp://10.0.0.1:1", "tcp://10.0.0.2:1"});
  EXPECT_TRUE(of.last_failure().ok());
}

TEST_F(EtcdNames, NoticeAnEtcdThatStandsStill) {
  options.ttl_min = options.ttl_max = std::chrono::milliseconds{50};
  options.request_timeout = std::chrono::milliseconds{500};
  put("a", "tcp://10.0.0.1:1");
  NameWatch of = watch();
  EXPECT_EQ(next(of, 0), Urls{"tcp://10.0.0.1:1"});
  const std::uint64_t answers = of.stats().answers;
  turn_until(*loop, [&] { return of.stats().answers >= answers + 2; });
  EXPECT_TRUE(of.last_failure().ok()) << "it looked again, and nothing was wrong";
  etcd.pause();
  turn_until(*loop, [&] { return !of.last_failure().ok(); });
  EXPECT_EQ(of.last_failure().code(), StatusCode::kUnavailable);
  EXPECT_EQ(urls_of(of.list()), Urls{"tcp://10.0.0.1:1"});
  etcd.go_on();
  put("b", "tcp://10.0.0.2:1");
  until(of, {"tcp://10.0.0.1:1", "tcp://10.0.0.2:1"});
}

TEST_F(EtcdNames, NoticeAProxyThatGoesMute) {
  put("a", "tcp://10.0.0.1:1");
  MuteProxy proxy{etcd.host()};
  options.watch_silence_max = std::chrono::milliseconds{300};
  NameWatch of = watch_name(*loop, "etcd://" + proxy.host() + "/services/kv", options).value();
  EXPECT_EQ(next(of, 0), Urls{"tcp://10.0.0.1:1"});
  put("b", "tcp://10.0.0.2:1");
  until(of, {"tcp://10.0.0.1:1", "tcp://10.0.0.2:1"});
  for (int round = 0; round < 3; ++round) {
    proxy.mute();
    const std::string key = "c" + std::to_string(round);
    put(key, "tcp://10.0.0.3:1");
    until(of, {"tcp://10.0.0.1:1", "tcp://10.0.0.2:1", "tcp://10.0.0.3:1"});
    remove(key);
    until(of, {"tcp://10.0.0.1:1", "tcp://10.0.0.2:1"});
  }
}

TEST_F(EtcdNames, RefuseMoreServersThanAllowed) {
  options.endpoints_max = 2;
  put("a", "tcp://10.0.0.1:1");
  put("b", "tcp://10.0.0.2:1");
  NameWatch of = watch();
  EXPECT_EQ(next(of, 0).size(), 2u);
  put("c", "tcp://10.0.0.3:1");
  turn_until(*loop, [&] { return of.stats().refused_huge >= 1; });
  EXPECT_EQ(of.list()->endpoints.size(), 2u);
  remove("a");
  until(of, {"tcp://10.0.0.2:1", "tcp://10.0.0.3:1"});
}

TEST_F(EtcdNames, AreJoinedKeptAliveAndLeft) {
  put("other", "tcp://10.0.0.9:1");
  NameWatch of = watch();
  NameRegistration one = join({.url = "tcp://10.0.0.1:1", .weight = 4, .zone = "z"});
  loop->block_on(one.registered()).value();
  until(of, {"tcp://10.0.0.1:1", "tcp://10.0.0.9:1"});
  EXPECT_EQ(of.list()->endpoints[0], (Endpoint{.url = "tcp://10.0.0.1:1", .weight = 4, .zone = "z"}));
  turn_until(*loop, [&] { return one.renewals() >= 4; });
  EXPECT_EQ(one.registrations(), 1u);
  EXPECT_EQ(of.list()->endpoints.size(), 2u) << "it has lived longer than its TTL";
  auto left = loop->block_on(one.leave());
  EXPECT_TRUE(left.ok()) << left.status().to_string();
  until(of, {"tcp://10.0.0.9:1"});
  EXPECT_TRUE(loop->block_on(one.leave()).ok());
}

TEST_F(EtcdNames, ForgetServersThatEndWithoutLeaving) {
  put("other", "tcp://10.0.0.9:1");
  NameWatch of = watch();
  {
    NameRegistration one = join({.url = "tcp://10.0.0.1:1"});
    until(of, {"tcp://10.0.0.1:1", "tcp://10.0.0.9:1"});
  }
  until(of, {"tcp://10.0.0.9:1"});
}

TEST_F(EtcdNames, AreJoinedAnewWhenEtcdHasLostItsData) {
  NameRegistration one = join({.url = "tcp://10.0.0.1:1"});
  loop->block_on(one.registered()).value();
  etcd.kill();
  turn_until(*loop, [&] { return !one.last_failure().ok(); });
  etcd.lose_data();
  etcd.start();
  turn_until(*loop, [&] { return one.registrations() >= 2; });
  NameWatch of = watch();
  EXPECT_EQ(next(of, 0), Urls{"tcp://10.0.0.1:1"});
}

TEST_F(EtcdNames, EndAtOnceWhateverIsUnderWay) {
  etcd.kill();
  {
    NameWatch of = watch();
    NameRegistration one = join({.url = "tcp://10.0.0.1:1"});
    turn_until(*loop, [&] { return of.stats().failures >= 1 && !one.last_failure().ok(); });
    EXPECT_EQ(one.last_failure().code(), StatusCode::kUnavailable);
  }
  EXPECT_EQ(loop->timers_armed(), 0u);
}

}  // namespace
}  // namespace weft
