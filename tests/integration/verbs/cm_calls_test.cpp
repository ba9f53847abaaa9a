// SPDX-License-Identifier: Apache-2.0
// CR-15: calls over queue pairs that the connection manager (rdma_cm) connected. On simulated devices and on
// real ones.
#include <gmock/gmock.h>

#include <algorithm>

#include "integration/verbs/cm_testing.hpp"

namespace weft::verbs_testing {
namespace {

using ::testing::HasSubstr;

class Cr15CmCalls : public VerbsTest {
 protected:
  std::string url(const std::string& scheme = "verbs") const {
    return routed_url(testing::rdma_devices(), scheme);
  }
  RpcServer& serve(const VerbsOptions& its, const std::string& scheme = "verbs") {
    return world.serve(its, World::Where::kOwnThread, url(scheme));
  }
  void expect_carried(RpcClient& caller, std::size_t size) {
    const std::vector<std::byte> sent = pattern(size);
    std::vector<std::byte> landing(size);
    EXPECT_EQ(world.wait_for(caller.start<sum_up>({.attachment = Bytes{sent}})).value(), sum_of(sent));
    EXPECT_EQ(world.wait_for(caller.start<produce>({.landing = landing}, size, 3u)).value(), size);
    EXPECT_TRUE(landing == pattern(size, 3));
  }
};

INSTANTIATE_TEST_SUITE_P(Verbs, Cr15CmCalls, ::testing::ValuesIn(kKinds), name_of);

TEST_P(Cr15CmCalls, CR15_calls_go_over_a_carrier_that_rdma_cm_connected) {
  RpcServer& server = serve(by_cm(options()));
  const std::string where = server.urls().front();
  EXPECT_THAT(world.way_to(where, by_cm(options())).report.description,
              HasSubstr("reliable connection by rdma_cm"));
  RpcClient& caller = world.client(where, by_cm(options()));
  world.expect_alive(caller);
  for (const std::size_t size : {std::size_t{1}, std::size_t{20'000}, std::size_t{300'000}}) {
    expect_carried(caller, size);
  }
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_P(Cr15CmCalls, CR15_attachments_in_registered_memory_are_fetched_over_it) {
  RpcClient& caller = world.client(serve(by_cm(options())).urls().front(), by_cm(options()));
  std::vector<std::byte> sent = pattern(std::size_t{3} << 20);
  const auto lease = caller.register_memory(sent);
  ASSERT_TRUE(lease.ok()) << lease.status().to_string();
  EXPECT_EQ(world.wait_for(caller.start<sum_up>({.attachment = Bytes{sent}})).value(), sum_of(sent));
}

// Whoever connects by the hello, or by TCP alone, is served on the same port.
TEST_P(Cr15CmCalls, CR15_a_server_with_rdma_cm_serves_all_others_too) {
  RpcServer& server = serve(by_cm(options()));
  const std::string where = server.urls().front();
  EXPECT_THAT(world.way_to(where, options()).report.description, HasSubstr("reliable connection, MTU"));
  world.expect_alive(world.client(where, options()));
  world.expect_alive(world.client(where, by_cm(options())));
  world.expect_alive(world.client(with_scheme(server, "tcp"), options()));
}

TEST_P(Cr15CmCalls, CR15_a_server_without_rdma_cm_is_said_or_done_without) {
  RpcServer& server = serve(preferring(), "tcp");
  const std::string where = server.urls().front();
  const Status required =
      world.wait_for(world.client(with_scheme(server, "verbs"), by_cm(options())).start<add>(1, 2)).status();
  EXPECT_EQ(required.code(), StatusCode::kFailedPrecondition) << required.to_string();
  EXPECT_THAT(required.to_string(), HasSubstr("does not listen for rdma_cm"));
  RpcClient& preferred = world.client(where, by_cm(preferring()));
  world.expect_alive(preferred);
  EXPECT_EQ(preferred.stats().connections, 1u);
}

TEST_P(Cr15CmCalls, CR15_many_connections_come_up_at_once_and_end_apart) {
  RpcServer& server = serve(by_cm(options()));
  std::vector<RpcClient*> callers;
  std::vector<Call<int>> calls;
  for (int i = 0; i < 8; ++i) {
    callers.push_back(&world.client(server.urls().front(), by_cm(options())));
    calls.push_back(callers.back()->start<add>(i, 1));
  }
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(world.wait_for(std::move(calls[static_cast<std::size_t>(i)])).value(), i + 1);
  }
  for (RpcClient* caller : callers) expect_carried(*caller, 5'000);
  EXPECT_EQ(server.stats().connections, 8u);
  world.end_clients();
  EXPECT_TRUE(eventually([&] { return server.stats().connections == 0; })) << "F5";
  world.expect_alive(world.client(server.urls().front(), by_cm(options())));
}

TEST_P(Cr15CmCalls, CR15_a_server_that_comes_again_is_found_again) {
  RpcServer& first = serve(by_cm(options()));
  const std::string where = first.urls().front();
  RpcClient& caller = world.client(where, by_cm(options()));
  world.expect_alive(caller);
  Call<int> lost = caller.start<wait_for_ever>(1);
  loop().run_once(0ms);
  world.end_servers();
  EXPECT_EQ(world.wait_for(std::move(lost)).status().code(), StatusCode::kUnavailable);
  world.serve(by_cm(options()), World::Where::kOwnThread, where);
  world.expect_alive(caller);
}

}  // namespace
}  // namespace weft::verbs_testing
