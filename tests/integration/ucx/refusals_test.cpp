// SPDX-License-Identifier: Apache-2.0
// BU-1, BU-6: what cannot be is refused early, by the side whose fault it is, and with what to do.
#include <gmock/gmock.h>

#include "integration/ucx/ucx_testing.hpp"
#include "weft/detail/ucx/log.hpp"

namespace weft::ucx_testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// UCX writes to its own log for each of these: kept out of the tests' output.
struct Quiet {
  Quiet() { ucx::log_to(&nobody); }
  ~Quiet() { ucx::log_to(nullptr); }
  faults::CountingLogger nobody;
};

/// Keeps the lines that a client logs. Thread: the test's.
class Words final : public Logger {
 public:
  void write(LogLevel, std::string_view message) override { text.append(message) += '\n'; }
  std::string text;
};

struct Wrong {
  UcxOptions options;
  StatusCode code;
  const char* named;
};

std::vector<Wrong> wrong_options() {
  std::vector<Wrong> all(6);
  all[0] = {{}, StatusCode::kFailedPrecondition, "UCX_TLS=nonsense"};
  all[0].options.transports = {"nonsense"};
  all[1] = {{}, StatusCode::kFailedPrecondition, "UCX_NET_DEVICES=nonsense0"};
  all[1].options.transports = {"tcp"};
  all[1].options.devices = {"nonsense0"};
  all[1].options.trusted_network = true;
  all[2] = {{}, StatusCode::kInvalidArgument, "NO_SUCH_THING"};
  all[2].options.settings = {{"NO_SUCH_THING", "1"}};
  all[3] = {{}, StatusCode::kInvalidArgument, "RNDV_THRESH=soon"};
  all[3].options.settings = {{"RNDV_THRESH", "soon"}};
  all[4] = {{}, StatusCode::kInvalidArgument, "TCP_TX_SEG_SIZE=much"};
  all[4].options.settings = {{"TCP_TX_SEG_SIZE", "much"}};
  all[5] = {{}, StatusCode::kInvalidArgument, "window_bytes"};
  all[5].options.window_bytes = 1;
  return all;
}

class UcxRefusals : public UcxTest {
 protected:
  static Status start(UcxOptions its, const char* url = "ucx://127.0.0.1:0") {
    Server server{{.listen = {url}}, {.tcp = {}, .ucx = std::move(its)}};
    return server.start().status();
  }
  Status call(const std::string& url, UcxOptions its) {
    TransportOptions with;
    with.ucx = std::move(its);
    return wait_for(client(url, with).start<add>(1, 2)).status();
  }
  const Quiet quiet_;
};

INSTANTIATE_TEST_SUITE_P(Ucx, UcxRefusals, ::testing::Values("peer_tcp"), name_of);

TEST_P(UcxRefusals, AServerRefusesToStartWithOptionsThatUcxCannotHave) {
  for (const Wrong& wrong : wrong_options()) {
    const Status status = start(wrong.options);
    EXPECT_EQ(status.code(), wrong.code) << status.to_string();
    EXPECT_THAT(status.to_string(), HasSubstr(wrong.named));
    UcxOptions beside_tcp = wrong.options;
    beside_tcp.listening = CarrierPolicy::kPrefer;
    EXPECT_EQ(start(beside_tcp, "tcp://127.0.0.1:0").code(), wrong.code);
  }
}

// Each alone can be, and UCX finds out when it makes a worker.
TEST_P(UcxRefusals, AServerRefusesToStartWhenNoWorkerCanBeMade) {
  UcxOptions options;
  options.transports = {"posix"};
  options.settings = {{"MM_FIFO_ELEM_SIZE", "3"}};
  const Status status = start(options);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.to_string();
  EXPECT_THAT(status.to_string(), HasSubstr("making a UCX worker"));
}

TEST_P(UcxRefusals, AClientThatRequiresUcxIsToldOfItsOwnOptionsWhetherThereIsAServerOrNot) {
  const std::string url = serve(transports()).urls().front();
  for (const Wrong& wrong : wrong_options()) {
    for (const std::string& to : {url, std::string{"ucx://127.0.0.1:1"}}) {
      const Status status = call(to, wrong.options);
      EXPECT_EQ(status.code(), wrong.code) << status.to_string();
      EXPECT_THAT(status.to_string(), HasSubstr(wrong.named));
      EXPECT_THAT(status.to_string(), Not(HasSubstr("peer")));
    }
  }
}

TEST_P(UcxRefusals, AClientThatOnlyPrefersUcxDoesWithoutWhatItCannotHave) {
  Server& server = serve(transports());
  UcxOptions its;
  its.connecting = CarrierPolicy::kPrefer;
  its.transports = {"nonsense"};
  EXPECT_TRUE(call(with_scheme(server, "tcp"), its).ok());
}

TEST_P(UcxRefusals, AClientThatPrefersUcxAndGoesWithoutSaysSo) {
  Server& server = serve(transports());
  TransportOptions its = transports();
  its.ucx.connecting = CarrierPolicy::kPrefer;
  Words said;
  const ClientOptions options{.connect = with_scheme(server, "tcp"), .logger = &said};
  Client by_ucx{loop(), options, its};
  EXPECT_EQ(by_ucx.carried_by(), "") << "nothing is connected yet";
  expect_alive(by_ucx);
  EXPECT_EQ(by_ucx.carried_by(), "ucx");
  EXPECT_EQ(by_ucx.carrier_report().reason, "");
  EXPECT_EQ(said.text, "") << "nothing to be said";

  its.ucx.transports = {"nonsense"};
  Client by_tcp{loop(), options, its};
  expect_alive(by_tcp);
  EXPECT_EQ(by_tcp.carried_by(), "tcp");
  EXPECT_THAT(by_tcp.carrier_report().reason, HasSubstr("UCX_TLS=nonsense"));
  EXPECT_THAT(said.text, HasSubstr("goes by tcp although both sides offer another carrier: this side"));
  EXPECT_THAT(said.text, HasSubstr("UCX_TLS=nonsense"));
}

TEST_P(UcxRefusals, TheOtherErrorModeIsNamedOnBothSides) {
  const std::string url = serve(transports()).urls().front();
  UcxOptions its = transports().ucx;
  its.error_mode = UcxErrorMode::kNone;
  EXPECT_THAT(call(url, its).to_string(),
              HasSubstr("this side uses UCX's error mode none and the other side mode peer"));
}

TEST_P(UcxRefusals, TransportsOfWhichNoneIsCommonAreNamed) {
  const std::string url = serve(transports()).urls().front();  // tcp
  UcxOptions its = transports().ucx;
  its.transports = {"posix"};
  EXPECT_THAT(call(url, its).to_string(),
              HasSubstr("the peer could not bring it up, and says: with UCX_TLS=tcp,cma,self and "
                        "UCX_NET_DEVICES=lo on this side"));
}

TEST_P(UcxRefusals, AServerThatRequiresUcxHasClientsWithoutItSayWhatToDo) {
  TransportOptions strict = transports();
  strict.ucx.listening = CarrierPolicy::kRequire;
  Server& server = serve(strict);
  for (int i = 0; i < 20; ++i) {
    const Status status = call(with_scheme(server, "tcp"), {});
    ASSERT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.to_string();
    EXPECT_THAT(status.to_string(), HasSubstr("requires the carrier 'ucx'"));
    EXPECT_THAT(status.to_string(), HasSubstr("ucx:// URL"));
    end_clients();
  }
}

TEST_P(UcxRefusals, TheSideThatCannotBringUcxUpIsTheOneThatSaysSo) {
  const std::string url = serve(transports()).urls().front();
  UcxOptions its;
  its.transports = {"posix"};
  its.settings = {{"MM_FIFO_ELEM_SIZE", "3"}};
  const Status status = call(url, its);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.to_string();
  EXPECT_THAT(status.to_string(), HasSubstr("this side could not bring it up: making a UCX worker"));
}

}  // namespace
}  // namespace weft::ucx_testing
