// SPDX-License-Identifier: Apache-2.0
// Names that are lists, and names that are none.
#include <gtest/gtest.h>

#include "naming_support.hpp"

namespace weft {
namespace {

TEST(StaticNames, ListTheirServers) {
  auto loop = Loop::create().value();
  auto watch = watch_name(*loop, "static:tcp://b:1 weight=2,tcp://a:1 zone=z,tcp://a:1 zone=z");
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  const std::vector<Endpoint> expected{{"tcp://a:1", 1, "z"}, {"tcp://b:1", 2, ""}};
  EXPECT_EQ(watch->list()->endpoints, expected);
  auto first = loop->block_on(watch->changed(0));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(*first, watch->list());
}

TEST(StaticNames, HoldAHundredThousandServersWhenAllowed) {
  auto loop = Loop::create().value();
  std::string name = "static:";
  for (int i = 0; i < 100'000; ++i) {
    name += (i == 0 ? "tcp://10.0." : ",tcp://10.0.") + std::to_string(i / 250) + "." +
            std::to_string(i % 250) + ":1";
  }
  CountingLogger logger;
  NameOptions options = quick_options(logger);
  auto refused = watch_name(*loop, name, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  options.endpoints_max = 100'000;
  auto watch = watch_name(*loop, name, options);
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  EXPECT_EQ(watch->list()->endpoints.size(), 100'000u);
}

TEST(Names, ThatMeanNothingAreRefused) {
  auto loop = Loop::create().value();
  for (const char* name :
       {"",           "static:",        "static:,",      "static:garbage", "ftp:x",       "file:relative",
        "file:/",     "file:",          "dns:",          "dns://a",        "dns://a:0",   "dns://a:70000",
        "dns:_a:1",   "dns:a b:1",      "etcd:",         "etcd://h:1",     "etcd://h:1/", "etcd:///x",
        "etcd://h/x", "etcd://u@h:1/x", "etcd://h:1,/x", "\x1b[31m:"}) {
    auto watch = watch_name(*loop, name);
    ASSERT_FALSE(watch.ok()) << name;
    EXPECT_TRUE(watch.status().code() == StatusCode::kInvalidArgument ||
                watch.status().code() == StatusCode::kUnimplemented)
        << watch.status().to_string();
    EXPECT_EQ(watch.status().message().find('\x1b'), std::string_view::npos);
  }
}

TEST(Names, ThatAreTheUrlOfAServerAreToldToBeAListOfOne) {
  auto loop = Loop::create().value();
  const std::string said = watch_name(*loop, "tcp://10.0.0.7:9000").status().to_string();
  EXPECT_NE(said.find("write \"static:tcp://10.0.0.7:9000\""), std::string::npos) << said;
}

TEST(Names, RefuseOptionsWithWhichNothingWouldWork) {
  auto loop = Loop::create().value();
  const NameOptions no_logger{.logger = nullptr};
  EXPECT_FALSE(watch_name(*loop, "static:tcp://a:1", no_logger).ok());
  const NameOptions no_room{.endpoints_max = 0};
  EXPECT_FALSE(watch_name(*loop, "static:tcp://a:1", no_room).ok());
  const NameOptions no_wait{.backoff_min = Duration::zero()};
  EXPECT_FALSE(watch_name(*loop, "static:tcp://a:1", no_wait).ok());
}

}  // namespace
}  // namespace weft
