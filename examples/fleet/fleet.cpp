// SPDX-License-Identifier: Apache-2.0
// One client of several servers. Calls avoid servers that fail; some calls go to all servers, or to a quorum.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <weft/fleet.hpp>
#include <weft/weft.hpp>

// begin: idempotent
int price_of(int article) {
  return article * 3;
}
// Asking twice for a price does no harm. Servers register price_of itself.
inline constexpr auto price = weft::idempotent<price_of>;
// end: idempotent

std::unique_ptr<weft::Server> serve() {
  auto server =
      std::make_unique<weft::Server>(weft::ServerOptions{.listen = {"tcp://127.0.0.1:0"}, .threads = 1});
  server->register_handler<price_of>();
  server->start().value();
  return server;
}

// begin: call
weft::Task<int> ask(weft::FleetClient& fleet, int article) {
  auto answer = co_await fleet.call<price>(article);  // weft::Result<int>, of whichever server
  if (!answer.ok()) {
    std::fprintf(stderr, "%s\n", answer.status().to_string().c_str());
    co_return -1;
  }
  co_return *answer;
}
// end: call

// begin: quorum
weft::Task<int> ask_two(weft::FleetClient& fleet, int article) {
  const weft::FleetCallOptions options{.call = {.timeout = std::chrono::seconds{5}}};
  auto answers = co_await fleet.call_quorum<price>(2, options, article);
  if (!answers.ok()) co_return -1;  // fewer than two answered; the text says what became of one
  co_return answers->front().outcome.value();
}
// end: quorum

// begin: all
weft::Task<std::size_t> count_answers(weft::FleetClient& fleet) {
  const weft::FleetCallOptions options{.call = {.timeout = std::chrono::seconds{5}}};
  auto answers = co_await fleet.call_all<price>(options, 1);
  std::size_t good = 0;
  if (!answers.ok()) co_return good;  // there was no server to ask, and the status says why
  for (const weft::FleetAnswer<int>& one : *answers) good += one.outcome.ok() ? 1 : 0;
  co_return good;
}
// end: all

// begin: key
weft::FleetOptions by_key(std::string name) {
  weft::FleetOptions options;
  options.name = std::move(name);
  options.balancing = std::make_unique<weft::ConsistentHash>();
  options.outliers = weft::OutlierOptions{.failures_in_a_row = 3};  // or nullopt: no server is ejected
  return options;
}

weft::Task<int> ask_who_knows(weft::FleetClient& fleet, int article) {
  const weft::FleetCallOptions options{.key_hash = weft::key_hash("article " + std::to_string(article))};
  auto answer = co_await fleet.call<price>(options, article);
  co_return answer.value_or(-1);
}
// end: key

// begin: policy
/// All calls go to the server of the largest weight, and to the next while that one is not well: a main
/// server and its standbys.
class MainFirst final : public weft::BalancingPolicy {
 public:
  weft::Status set_endpoints(std::span<const weft::EndpointSpec> list) override {
    if (list.size() > weft::kEndpointsMax) {
      return {weft::StatusCode::kInvalidArgument, weft::Layer::kUser, "the list is too long"};
    }
    std::vector<Server> servers;
    for (const weft::EndpointSpec& each : list) {
      const auto known = std::ranges::find(servers_, each.key, &Server::key);  // keeps its share
      const double share = known == servers_.end() ? 1 : known->share;
      servers.push_back({std::string{each.key}, each.weight, share});
    }
    servers_ = std::move(servers);
    return {};
  }
  std::size_t size() const noexcept override { return servers_.size(); }

  std::optional<std::uint32_t> pick(const weft::PickRequest& request) noexcept override {
    std::optional<std::uint32_t> best;
    for (std::uint32_t index = 0; index < servers_.size(); ++index) {
      if (rank(index) == 0 || std::ranges::count(request.tried, index) != 0) continue;
      if (!best || rank(index) > rank(*best)) best = index;
    }
    return best;
  }

  void set_share(std::uint32_t index, double share) noexcept override { servers_[index].share = share; }
  void begun(std::uint32_t /*index*/, weft::TimePoint /*now*/) noexcept override {}
  void ended(std::uint32_t /*index*/, const weft::CallReport& /*report*/) noexcept override {}

 private:
  struct Server {
    std::string key;
    std::uint32_t weight;
    double share;  // 0 while it is left out, and less than 1 while it comes back
  };
  double rank(std::uint32_t index) const { return servers_[index].weight * servers_[index].share; }

  std::vector<Server> servers_;
};
// end: policy

weft::FleetOptions main_first(const std::string& main, const std::string& standby) {
  weft::FleetOptions options;
  options.name = "static:" + main + " weight=2," + standby;
  options.balancing = std::make_unique<MainFirst>();
  return options;
}

std::uint64_t calls_at(const weft::FleetClient& fleet, const std::string& url) {
  const auto all = fleet.endpoint_stats();
  const auto found = std::ranges::find(all, url, &weft::FleetEndpointStats::url);
  return found == all.end() ? 0 : found->picks;
}

// begin: blocking
int ask_and_block(weft::FleetClient& fleet, int article) {  // a thread without a loop
  return weft::blocking(fleet).call<price>(article).value_or(-1);
}

int ask_two_and_block(weft::FleetClient& fleet, int article) {
  const weft::FleetCallOptions options{.call = {.timeout = std::chrono::seconds{5}}};
  weft::FleetAnswers<int> answers = weft::blocking(fleet).call_quorum<price>(2, options, article);
  return answers.ok() ? answers->front().outcome.value() : -1;
}
// end: blocking

// begin: on_loop_of
weft::Task<int> ask_from_here(weft::LoopFleet there, int article) {
  weft::Result<int> answer = co_await there.call<price>(article);  // on the fleet's loop
  co_return answer.value_or(-1);                                   // here again
}
// end: on_loop_of

int main() {
  std::vector<std::unique_ptr<weft::Server>> servers;
  servers.reserve(3);
  for (int i = 0; i < 3; ++i) servers.push_back(serve());
  const std::string name =
      "static:" + servers[0]->urls()[0] + "," + servers[1]->urls()[0] + "," + servers[2]->urls()[0];

  // begin: options
  auto loop = weft::Loop::create().value();
  weft::FleetOptions options;
  options.name = name;  // "static:tcp://10.0.0.7:9000,tcp://10.0.0.8:9000", "dns:_kv._tcp.example.org", ...
  options.pool.client.call_timeout = std::chrono::seconds{10};
  options.backup_after = std::chrono::milliseconds{200};
  weft::FleetClient fleet{*loop, std::move(options)};
  // end: options

  std::printf("%d\n", loop->block_on(ask(fleet, 7)));
  std::printf("%zu servers answered\n", loop->block_on(count_answers(fleet)));
  weft::FleetClient keyed{*loop, by_key(name)};
  std::printf("%d\n", loop->block_on(ask_who_knows(keyed, 8)));
  {
    const std::jthread asks{[&] {
      std::printf("%d\n", ask_and_block(fleet, 9));
      std::printf("%d, say two of three to a thread\n", ask_two_and_block(fleet, 10));
      auto home = weft::Loop::create().value();
      std::printf("%d, on another loop\n", home->block_on(ask_from_here(weft::on_loop_of(fleet), 11)));
      loop->stop();
    }};
    loop->run();
  }
  const std::string main_url = servers[0]->urls()[0];
  const std::string standby_url = servers[1]->urls()[0];
  weft::FleetClient guarded{*loop, main_first(main_url, standby_url)};
  while (calls_at(guarded, main_url) == 0) loop->block_on(ask(guarded, 1));  // until it is connected
  const std::uint64_t at_standby = calls_at(guarded, standby_url);
  for (int article = 0; article < 10; ++article) loop->block_on(ask(guarded, article));
  std::printf("%llu of 10 calls went to the standby\n",
              static_cast<unsigned long long>(calls_at(guarded, standby_url) - at_standby));
  servers.front().reset();
  for (int article = 0; article < 10; ++article) loop->block_on(ask(guarded, article));
  std::printf("%llu of 20 did when the main server was gone\n",
              static_cast<unsigned long long>(calls_at(guarded, standby_url) - at_standby));
  int wrong = 0;
  for (int article = 0; article < 100; ++article) {
    if (loop->block_on(ask(fleet, article)) != article * 3) ++wrong;
  }
  std::printf("%d of 100 calls failed with a server gone\n", wrong);
  std::printf("%d, say two of three\n", loop->block_on(ask_two(fleet, 14)));
  return wrong == 0 ? 0 : 1;
}
