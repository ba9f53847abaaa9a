// SPDX-License-Identifier: Apache-2.0
// A server whose loop was blocked for longer than its callers wait, over UCX and the system's clock.
#include "integration/stalled_calls.hpp"
#include "integration/ucx/ucx_testing.hpp"

namespace weft::ucx_testing {
namespace {

using namespace weft::stall_testing;

class UcxLateLoops : public UcxTest {
 protected:
  UcxLateLoops() {
    register_stalled(server_, service_);
    server_.start().value();
    client_ = &client(server_.urls().front());
  }
  StallOutcome calls(Arrival arrival) { return calls_in_stall(service_, server_, loop(), *client_, arrival); }

  StalledService service_;
  Server server_{{.listen = {"ucx://127.0.0.1:0"}, .threads = 1, .logger = &logger()}, transports()};
  Client* client_;
};

INSTANTIATE_TEST_SUITE_P(Ucx, UcxLateLoops, ::testing::ValuesIn(kAllKinds), name_of);

TEST_P(UcxLateLoops, RunNoExpiredCallThatArrivedWithOneThatBlocks) {
  expect_known_expired_calls_do_not_run(service_, server_, loop(), *client_);
}

// UCX does not tell when bytes arrived. Over shared memory they wait where no event announces them.
TEST_P(UcxLateLoops, RunOrRefuseEachCallThatExpiredMeanwhile) {
  const StallOutcome outcome = calls(Arrival::kMeanwhile);
  if (std::string_view{GetParam()}.ends_with("shm")) expect_expired_calls_run(outcome);
}

}  // namespace
}  // namespace weft::ucx_testing
