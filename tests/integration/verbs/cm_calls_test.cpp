// SPDX-License-Identifier: Apache-2.0
// CR-15: calls over queue pairs that the connection manager (rdma_cm) connected. On simulated devices and on
// real ones.
#include <gmock/gmock.h>

#include <algorithm>

#include "integration/verbs/cm_testing.hpp"
#include "support/pattern.hpp"

namespace weft::verbs_testing {
namespace {

using ::testing::HasSubstr;

class VerbsCmCalls : public VerbsTest {
 protected:
  std::string url(const std::string& scheme = "verbs") const {
    return routed_url(testing::rdma_devices(), scheme);
  }
  Server& serve(const VerbsOptions& its, const std::string& scheme = "verbs") {
    return world.serve(its, World::Where::kOwnThread, url(scheme));
  }
  void expect_carried(Client& caller, std::size_t size) {
    const std::vector<std::byte> sent = pattern(size);
    std::vector<std::byte> landing(size);
    EXPECT_EQ(world.wait_for(caller.start<sum_up>({.attachment = Bytes{sent}})).value(), sum_of(sent));
    EXPECT_EQ(world.wait_for(caller.start<produce>({.landing = landing}, size, 3u)).value(), size);
    EXPECT_TRUE(testing::same_bytes(landing, pattern(size, 3)));
  }
};

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsCmCalls, ::testing::ValuesIn(kKinds), name_of);

TEST_P(VerbsCmCalls, CallsGoOverAPathThatRdmaCmConnected) {
  Server& server = serve(by_cm(options()));
  const std::string where = server.urls().front();
  EXPECT_THAT(world.way_to(where, by_cm(options())).report.description,
              HasSubstr("reliable connection by rdma_cm"));
  Client& caller = world.client(where, by_cm(options()));
  world.expect_alive(caller);
  for (const std::size_t size : {std::size_t{1}, std::size_t{20'000}, std::size_t{300'000}}) {
    expect_carried(caller, size);
  }
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_P(VerbsCmCalls, AttachmentsInRegisteredMemoryAreFetchedOverIt) {
  Client& caller = world.client(serve(by_cm(options())).urls().front(), by_cm(options()));
  std::vector<std::byte> sent = pattern(std::size_t{3} << 20);
  const auto lease = caller.register_memory(sent);
  ASSERT_TRUE(lease.ok()) << lease.status().to_string();
  EXPECT_EQ(world.wait_for(caller.start<sum_up>({.attachment = Bytes{sent}})).value(), sum_of(sent));
}

// Whoever connects by the hello, or by TCP alone, is served on the same port.
TEST_P(VerbsCmCalls, AServerWithRdmaCmServesAllOthersToo) {
  Server& server = serve(by_cm(options()));
  const std::string where = server.urls().front();
  EXPECT_THAT(world.way_to(where, options()).report.description, HasSubstr("reliable connection, MTU"));
  world.expect_alive(world.client(where, options()));
  world.expect_alive(world.client(where, by_cm(options())));
  world.expect_alive(world.client(with_scheme(server, "tcp"), options()));
}

TEST_P(VerbsCmCalls, AServerWithoutRdmaCmIsSaidOrDoneWithout) {
  Server& server = serve(preferring(), "tcp");
  const std::string where = server.urls().front();
  const Status required =
      world.wait_for(world.client(with_scheme(server, "verbs"), by_cm(options())).start<add>(1, 2)).status();
  EXPECT_EQ(required.code(), StatusCode::kFailedPrecondition) << required.to_string();
  EXPECT_THAT(required.to_string(), HasSubstr("does not listen for rdma_cm"));
  Client& preferred = world.client(where, by_cm(preferring()));
  world.expect_alive(preferred);
  EXPECT_EQ(preferred.stats().connections, 1u);
}

TEST_P(VerbsCmCalls, ManyConnectionsComeUpAtOnceAndEndApart) {
  Server& server = serve(by_cm(options()));
  std::vector<Client*> callers;
  std::vector<Call<int>> calls;
  for (int i = 0; i < 8; ++i) {
    callers.push_back(&world.client(server.urls().front(), by_cm(options())));
    calls.push_back(callers.back()->start<add>(i, 1));
  }
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(world.wait_for(std::move(calls[static_cast<std::size_t>(i)])).value(), i + 1);
  }
  for (Client* caller : callers) expect_carried(*caller, 5'000);
  EXPECT_EQ(server.stats().connections, 8u);
  world.end_clients();
  EXPECT_TRUE(eventually([&] { return server.stats().connections == 0; })) << "F5";
  world.expect_alive(world.client(server.urls().front(), by_cm(options())));
}

TEST_P(VerbsCmCalls, AServerThatComesAgainIsFoundAgain) {
  Server& first = serve(by_cm(options()));
  const std::string where = first.urls().front();
  Client& caller = world.client(where, by_cm(options()));
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
