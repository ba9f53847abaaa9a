// SPDX-License-Identifier: Apache-2.0
// Names of DNS, from a server that answers, lies, cuts or keeps silent.
#include <gtest/gtest.h>

#include "dns_server.hpp"
#include "naming_support.hpp"

namespace weft {
namespace {

using Urls = std::vector<std::string>;
using Mode = DnsServer::Mode;

class DnsNames : public ::testing::Test {
 protected:
  DnsNames() {
    options.dns_servers = server.address();
    options.ttl_min = std::chrono::milliseconds{5};
    options.request_timeout = std::chrono::seconds{30};
  }
  NameWatch watch(const char* name) { return watch_name(*loop, name, options).value(); }
  Urls next(const NameWatch& of, std::uint64_t seen) {
    return urls_of(loop->block_on(of.changed(seen)).value());
  }

  CountingLogger logger;
  NameOptions options = quick_options(logger);
  std::unique_ptr<Loop> loop = Loop::create().value();
  DnsServer server{*loop};
};

TEST_F(DnsNames, ListAddressesOfBothFamiliesAndFollowThemWhenTheTtlHasPassed) {
  server.records = {a_record("kv.test", 0, "10.0.0.2"), a_record("kv.test", 0, "10.0.0.1"),
                    aaaa_record("kv.test", 0, "fd00::1")};
  NameWatch of = watch("dns://kv.test:9000");
  EXPECT_EQ(next(of, 0), (Urls{"tcp://10.0.0.1:9000", "tcp://10.0.0.2:9000", "tcp://[fd00::1]:9000"}));
  server.records = {a_record("kv.test", 0, "10.0.0.3")};
  EXPECT_EQ(next(of, 1), Urls{"tcp://10.0.0.3:9000"});
}

TEST_F(DnsNames, AreNotAskedForAgainBeforeTheTtlHasPassed) {
  server.records = {a_record("kv.test", 100'000, "10.0.0.1")};
  options.ttl_max = std::chrono::hours{1000};
  NameWatch of = watch("dns://kv.test:9000");
  EXPECT_EQ(next(of, 0), Urls{"tcp://10.0.0.1:9000"});
  const auto timer = loop->next_timer();
  ASSERT_TRUE(timer.has_value());
  EXPECT_GT(*timer - loop->now(), std::chrono::seconds{50'000});
}

TEST_F(DnsNames, FollowSrvRecordsOfTheBestPriority) {
  const char* name = "_kv._tcp.test";
  server.records = {
      srv_record(name, 0, 1, 5, 9001, "one.test"),   srv_record(name, 0, 1, 0, 9002, "two.test"),
      srv_record(name, 0, 2, 9, 9003, "spare.test"), srv_record(name, 0, 1, 7, 9004, "gone.test"),
      a_record("one.test", 0, "10.0.0.1"),           a_record("two.test", 0, "10.0.0.2"),
      a_record("spare.test", 0, "10.0.0.3")};
  NameWatch of = watch("dns:_kv._tcp.test");
  loop->block_on(of.changed(0)).value();
  const std::vector<Endpoint> expected{{"tcp://10.0.0.1:9001", 5, ""}, {"tcp://10.0.0.2:9002", 1, ""}};
  EXPECT_EQ(of.list()->endpoints, expected);
  server.records.erase(server.records.begin(), server.records.begin() + 2);
  server.records.erase(server.records.begin() + 1);
  EXPECT_EQ(next(of, 1), Urls{"tcp://10.0.0.3:9003"});
}

TEST_F(DnsNames, KeepTheLastGoodListWhateverTheServerAnswers) {
  server.records = {a_record("kv.test", 0, "10.0.0.1")};
  NameWatch of = watch("dns://kv.test:9000");
  EXPECT_EQ(next(of, 0), Urls{"tcp://10.0.0.1:9000"});
  // Nobody listens on the TCP port, where a truncated answer is asked for again.
  for (const Mode mode : {Mode::kGarbage, Mode::kCut, Mode::kTruncated, Mode::kNoSuchName}) {
    server.mode = mode;
    const auto bad = [&] {
      const NameWatchStats stats = of.stats();
      return stats.failures + stats.refused_malformed + stats.refused_empty;
    };
    const std::uint64_t before = bad();
    turn_until(*loop, [&] { return bad() >= before + 2; });
    EXPECT_FALSE(of.last_failure().ok());
    EXPECT_EQ(urls_of(of.list()), Urls{"tcp://10.0.0.1:9000"});
  }
  server.mode = Mode::kAnswer;
  server.records.clear();
  const std::uint64_t empty = of.stats().refused_empty;
  turn_until(*loop, [&] { return of.stats().refused_empty > empty; });
  server.records = {a_record("kv.test", 0, "10.0.0.2")};
  EXPECT_EQ(next(of, 1), Urls{"tcp://10.0.0.2:9000"});
}

TEST_F(DnsNames, RefuseAnswersBeyondTheLimit) {
  options.endpoints_max = 3;
  for (const char* address : {"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"}) {
    server.records.push_back(a_record("kv.test", 0, address));
  }
  NameWatch of = watch("dns://kv.test:9000");
  turn_until(*loop, [&] { return of.stats().refused_huge >= 1; });
  EXPECT_EQ(of.list()->version, 0u);
}

TEST_F(DnsNames, SurviveServersThatNeverAnswer) {
  server.mode = Mode::kSilent;
  options.request_timeout = std::chrono::milliseconds{30};
  NameWatch of = watch("dns://kv.test:9000");
  turn_until(*loop, [&] { return of.stats().failures >= 2; });
  EXPECT_EQ(of.last_failure().code(), StatusCode::kUnavailable);
  server.mode = Mode::kAnswer;
  server.records = {a_record("kv.test", 0, "10.0.0.1")};
  EXPECT_EQ(next(of, 0), Urls{"tcp://10.0.0.1:9000"});
}

TEST_F(DnsNames, MayEndWhileAQuestionIsUnderWay) {
  server.mode = Mode::kSilent;
  {
    NameWatch of = watch("dns:_kv._tcp.test");
    turn_until(*loop, [&] { return server.questions >= 1; });
  }
  EXPECT_EQ(loop->timers_armed(), 0u);
}

TEST_F(DnsNames, RefuseServersThatAreNoAddresses) {
  options.dns_servers = "not an address";
  EXPECT_EQ(watch_name(*loop, "dns://kv.test:9000", options).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weft
