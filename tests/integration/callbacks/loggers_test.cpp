// SPDX-License-Identifier: Apache-2.0
// Loggers that destroy what they are told of.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <weft/fleet.hpp>
#include <weft/naming.hpp>
#include <weft/weft.hpp>

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

class Loggers : public ::testing::Test {
 protected:
  template <typename Condition>
  bool turn_until(Condition condition) {
    const auto patience = std::chrono::steady_clock::now() + 30s;
    while (!condition() && std::chrono::steady_clock::now() < patience) loop_->run_once(1ms);
    return condition();
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

}  // namespace
}  // namespace weft::testing::loggers
