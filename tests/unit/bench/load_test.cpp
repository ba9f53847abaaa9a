// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "load/cpu.hpp"
#include "load/flags.hpp"
#include "load/histogram.hpp"
#include "load/meter.hpp"
#include "load/payload.hpp"
#include "load/report.hpp"
#include "load/schedule.hpp"

namespace weft::load {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMillisecond = 1'000'000;

TEST(Histogram, AnEmptyOneAnswersZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.value_at(0.5), 0U);
  EXPECT_EQ(histogram.max(), 0U);
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (std::uint64_t value = 1; value <= 1000; ++value) histogram.record(value);
  EXPECT_EQ(histogram.value_at(0), 1U);
  EXPECT_EQ(histogram.value_at(0.5), 500U);
  EXPECT_EQ(histogram.value_at(0.999), 999U);
  EXPECT_EQ(histogram.value_at(1), 1000U);
}

TEST(Histogram, KeepsThreeDigitsOfEveryMagnitude) {
  for (std::uint64_t value = 1; value < Histogram::kValueMax / 3; value = value * 3 + 1) {
    Histogram histogram;
    histogram.record(value);
    histogram.record(Histogram::kValueMax);
    const auto found = histogram.value_at(0.5);
    EXPECT_GE(found, value);
    EXPECT_LE(static_cast<double>(found - value), static_cast<double>(value) / 1000) << value;
  }
}

TEST(Histogram, NeighbouringPowersOfTwoDoNotShareABucket) {
  for (unsigned bit = 1; bit < 42; ++bit) {
    Histogram histogram;
    histogram.record((std::uint64_t{1} << bit) - 1);
    histogram.record(std::uint64_t{1} << bit);
    EXPECT_EQ(histogram.value_at(0.5), (std::uint64_t{1} << bit) - 1) << bit;
  }
}

TEST(Histogram, AValueTooLargeForTheBucketsStillShowsAsTheMaximum) {
  Histogram histogram;
  histogram.record(UINT64_MAX);
  EXPECT_EQ(histogram.max(), UINT64_MAX);
  EXPECT_EQ(histogram.value_at(0.5), UINT64_MAX);
}

TEST(Histogram, CountsARunOfEqualValuesAtOnceAndAddsUp) {
  Histogram first;
  first.record(10, 99);
  Histogram second;
  second.record(1000);
  first.add(second);
  EXPECT_EQ(first.total(), 100U);
  EXPECT_EQ(first.value_at(0.99), 10U);
  EXPECT_EQ(first.value_at(0.991), 1000U);
  EXPECT_EQ(first.max(), 1000U);
}

std::vector<std::byte> payload_with(std::size_t bytes, std::uint64_t tag) {
  std::vector<std::byte> payload(bytes);
  fill_pattern(payload);
  write_tag(payload, tag);
  return payload;
}

TEST(Payload, AnIntactAnswerOfAnySizePasses) {
  constexpr std::uint64_t kTag = 0x0102030405060708;
  for (const std::size_t bytes : {0, 1, 7, 8, 9, 15, 16, 17, 128, 4096, 65536, 65544, 1 << 20}) {
    EXPECT_TRUE(answer_intact(payload_with(bytes, kTag), bytes, kTag, bytes)) << bytes;
  }
}

TEST(Payload, AnAnswerOfTheWrongLengthIsFound) {
  EXPECT_FALSE(answer_intact(payload_with(127, 1), 128, 1, 128));
  EXPECT_FALSE(answer_intact(payload_with(129, 1), 128, 1, 128));
  EXPECT_FALSE(answer_intact({}, 1, 0, 1));
}

TEST(Payload, TheAnswerToAnotherCallIsFound) {
  EXPECT_FALSE(answer_intact(payload_with(128, 1), 128, 2, 128));
  EXPECT_FALSE(answer_intact(payload_with(1, 1), 1, 2, 1));
}

TEST(Payload, DamageAtTheSampledPlacesIsFound) {
  constexpr std::size_t kBytes = 256 * 1024;
  for (const std::size_t at : {std::size_t{0}, std::size_t{64 * 1024}, kBytes / 2, kBytes - 1}) {
    auto payload = payload_with(kBytes, 3);
    payload[at] ^= std::byte{1};
    EXPECT_FALSE(answer_intact(payload, kBytes, 3, kBytes)) << at;
  }
}

TEST(Payload, AShortRequestCanOnlyBringAShortTagBack) {
  constexpr std::uint64_t kTag = 0x1122334455667788;
  const auto request = payload_with(3, kTag);
  EXPECT_EQ(read_tag(request), 0x667788U);
  EXPECT_TRUE(answer_intact(payload_with(100, read_tag(request)), 100, kTag, 3));
  EXPECT_FALSE(answer_intact(payload_with(100, kTag), 100, kTag, 3));
  EXPECT_TRUE(answer_intact(payload_with(2, kTag), 2, kTag, 3));
}

TEST(Schedule, StartsCallsEvenlyAndDoesNotDrift) {
  Schedule schedule{3, 0};
  for (int call = 0; call < 3'000'000; ++call) schedule.take();
  EXPECT_EQ(schedule.next_ns(), 1'000'000 * kSecond);
}

TEST(Schedule, ACallIsDueFromItsIntendedStartOnAndKeepsIt) {
  Schedule schedule{1000, 5 * kSecond};
  EXPECT_FALSE(schedule.due(5 * kSecond - 1));
  EXPECT_TRUE(schedule.due(5 * kSecond));
  EXPECT_EQ(schedule.take(), 5 * kSecond);
  EXPECT_FALSE(schedule.due(5 * kSecond));
  EXPECT_EQ(schedule.take(), 5 * kSecond + kMillisecond);
}

TEST(Schedule, WhatIsDueIsSharedByTheConnections) {
  const Schedule schedule{1000, 0};
  EXPECT_EQ(schedule.due_count(-1, 4), 0U);
  EXPECT_EQ(schedule.due_count(0, 4), 1U);
  EXPECT_EQ(schedule.due_count(100 * kMillisecond, 4), 26U);
}

ClientOptions one_second() {
  return {.size_bytes = 1000, .seconds = 1, .warmup_seconds = 1};
}

TEST(Meter, CountsOnlyWhatIsAnsweredInTheMeasuredSecond) {
  Meter meter{one_second(), 0};
  meter.complete(0, kSecond - 1);
  meter.complete(0, kSecond, 3);
  meter.complete(0, 2 * kSecond - 1);
  meter.complete(0, 2 * kSecond);
  const Report report = meter.report();
  EXPECT_EQ(report.calls, 4U);
  EXPECT_DOUBLE_EQ(report.qps, 4);
  EXPECT_DOUBLE_EQ(report.gbps, 4 * 8000 / 1e9);
}

TEST(Meter, IsOverWhenTheMeasuredTimeHasPassed) {
  Meter meter{one_second(), 0};
  EXPECT_TRUE(meter.tick(0));
  EXPECT_TRUE(meter.tick(kSecond));
  EXPECT_TRUE(meter.tick(2 * kSecond - 1));
  EXPECT_FALSE(meter.tick(2 * kSecond));
}

TEST(Meter, AnOpenLoopCountsFromTheIntendedStartEvenWhenTheAnswerComesAfterTheEnd) {
  auto options = one_second();
  options.rate = 10;
  Meter meter{options, 0};
  meter.complete(kSecond / 2, 3 * kSecond / 2);
  meter.complete(3 * kSecond / 2, 4 * kSecond);
  const Report report = meter.report();
  EXPECT_EQ(report.calls, 1U);
  EXPECT_DOUBLE_EQ(report.max_us, 2'500'000);
  EXPECT_DOUBLE_EQ(report.p50_us, 2'500'000);
}

TEST(Meter, AStalledOpenLoopShowsTheStallInEveryCallThatWasMeantToStart) {
  auto options = one_second();
  options.rate = 100;
  Meter meter{options, 0};
  Schedule schedule{options.rate, kSecond};
  meter.complete(schedule.take(), kSecond + kMillisecond);
  while (schedule.next_ns() < meter.end_ns()) meter.never_started(schedule.take());
  const Report report = meter.report();
  EXPECT_EQ(report.calls, 1U);
  EXPECT_NEAR(report.p50_us, 500'000, 11'000);
}

TEST(Report, JsonHasTheKeysThatScriptsReadInOrder) {
  const auto json = nlohmann::ordered_json::parse(to_json({.qps = 1.5, .p50_us = 12.3456, .errors = 7}));
  std::vector<std::string> keys;
  for (const auto& item : json.items()) keys.push_back(item.key());
  EXPECT_THAT(keys, ElementsAre("qps", "gbps", "p50_us", "p90_us", "p99_us", "p999_us", "max_us", "errors",
                                "cpu_us_per_call", "calls", "seconds"));
  EXPECT_EQ(json["qps"], 1.5);
  EXPECT_EQ(json["p50_us"], 12.346);
  EXPECT_EQ(json["errors"], 7);
}

TEST(Report, TheTableNamesTheLoad) {
  ClientOptions options;
  options.connections = 3;
  options.rate = 10;
  EXPECT_THAT(to_table({.seconds = 2}, options),
              ::testing::StartsWith("128 B, 3 connections x 1 in flight, 2 s, open loop, 10 /s due\n"));
}

TEST(Report, SaysWhatRanBesideOnlyWhenSomethingWasAsked) {
  Report report{.p50_us = 10};
  EXPECT_EQ(to_json(report).find("timer"), std::string::npos);
  EXPECT_EQ(to_table(report, {}).find("timer"), std::string::npos);
  report.beside = {.transfers_gbps = 12.5,
                   .transfers = 9,
                   .timer_p99_us = 80,
                   .timer_max_us = 5000,
                   .server_timer_p99_us = 70,
                   .server_timer_max_us = 90};
  const auto json = nlohmann::ordered_json::parse(to_json(report));
  EXPECT_EQ(json["transfers"], 9);
  EXPECT_EQ(json["transfers_gbps"], 12.5);
  EXPECT_EQ(json["timer_p99_us"], 80);
  EXPECT_EQ(json["timer_max_us"], 5000);
  EXPECT_EQ(json["server_timer_p99_us"], 70);
  EXPECT_EQ(json["server_timer_max_us"], 90);
  const std::string table = to_table(report, {});
  EXPECT_THAT(table, ::testing::HasSubstr("12.500 Gb/s beside, 9 in all\n"));
  EXPECT_THAT(table, ::testing::HasSubstr("70.0 us late at p99, 90.0 at most\n"));
}

TEST(CpuList, ReadsNumbersAndRanges) {
  EXPECT_THAT(parse_cpu_list("0").value(), ElementsAre(0));
  EXPECT_THAT(parse_cpu_list("1,0-2,7").value(), ElementsAre(1, 0, 1, 2, 7));
}

TEST(CpuList, WhatIsNotAListIsRefusedWithAnExample) {
  for (const auto* text :
       {"", "a", "1,", ",1", "2-1", "1-", "-1", "1 2", "0x1", "99999", "99999999999999999999"}) {
    const auto parsed = parse_cpu_list(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(std::string{parsed.status().message()}, ::testing::HasSubstr("0-3"));
  }
}

TEST(Pinning, AProcessorThatDoesNotExistIsAnErrorThatNamesTheFlag) {
  const Status status = pin_this_thread({CPU_SETSIZE - 1}, 0);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string{status.message()}, ::testing::HasSubstr("--cpus"));
}

ClientOptions parse_client(std::vector<std::string> words) {
  CLI::App app;
  ClientOptions options;
  add_client_flags(app, options);
  add_beside_flags(app, options.beside);
  std::reverse(words.begin(), words.end());
  app.parse(std::move(words));
  return options;
}

TEST(Flags, AClientIsDescribedByThem) {
  const auto options = parse_client(
      {"--connect",     "tcp://h:1", "--size",    "1MiB",         "--reply",  "5",      "--depth", "64",
       "--connections", "2",         "--seconds", "0.5",          "--warmup", "0",      "--rate",  "100",
       "--attachment",  "--mode",    "busy",      "--congestion", "cubic",    "--cpus", "0-1",     "--json"});
  EXPECT_EQ(options.connect, "tcp://h:1");
  EXPECT_EQ(options.size_bytes, 1U << 20);
  EXPECT_EQ(options.answer_bytes(), 5U);
  EXPECT_EQ(options.depth, 64U);
  EXPECT_EQ(options.connections, 2U);
  EXPECT_EQ(options.seconds, 0.5);
  EXPECT_EQ(options.warmup_seconds, 0);
  EXPECT_EQ(options.rate, 100);
  EXPECT_TRUE(options.attachment);
  EXPECT_EQ(options.mode, LoopMode::kBusy);
  EXPECT_EQ(options.congestion, "cubic");
  EXPECT_THAT(options.cpus, ElementsAre(0, 1));
  EXPECT_TRUE(options.json);
}

TEST(Flags, SayWhatRunsBesideTheCalls) {
  EXPECT_FALSE(parse_client({"--connect", "u"}).beside.has_value());
  const auto none = parse_client({"--connect", "u", "--beside", "none"}).beside;
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(none->transfers, Transfers::kNone);
  const auto some = parse_client({"--connect", "u", "--apart", "--transfers", "3", "--transfer-size", "1MiB",
                                  "--beside", "push"})
                        .beside;
  ASSERT_TRUE(some.has_value());
  EXPECT_EQ(some->transfers, Transfers::kPush);
  EXPECT_EQ(some->in_flight, 3U);
  EXPECT_EQ(some->size_bytes, 1U << 20);
  EXPECT_TRUE(some->apart);
}

TEST(Flags, WithoutAReplySizeTheAnswerIsAsLongAsTheRequest) {
  const auto options = parse_client({"--connect", "tcp://h:1", "--size", "77"});
  EXPECT_FALSE(options.asked_answer_bytes.has_value());
  EXPECT_EQ(options.answer_bytes(), 77U);
}

TEST(Flags, NonsenseIsRefused) {
  using Words = std::vector<std::string>;
  for (const Words& words :
       {Words{"--size", "5"}, Words{"--connect", "u", "--depth", "0"},
        Words{"--connect", "u", "--mode", "lazy"}, Words{"--connect", "u", "--cpus", "x"},
        Words{"--connect", "u", "--size", "2GiB"}, Words{"--connect", "u", "--seconds", "0"},
        Words{"--connect", "u", "--size", "-1"}, Words{"--connect", "u", "--apart"},
        Words{"--connect", "u", "--beside", "sideways"},
        Words{"--connect", "u", "--beside", "pull", "--transfers", "0"}}) {
    EXPECT_THROW(parse_client(words), CLI::ParseError) << words.back();
  }
}

}  // namespace
}  // namespace weft::load
