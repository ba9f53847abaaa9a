// SPDX-License-Identifier: Apache-2.0
// What UCX opens: sockets on which it listens, and to which everybody who reaches them can speak UCX without
// having said hello.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "integration/ucx/ucx_testing.hpp"
#include "support/listening_sockets.hpp"

namespace {

std::atomic<int> listens{0};

}  // namespace

// In place of the system's, for UCX's libraries too: what listens for a moment only is seen as well.
extern "C" int listen(int fd, int backlog) noexcept {
  ++listens;
  return static_cast<int>(::syscall(SYS_listen, fd, backlog));
}

namespace weft::ucx_testing {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::listening_sockets;
using ::testing::StartsWith;

using Sockets = std::multiset<std::string>;

Sockets only(const Server& server) {
  const std::string url = server.urls().front();
  return {url.substr(url.find("://") + 3)};
}

class Listening : public UcxTest {
 protected:
  static auto on_loopback() { return Each(AnyOf(StartsWith("127."), StartsWith("::1:"))); }
  /// Returns them as they are by default, but for the error mode.
  static TransportOptions usual() {
    TransportOptions options = transports();
    options.ucx.transports.clear();
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(Ucx, Listening, ::testing::Values("peer_tcp", "none_tcp"), name_of);

TEST_P(Listening, NothingIsOpenedBeforeAPeerHasSaidThatItWantsUcx) {
  const int before = listens;
  Server& server = serve(usual());
  EXPECT_EQ(listening_sockets(), only(server));
  Client& by_ucx = client(server.urls().front(), usual());
  EXPECT_EQ(listening_sockets(), only(server));
  Client& by_tcp = client(with_scheme(server, "tcp"), usual());
  expect_alive(by_tcp);
  EXPECT_EQ(listening_sockets(), only(server)) << "a peer without UCX";
  EXPECT_EQ(listens, before + 1) << "not even for a moment";
  expect_alive(by_ucx);
  EXPECT_EQ(by_ucx.carried_by(), "ucx");
  end_clients();
  EXPECT_TRUE(eventually([&] { return listening_sockets() == only(server); }))
      << "it ends with its last peer";
}

TEST_P(Listening, AClientOpensNothingForAServerThatIsNotThere) {
  const int before = listens;
  Client& alone = client("ucx://127.0.0.1:1", usual());
  EXPECT_FALSE(wait_for(alone.start<add>(1, 2)).ok());
  EXPECT_EQ(listening_sockets(), Sockets{});
  EXPECT_EQ(listens, before);
}

TEST_P(Listening, UcxKeepsToTheLoopbackDevice) {
  for (TransportOptions options : {usual(), transports()}) {
    Server& server = serve(options);
    Client& caller = client(server.urls().front(), options);
    expect_alive(caller);
    EXPECT_EQ(caller.carried_by(), "ucx");
    EXPECT_THAT(listening_sockets(), on_loopback());
  }
}

TEST_P(Listening, TheNetworkIsOpenedToUcxByNameOnly) {
  UcxOptions options = usual().ucx;
  EXPECT_THAT(detail::describe_ucx(options).value().settings, HasSubstr("UCX_NET_DEVICES=lo\n"));
  options.trusted_network = true;
  EXPECT_THAT(detail::describe_ucx(options).value().settings, HasSubstr("UCX_NET_DEVICES=all\n"));
  options.trusted_network = false;
  for (const char* const device : {"eth0", "lo,eth0", "all", "mlx5_0:1"}) {
    options.settings = {};
    options.devices = {"lo", device};
    EXPECT_THAT(check(options).to_string(), HasSubstr("trusted_network"));
    options.devices = {};
    options.settings = {{"NET_DEVICES", device}};
    EXPECT_THAT(check(options).to_string(), HasSubstr("trusted_network"));
    options.trusted_network = true;
    EXPECT_TRUE(check(options).ok());
    options.trusted_network = false;
  }
  options.settings = {};
  options.devices = {"lo"};
  EXPECT_TRUE(check(options).ok());
}

}  // namespace
}  // namespace weft::ucx_testing
