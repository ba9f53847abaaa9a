// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <system_error>
#include <thread>

#include "perf/client.hpp"
#include "perf/server.hpp"
#include "weft/detail/coro/yield.hpp"

namespace weft::perf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

load::ClientOptions short_run(const Server& server) {
  load::ClientOptions options;
  options.connect = server.urls().front();
  options.seconds = 0.05;
  options.warmup_seconds = 0.01;
  options.depth = 4;
  options.connections = 2;
  return options;
}

bool machine_has_rdma() {
  std::error_code none;
  const std::filesystem::directory_iterator devices{"/sys/class/infiniband", none};
  return !none && devices != std::filesystem::directory_iterator{};
}

std::unique_ptr<Server> serve() {
  return start_server({.listen = "tcp://127.0.0.1:0"}).value();
}

struct Shape {
  const char* name;
  std::uint64_t size;
  std::optional<std::uint64_t> asked_answer_bytes;
  bool attachment;
};

class EveryShape : public ::testing::TestWithParam<Shape> {};

TEST_P(EveryShape, IsAnsweredIntact) {
  const auto server = serve();
  load::ClientOptions options = short_run(*server);
  options.size_bytes = GetParam().size;
  options.asked_answer_bytes = GetParam().asked_answer_bytes;
  options.attachment = GetParam().attachment;
  const load::Report report = blocking_measure(options).value();
  EXPECT_EQ(report.errors, 0U);
  EXPECT_GE(server->stats().calls, report.calls);
  EXPECT_GT(server->stats().calls, 0U);
}

INSTANTIATE_TEST_SUITE_P(Payloads, EveryShape,
                         ::testing::Values(Shape{"echo", 128, {}, false}, Shape{"empty", 0, {}, false},
                                           Shape{"shorter_than_a_tag", 3, {}, false},
                                           Shape{"generated", 16, 5000, false},
                                           Shape{"generated_shorter", 5000, 5, false},
                                           Shape{"attachment", 100'000, {}, true},
                                           Shape{"empty_attachment", 0, {}, true},
                                           Shape{"generated_attachment", 16, 100'000, true},
                                           Shape{"no_answering_attachment", 20, 0, true}),
                         [](const auto& shape) { return std::string{shape.param.name}; });

TEST(PerfClient, OpenLoopMakesTheCallsThatItsScheduleSays) {
  const auto server = serve();
  load::ClientOptions options = short_run(*server);
  options.seconds = 0.1;
  options.warmup_seconds = 0;
  options.rate = 1000;
  const load::Report report = blocking_measure(options).value();
  EXPECT_EQ(report.errors, 0U);
  EXPECT_LE(server->stats().calls, 101U);
  EXPECT_GE(report.cpu_us_per_call, 0.0);
}

TEST(PerfClient, SaysWhyWhenNobodyListens) {
  load::ClientOptions options;
  options.connect = serve()->urls().front();  // gone already
  const auto report = blocking_measure(options);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string{report.status().message()}, HasSubstr(options.connect));
}

TEST(PerfClient, SaysWhyWhenTheServerIsAnother) {
  Server other{{.listen = {"tcp://127.0.0.1:0"}}};
  other.start().value();
  const auto report = blocking_measure(short_run(other));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), StatusCode::kUnimplemented);
}

TEST(PerfClient, SaysHowFarItCameWhenTheServerWentAway) {
  auto server = serve();
  load::ClientOptions options = short_run(*server);
  options.seconds = 60;
  options.warmup_seconds = 0;
  std::thread ends_it{[&server] {
    while (server->stats().calls < 1000) std::this_thread::yield();
    server.reset();
  }};
  const auto report = blocking_measure(options);
  ends_it.join();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), StatusCode::kUnavailable) << report.status().to_string();
  EXPECT_THAT(std::string{report.status().message()},
              AllOf(HasSubstr(options.connect + ": no call was answered any more"),
                    HasSubstr("calls after the warm-up")));
}

TEST(PerfClient, SaysWhatCarriesTheCalls) {
  const auto server = serve();
  const load::ClientOptions options = short_run(*server);
  const load::Report report = blocking_measure(options).value();
  EXPECT_EQ(report.carrier, "tcp");
  EXPECT_THAT(to_table(report, options), HasSubstr("closed loop, over tcp\n"));
  EXPECT_THAT(to_json(report), HasSubstr("\"carrier\":\"tcp\""));
}

struct Company {
  const char* name;
  load::BesideFlags beside;
};

/// The name of the test, which would else hold an address.
void PrintTo(const Company& company, std::ostream* to) {
  *to << company.name;
}

class EveryCompany : public ::testing::TestWithParam<Company> {};

TEST_P(EveryCompany, IsThereWhileTheCallsAreMeasured) {
  const auto server = serve();
  load::ClientOptions options = short_run(*server);
  options.beside = GetParam().beside;
  options.beside->size_bytes = 100'000;
  load::Report report;
  // On a busy machine no transfer may have ended within so short a time.
  const bool transfers = options.beside->transfers != load::Transfers::kNone;
  do {
    report = blocking_measure(options).value();
    options.seconds *= 4;
  } while ((report.calls == 0 || (transfers && report.beside->transfers == 0)) && options.seconds < 60);
  EXPECT_GT(report.calls, 0U);
  EXPECT_EQ(report.errors, 0U);
  ASSERT_TRUE(report.beside.has_value());
  EXPECT_EQ(report.beside->transfers > 0, transfers);
  EXPECT_EQ(report.beside->transfers_gbps > 0, transfers);
  // No timer fires early, and none exactly when it is due.
  EXPECT_GT(report.beside->timer_p99_us, 0);
  EXPECT_GE(report.beside->timer_max_us, report.beside->timer_p99_us / 1.01);
  EXPECT_GT(report.beside->server_timer_p99_us, 0);
  EXPECT_GE(report.beside->server_timer_max_us, report.beside->server_timer_p99_us / 1.01);
}

INSTANTIATE_TEST_SUITE_P(
    Transfers, EveryCompany,
    ::testing::Values(Company{"none", {}}, Company{"pull", {.transfers = load::Transfers::kPull}},
                      Company{"push", {.transfers = load::Transfers::kPush}},
                      Company{"pull_apart", {.transfers = load::Transfers::kPull, .apart = true}},
                      Company{"push_apart", {.transfers = load::Transfers::kPush, .apart = true}}),
    [](const auto& company) { return std::string{company.param.name}; });

TEST(PerfClient, WithoutCompanyWatchesNoTimer) {
  const auto server = serve();
  EXPECT_FALSE(blocking_measure(short_run(*server)).value().beside.has_value());
}

TEST(PerfClient, TransfersThatAreApartHaveAConnectionOfTheirOwn) {
  const auto server = serve();
  load::ClientOptions options = short_run(*server);
  options.beside = {.transfers = load::Transfers::kPush, .size_bytes = 1000};
  blocking_measure(options).value();
  const auto together = server->stats().connections_accepted;
  options.beside->apart = true;
  blocking_measure(options).value();
  EXPECT_EQ(server->stats().connections_accepted - together, together + 1);
}

TEST(PerfServer, SaysWhyThereIsNoRdma) {
  if (machine_has_rdma()) GTEST_SKIP() << "this machine has RDMA devices";
  const auto server = start_server({.listen = "verbs://127.0.0.1:0"});
  ASSERT_FALSE(server.ok());
  EXPECT_THAT(std::string{server.status().message()}, HasSubstr("RDMA"));
}

TEST(PerfServer, RefusesACongestionControlThatNobodyKnows) {
  const auto server = start_server({.listen = "tcp://127.0.0.1:0", .congestion = "no_such"});
  EXPECT_FALSE(server.ok());
}

}  // namespace
}  // namespace weft::perf
