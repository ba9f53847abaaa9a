// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "info/ucx/lanes.hpp"
#include "info/ucx/missing.hpp"
#include "info/ucx/why.hpp"
#include "info_report.hpp"
#include "weft/weft.hpp"

namespace weft::info {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

TEST(InfoLanes, AreReadFromWhatUcxPrintsOfAnEndpoint) {
  const auto lanes = parse_lanes(  // as UCX 1.13.1 has it

      "#\n# UCP endpoint \n#\n#               peer: <no debug data>\n"
      "#                 lane[0]:  3:sysv/memory.0 md[2]          -> md[2]/sysv/sysdev[255] am am_bw#0\n"
      "#                 lane[1]:  2:tcp/eth0.0 md[1]             -> md[1]/tcp/sysdev[255] wireup\n#\n");
  EXPECT_THAT(lanes, ElementsAre(Lane{"sysv", "memory", {"am", "am_bw"}}, Lane{"tcp", "eth0", {"wireup"}}));
}

TEST(InfoLanes, OfAnotherLayoutAreLeftOut) {
  EXPECT_THAT(parse_lanes(""), IsEmpty());
  EXPECT_THAT(parse_lanes("# lane[0]:\n# lane[1]: nothing\n# lane\n"), IsEmpty());
  EXPECT_THAT(parse_lanes("# lane[0]: 1:tcp/lo.0 ->"), ElementsAre(Lane{"tcp", "lo", {}}));
}

TEST(InfoLanes, HaveUsesThatPeopleUnderstand) {
  EXPECT_EQ(meaning_of("keepalive"), "noticing a dead peer");
  EXPECT_EQ(meaning_of("of_a_later_ucx"), "of_a_later_ucx");
}

TEST(InfoResources, AreReadFromWhatUcxPrintsOfAContext) {
  const auto resources = parse_resources(
      "# UCP context\n#     component 1  :  tcp\n#            md 1  :  component 1  tcp \n"
      "#      resource 0  :  md 0  dev 0  flags -- self/memory0\n"
      "#      resource 1  :  md 1  dev 1  flags -- rc_mlx5/mlx5_0:1\n");
  EXPECT_THAT(resources, ElementsAre(UcxResource{"self", "memory0"}, UcxResource{"rc_mlx5", "mlx5_0:1"}));
}

TEST(InfoSettings, AreNamesAndValuesWithoutComments) {
  EXPECT_THAT(parse_settings("# UCX_TLS=no\n\nUCX_TLS=tcp,self\nUCX_EMPTY=\nnothing\n"),
              ElementsAre(Pair("UCX_TLS", "tcp,self"), Pair("UCX_EMPTY", "")));
}

std::unique_ptr<Server> serve(const char* url, UcxOptions ucx = {}) {
  auto server =
      std::make_unique<Server>(ServerOptions{.listen = {url}}, TransportOptions{.tcp = {}, .ucx = ucx});
  server->start().value();
  return server;
}

TEST(InfoProbe, OfATcpServerSaysThatTheStreamCarriesIt) {
  const auto server = serve("tcp://127.0.0.1:0");
  Options options;
  options.connect = server->urls().front();
  const auto probe = blocking_probe(options);
  ASSERT_TRUE(probe.ok()) << probe.status().to_string();
  EXPECT_EQ(probe->carrier, "tcp");
  EXPECT_EQ(probe->ours, CarrierPolicy::kForbid);
  EXPECT_TRUE(probe->same_host);
  EXPECT_THAT(probe->description, IsEmpty());
  EXPECT_THAT(to_text(report_of(ucx_facts(options), *probe), options), HasSubstr("does not ask for UCX"));
}

TEST(InfoProbe, SaysWhyNobodyAnswers) {
  Options options;
  options.connect = serve("tcp://127.0.0.1:0")->urls().front();  // gone already
  const auto probe = blocking_probe(options);
  EXPECT_EQ(probe.status().code(), StatusCode::kUnavailable);
  const auto json = nlohmann::json::parse(to_json(report_of(ucx_facts(options), probe.status()), options));
  EXPECT_EQ(json["connection"]["failure"]["code"], std::string{to_string(StatusCode::kUnavailable)});
}

std::vector<Lane> by(std::vector<std::string> transports) {
  std::vector<Lane> lanes;
  for (std::string& transport : transports) lanes.push_back({std::move(transport), "a device", {"am"}});
  return lanes;
}

UcxFacts opening(std::vector<std::string> transports) {
  UcxFacts facts;
  for (std::string& transport : transports) facts.resources.push_back({std::move(transport), "a device"});
  return facts;
}

TEST(InfoReasons, SayWhatLedToTheLanesAndWhatIsMissing) {
  using ::testing::Each;
  EXPECT_THAT(reasons(by({}), true, opening({"tcp"}), {}), IsEmpty()) << "UCX carries nothing";
  EXPECT_THAT(reasons(by({"sysv"}), true, opening({"sysv", "cma", "tcp"}), {}),
              AllOf(Contains(HasSubstr("both sides open it")), Contains(HasSubstr("error mode none only"))));
  Options none;
  none.ucx.mode_none = true;
  EXPECT_THAT(reasons(by({"sysv", "cma"}), true, opening({"sysv", "cma"}), none),
              Each(Not(HasSubstr("error mode none only"))));
  EXPECT_THAT(reasons(by({"tcp"}), true, opening({"tcp"}), {}),
              AllOf(Contains(HasSubstr("this side opens none")),
                    Contains(HasSubstr("this side opens no such device"))));
  EXPECT_THAT(
      reasons(by({"tcp"}), true, opening({"tcp", "posix", "rc_verbs"}), {}),
      AllOf(Contains(HasSubstr("another /dev/shm")), Contains(HasSubstr("the server opens none, or none"))));
  EXPECT_THAT(reasons(by({"rc_mlx5"}), false, opening({"posix", "rc_mlx5"}), {}),
              AllOf(Contains(HasSubstr("on another host")), Each(Not(HasSubstr("RoCE")))));
}

TEST(InfoMissing, AreNamesOfWhichNothingIsOpen) {
  UcxFacts facts = opening({"posix", "tcp", "rc_verbs"});
  facts.resources.push_back({"tcp", "eth0"});
  const auto missing = [&](std::vector<std::string> transports, std::vector<std::string> devices = {}) {
    return missing_names(facts, {.transports = std::move(transports), .devices = std::move(devices)});
  };
  EXPECT_THAT(missing({"posix", "shm", "sm", "mm", "tcp", "rc", "rc_v", "ib"}, {"eth0"}), IsEmpty());
  EXPECT_THAT(missing({"all"}), IsEmpty());
  EXPECT_THAT(missing({"^posix"}), IsEmpty());
  EXPECT_THAT(missing({"posxi", "tcp", "dc", "rc_x"}), ElementsAre("posxi", "dc", "rc_x"));
  EXPECT_THAT(missing({}, {"eth0", "eth7"}), ElementsAre("eth7"));
  EXPECT_THAT(missing({"\\tcp"}, {"all"}), IsEmpty());
  EXPECT_THAT(missing({"\\rc"}, {"^eth0"}), ElementsAre("\\rc", "^eth0")) << "no group, and no device";
  Options options;
  options.ucx.transports = {"tcp", "posxi"};
  const Report report = report_of(facts);
  EXPECT_EQ(exit_code_of(report, options), 1);
  EXPECT_THAT(to_text(report, options), HasSubstr("posxi: nothing of that name can be opened"));
  EXPECT_EQ(nlohmann::json::parse(to_json(report, options))["ucx"]["not_here"][0], "posxi");
}

TEST(InfoOptions, SayWhatTheUrlAndTheEnvironmentHaveASayIn) {
  EXPECT_THAT(words_text(effective_ucx_options({})),
              HasSubstr("forbid (with tcp:// and unix://; a ucx:// URL"));
  ::setenv("UCX_TLS", "tcp", 1);
  const std::string text = words_text(effective_ucx_options({}));
  ::unsetenv("UCX_TLS");
  EXPECT_THAT(text, HasSubstr("from what the environment leaves: UCX_TLS=tcp"));
}

TEST(InfoExitCode, IsAFailureWhenWhatWasAskedForCannotBeHad) {
  const Status no_ucx{StatusCode::kUnimplemented, Layer::kTransport, "this build has no UCX"};
  const Status no_device{StatusCode::kFailedPrecondition, Layer::kTransport, "no such device"};
  Options asking;
  asking.ucx.transports = {"tcp"};
  EXPECT_EQ(exit_code_of(report_of(opening({"tcp"})), asking), 0);
  EXPECT_EQ(exit_code_of(report_of(no_ucx), {}), 0) << "a build without UCX";
  EXPECT_EQ(exit_code_of(report_of(no_ucx), asking), 1);
  EXPECT_EQ(exit_code_of(report_of(no_device), {}), 1);
  EXPECT_EQ(exit_code_of(report_of(UcxFacts{}, no_device), {}), 1);
}

TEST(InfoCarriers, BeginWithTheStreamAndHaveNamesOfTheirOwn) {
  const Carriers carriers = all_carriers();
  EXPECT_EQ(carriers.front()->names().kind, detail::wire::CarrierKind::kStream);
  std::set<std::string> titles;
  for (const auto& carrier : carriers) titles.insert(carrier->names().title);
  EXPECT_EQ(titles.size(), carriers.size());
}

TEST(InfoCarriers, AreAskedForByUrlAndFlagAndUcxWithout) {
  const Carriers carriers = all_carriers();
  const auto asked = [&](const Options& options) { return asked_carrier(carriers, options).names().title; };
  Options options;
  EXPECT_EQ(asked(options), "UCX");
  options.connect = "verbs://127.0.0.1:1";
  EXPECT_EQ(asked(options), "RDMA");
  options.connect = "ucx://127.0.0.1:1";
  EXPECT_EQ(asked(options), "UCX");
  options.connect = "tcp://127.0.0.1:1";
  options.rdma.prefer = true;
  EXPECT_EQ(asked(options), "RDMA");
}

/// A carrier that nothing of `weft info` knows.
class Pigeons final : public CarrierFacts {
 public:
  CarrierNames names() const override {
    return {detail::wire::CarrierKind::kSharedMemory, "pigeons", "pigeon://", "--prefer-pigeons"};
  }
  bool failed(const Options& options) const override { return options.seconds < 1; }
  std::string text(const Options&) const override { return "Pigeons\n  two\n"; }
  void add_json(const Options&, Json& report) const override { report["pigeons"] = 2; }
  std::string_view host_note(bool) const override { return ": they need no host"; }
  std::string probe_text(const Probe& probe, const Options&) const override {
    return row("ring", probe.description);
  }
  void add_probe_json(const Probe& probe, const Options&, Json& connection) const override {
    connection["ring"] = probe.description;
  }
};

TEST(InfoCarriers, ANewOneIsToldOfByBeingInTheList) {
  Probe probe;
  probe.carrier = "shared memory";
  probe.asked = detail::wire::CarrierKind::kSharedMemory;
  probe.theirs = CarrierPolicy::kPrefer;
  probe.description = "number 7";
  Report report = report_of(UcxFacts{}, probe);
  report.carriers.push_back(std::make_unique<Pigeons>());
  Options options;
  options.connect = "tcp://127.0.0.1:1";
  const std::string text = to_text(report, options);
  EXPECT_THAT(text,
              AllOf(HasSubstr("\n\nPigeons\n  two\n\n"), HasSubstr("offers pigeons"),
                    HasSubstr("(a pigeon:// URL or --prefer-pigeons does)"), HasSubstr("they need no host"),
                    HasSubstr("pigeons; the stream stays beside it"), ContainsRegex("ring +number 7")));
  const auto json = nlohmann::json::parse(to_json(report, options));
  EXPECT_EQ(json["pigeons"], 2);
  EXPECT_EQ(json["connection"]["ring"], "number 7");
  EXPECT_EQ(exit_code_of(report, options), 0);
  options.seconds = 0.5;
  EXPECT_EQ(exit_code_of(report, options), 1);
}

#if WEFT_HAVE_UCX

Options over(std::vector<std::string> transports) {
  Options options;
  options.ucx.transports = std::move(transports);
  return options;
}

TEST(InfoUcx, NamesTheTransportsThatTheOptionsLeave) {
  const auto facts = ucx_facts(over({"tcp"}));
  ASSERT_TRUE(facts.ok()) << facts.status().to_string();
  EXPECT_THAT(facts->version, HasSubstr("."));
  EXPECT_THAT(facts->resources, Contains(UcxResource{"tcp", "lo"}));
  EXPECT_THAT(facts->resources, Not(Contains(UcxResource{"posix", "memory"})));
}

TEST(InfoUcx, TellsASettingOfOursFromUcxsOwn) {
  const auto facts = ucx_facts(over({"posix"})).value();
  const auto find = [&](std::string_view name) {
    for (const UcxSetting& setting : facts.settings) {
      if (setting.name == name) return setting;
    }
    return UcxSetting{};
  };
  EXPECT_EQ(find("UCX_TLS").value, "posix");
  EXPECT_EQ(find("UCX_TLS").usual, "all");
  EXPECT_EQ(find("UCX_MM_ERROR_HANDLING").value, "y");
  EXPECT_EQ(find("UCX_MM_ERROR_HANDLING").usual, "n");
  EXPECT_FALSE(find("UCX_SEG_SIZE").value.empty());
  EXPECT_FALSE(find("UCX_SEG_SIZE").differs());
}

TEST(InfoUcx, TellsASettingOfTheEnvironmentFromUcxsOwnAndLeavesItThere) {
  ::setenv("UCX_KEEPALIVE_NUM_EPS", "77", 1);
  const auto facts = ucx_facts({}).value();
  EXPECT_STREQ(std::getenv("UCX_KEEPALIVE_NUM_EPS"), "77");
  ::unsetenv("UCX_KEEPALIVE_NUM_EPS");
  bool found = false;
  for (const UcxSetting& setting : facts.settings) {
    if (setting.name != "UCX_KEEPALIVE_NUM_EPS") continue;
    found = true;
    EXPECT_EQ(setting.value, "77");
    EXPECT_EQ(setting.usual, "128");
  }
  EXPECT_TRUE(found);
}

TEST(InfoProbe, OfAUcxServerSaysWhatUcxChose) {
  UcxOptions ucx;
  ucx.transports = {"posix", "cma"};
  const auto server = serve("ucx://127.0.0.1:0", ucx);
  Options options = over({"posix", "cma"});
  options.connect = server->urls().front();
  const auto probe = blocking_probe(options);
  ASSERT_TRUE(probe.ok()) << probe.status().to_string();
  EXPECT_EQ(probe->carrier, "ucx");
  EXPECT_EQ(probe->ours, CarrierPolicy::kRequire);
  EXPECT_EQ(probe->theirs, CarrierPolicy::kPrefer);
  const std::vector<Lane> lanes = parse_lanes(probe->description);
  ASSERT_THAT(lanes, Not(IsEmpty()));
  EXPECT_EQ(lanes.front().transport, "posix");
  const Report report = report_of(ucx_facts(options), *probe);
  EXPECT_THAT(to_text(report, options), HasSubstr("posix on memory"));
  EXPECT_THAT(to_text(report, options), HasSubstr("both sides open it and are on one host"));
  const auto json = nlohmann::json::parse(to_json(report, options));
  EXPECT_EQ(json["connection"]["lanes"][0]["transport"], "posix");
  EXPECT_FALSE(json["connection"]["why"].empty());
  EXPECT_EQ(json["options"]["error_mode"], "peer");
  EXPECT_EQ(json["options"]["window_bytes"], UcxOptions{}.window_bytes);
}

TEST(InfoProbe, OfAServerThatRequiresUcxSaysWhatToDo) {
  UcxOptions ucx;
  ucx.listening = CarrierPolicy::kRequire;
  const auto server = serve("tcp://127.0.0.1:0", ucx);
  Options options;
  options.connect = server->urls().front();
  const Status status = blocking_probe(options).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.to_string();
  EXPECT_THAT(status.to_string(), HasSubstr("ucx:// URL"));
  options.ucx.prefer = true;
  EXPECT_EQ(blocking_probe(options).value().carrier, "ucx");
}

TEST(InfoUcx, SaysWhyThereIsNone) {
  const Options options = over({"nonsense"});
  const auto facts = ucx_facts(options);
  const Report report = report_of(facts);
  EXPECT_EQ(facts.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(to_text(report, options), HasSubstr("UCX_TLS=nonsense"));
  EXPECT_EQ(exit_code_of(report, options), 1);
}

TEST(InfoProbe, SaysWhyAPreferredCarrierCameNotUp) {
  UcxOptions ucx;
  ucx.transports = {"tcp"};
  ucx.error_mode = UcxErrorMode::kNone;
  const auto server = serve("ucx://127.0.0.1:0", ucx);
  Options options = over({"tcp"});
  options.connect = server->urls().front();
  EXPECT_THAT(blocking_probe(options).status().to_string(),
              HasSubstr("error mode peer and the other side mode none"));
  options.connect.replace(0, 3, "tcp");
  options.ucx.prefer = true;
  const auto probe = blocking_probe(options);
  ASSERT_TRUE(probe.ok()) << probe.status().to_string();
  EXPECT_EQ(probe->carrier, "tcp");
  EXPECT_THAT(probe->refusal, HasSubstr("error mode"));
}

#else

TEST(InfoUcx, SaysWhichPackageIsMissing) {
  EXPECT_THAT(std::string{ucx_facts({}).status().message()}, HasSubstr("libucx-dev"));
}

#endif

}  // namespace
}  // namespace weft::info
