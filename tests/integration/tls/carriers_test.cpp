// SPDX-License-Identifier: Apache-2.0
// CR-10: UCX and RDMA beside TLS, when both sides name them.
#include "integration/tls/tls_testing.hpp"
#if WEFT_HAVE_VERBS
#include "support/simulated_rdma.hpp"
#endif

namespace weft::testing::tls_carrier_tests {
namespace {

using ::testing::HasSubstr;

class BesideTls : public TlsTest {
 protected:
  // What runs over the devices ends before them.
  ~BesideTls() override { server_.reset(); }
  TransportOptions named(TlsOptions tls, CarriersBesideTls carriers) {
    TransportOptions options;
    options.tls = std::move(tls);
    options.beside_tls = carriers;
    options.ucx.logger = options.verbs.logger = &notes_;
#if WEFT_HAVE_VERBS
    options.verbs.driver = &rdma_;
#endif
    return options;
  }
  std::string serve_beside(CarriersBesideTls carriers) { return serve_with(named(of_server(), carriers)); }
  std::string serve_with(TransportOptions transports) {
    server_ = std::make_unique<Server>(
        ServerOptions{.listen = {"tls://127.0.0.1:0"}, .threads = 1, .logger = &notes_},
        std::move(transports));
    server_->register_handler<echoed>();
    server_->register_handler<swapped>();
    const auto started = server_->start();
    EXPECT_TRUE(started.ok()) << started.status().to_string();
    return started.ok() ? server_->urls().front() : "";
  }
  std::unique_ptr<Client> client_beside(const std::string& url, CarriersBesideTls carriers) {
    return client_with(url, named(of_client(), carriers));
  }
  std::unique_ptr<Client> client_with(const std::string& url, TransportOptions transports) {
    return std::make_unique<Client>(*loop_, ClientOptions{.connect = url, .logger = &notes_},
                                    std::move(transports));
  }
  void expect_stays_encrypted(Client& caller, const char* because) {
    const auto answer = ask(caller);
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    const CarrierReport report = caller.carrier_report();
    EXPECT_THAT(report.description, HasSubstr("TLS"));
    std::string why = report.reason;
    for (const PassedOverCarrier& each : report.passed_over) why += each.reason;
    EXPECT_THAT(why, HasSubstr(because));
  }
  void expect_swaps(Client& caller, std::size_t bytes) {
    const auto memory = pattern(bytes, 3);
    std::vector<std::byte> landing(bytes);
    CallOptions options{.timeout = 60s};
    options.attachment = Bytes{memory};
    options.landing = MutableBytes{landing};
    const auto answer = loop_->block_on(caller.call<swapped>(options, std::uint64_t{3}));
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    EXPECT_EQ(*answer, bytes);
    EXPECT_EQ(landing, pattern(bytes, 4));
  }

#if WEFT_HAVE_VERBS
  SimulatedRdma rdma_{{roce_device("sim0", 1), roce_device("sim1", 2)}};
#endif
};

TEST_F(BesideTls, NothingIsBesideItUnlessItIsNamed) {
  const auto caller = client_beside(serve_beside({}), {});
  expect_stays_encrypted(*caller, "connections of tls:// stay encrypted");
}

/// UCX, or RDMA over devices that are simulated.
struct Named {
  const char* name;
  CarrierPolicy CarriersBesideTls::* policy;
};

class NamedBesideTls : public BesideTls, public ::testing::WithParamInterface<Named> {
 protected:
  static CarriersBesideTls with_policy(CarrierPolicy policy) {
    CarriersBesideTls carriers;
    carriers.*GetParam().policy = policy;
    return carriers;
  }
  const CarriersBesideTls preferred_ = with_policy(CarrierPolicy::kPrefer);
  const CarriersBesideTls required_ = with_policy(CarrierPolicy::kRequire);
};

TEST_P(NamedBesideTls, BothSidesNameItAndItTakesOver) {
  const auto caller = client_beside(serve_beside(preferred_), required_);
  for (int i = 0; i < 100; ++i) {
    const auto answer = ask(*caller, std::to_string(i));
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    EXPECT_EQ(*answer, std::to_string(i));
  }
  const CarrierReport report = caller->carrier_report();
  EXPECT_EQ(report.reason, "");
  EXPECT_THAT(report.description, ::testing::Not(HasSubstr("TLS")));
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100'001}, std::size_t{4} << 20}) {
    expect_swaps(*caller, bytes);
  }
}

TEST_P(NamedBesideTls, OneSideThatNamesItDoesWithoutAndSaysSo) {
  const auto alone = client_beside(serve_beside({}), preferred_);
  expect_stays_encrypted(*alone, "TransportOptions::beside_tls");
  const auto other = client_beside(serve_beside(preferred_), {});
  expect_stays_encrypted(*other, "connections of tls:// stay encrypted");
}

TEST_P(NamedBesideTls, OneSideThatRequiresItEndsTheConnection) {
  const auto alone = client_beside(serve_beside({}), required_);
  const Status refused = ask(*alone).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition) << refused.to_string();
  EXPECT_THAT(refused.to_string(), HasSubstr("beside_tls"));
  const auto other = client_beside(serve_beside(required_), {});
  const Status demanded = ask(*other).status();
  EXPECT_EQ(demanded.code(), StatusCode::kFailedPrecondition) << demanded.to_string();
}

TEST_P(NamedBesideTls, WhoIsNotLetInByTlsGetsNoOtherWayIn) {
  TlsOptions mutual = of_server();
  mutual.clients = TlsClients::kRequired;
  mutual.ca_pem = ca_.pem();
  const std::string url = serve_with(named(mutual, preferred_));
  const auto stranger = client_beside(url, preferred_);
  EXPECT_EQ(ask(*stranger).status().code(), StatusCode::kUnauthenticated);
  TlsOptions known = of_client();
  known.certificates = {ca_.issue()};
  const auto friend_of = client_with(url, named(known, required_));
  EXPECT_TRUE(ask(*friend_of).ok());
}

// TLS 1.2 has an exporter too.
TEST_P(NamedBesideTls, AnOlderTlsBindsItAsWell) {
  TlsOptions older = of_server();
  older.version_min = TlsVersion::k12;
  const auto caller = client_beside(serve_with(named(older, preferred_)), required_);
  EXPECT_TRUE(ask(*caller).ok());
}

TEST_P(NamedBesideTls, AClientComesBackOnIt) {
  const std::string url = serve_beside(preferred_);
  const auto caller = client_beside(url, required_);
  ASSERT_TRUE(ask(*caller).ok());
  server_.reset();
  EXPECT_FALSE(ask(*caller).ok());
  TransportOptions again = named(of_server(), preferred_);
  server_ = std::make_unique<Server>(ServerOptions{.listen = {url}, .threads = 1, .logger = &notes_},
                                     std::move(again));
  server_->register_handler<echoed>();
  ASSERT_TRUE(server_->start().ok());
  Status last;
  for (int attempt = 0; attempt < 3; ++attempt) {
    last = ask(*caller).status();
    if (last.ok()) break;
  }
  EXPECT_TRUE(last.ok()) << last.to_string();
}

std::vector<Named> all_named() {
  std::vector<Named> all;
#if WEFT_HAVE_UCX
  all.push_back({"ucx", &CarriersBesideTls::ucx});
#endif
#if WEFT_HAVE_VERBS
  all.push_back({"verbs", &CarriersBesideTls::verbs});
#endif
  return all;
}

INSTANTIATE_TEST_SUITE_P(Tls, NamedBesideTls, ::testing::ValuesIn(all_named()),
                         [](const auto& named) { return std::string{named.param.name}; });

}  // namespace
}  // namespace weft::testing::tls_carrier_tests
