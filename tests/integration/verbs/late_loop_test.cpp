// SPDX-License-Identifier: Apache-2.0
// A server whose loop was blocked for longer than its callers wait, over RDMA and the system's clock.
#include "integration/stalled_calls.hpp"
#include "integration/verbs/simulated_testing.hpp"

namespace weft::verbs_testing {
namespace {

using namespace weft::stall_testing;

class VerbsLateLoops : public SimulatedTest {
 protected:
  VerbsLateLoops()
      : server_(world.serve(options(), World::Where::kOwnThread, "verbs://127.0.0.1:0",
                            [this](Server& server) { register_stalled(server, service_); })),
        client_(world.client(server_.urls().front(), options())) {}
  // The service exists for longer than the server.
  ~VerbsLateLoops() override { simulated.end(); }
  StallOutcome calls(Arrival arrival) { return calls_in_stall(service_, server_, loop(), client_, arrival); }

  StalledService service_;
  Server& server_;
  Client& client_;
};

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsLateLoops, ::testing::ValuesIn(kKinds), name_of);

TEST_P(VerbsLateLoops, RunNoExpiredCallThatArrivedWithOneThatBlocks) {
  if (std::string_view{GetParam()} == "tight") {
    // Most requests wait at the client, which has no credits, and arrive when the loop is back.
    expect_expired_calls_run(calls(Arrival::kWithBlockingCall));
  } else {
    expect_known_expired_calls_do_not_run(service_, server_, loop(), client_);
  }
}

// RDMA does not tell when messages arrived.
TEST_P(VerbsLateLoops, RunOrRefuseEachCallThatExpiredMeanwhile) {
  const StallOutcome outcome = calls(Arrival::kMeanwhile);
  if (std::string_view{GetParam()} == "tight") expect_expired_calls_run(outcome);
}

}  // namespace
}  // namespace weft::verbs_testing
