// SPDX-License-Identifier: Apache-2.0
#include "fleet/fleet.hpp"

#include <algorithm>
#include <utility>

namespace weft::fleet {

namespace {

SimulatedNetworkOptions network_options(const Plan& plan) {
  SimulatedNetworkOptions options;
  options.seed = plan.seed;
  options.outgoing = options.incoming = plan.link;
  return options;
}

}  // namespace

Fleet::Fleet(const Plan& plan)
    : plan_(plan),
      begun_at_(clock_.now()),
      loop_(Loop::create({.clock = &clock_, .seed = plan.seed}).value()),
      network_(*loop_, network_options(plan)),
      random_(plan.seed),
      succeeded_(plan.servers) {
  for (std::size_t i = 0; i < plan.servers; ++i) {
    SimulatedHost host = network_.host("server" + std::to_string(i));
    stations_.emplace_back(*loop_, plan_, std::move(host), executions_, logger_).serve();
  }
  ClientOptions options;
  options.call_timeout = plan.call_timeout;
  options.connect_timeout = plan.connect_timeout;
  options.limits.ping_interval = plan.ping_interval;
  options.logger = &logger_;
  for (std::size_t i = 0; i < plan.clients; ++i) {
    client_hosts_.push_back(network_.host("client" + std::to_string(i)));
    Transports transports;
    transports.add(client_hosts_.back().transport());
    options.connect = stations_[i % plan.servers].url();
    clients_.push_back(std::make_unique<Client>(*loop_, options, std::move(transports)));
  }
}

Fleet::~Fleet() {
  if (calls_ != nullptr) finish();
}

void Fleet::call_on() {
  loop_->post([this] {
    for (std::size_t i = 0; i < clients_.size(); ++i) calls_->spawn(&Fleet::call_again_and_again, this, i);
  });
}

Duration Fleet::thinking_time() {
  const double mean = std::chrono::duration<double, std::nano>(plan_.think).count();
  std::exponential_distribution<double> distribution{1.0 / std::max(mean, 1.0)};
  return Duration{static_cast<Duration::rep>(distribution(random_))};
}

Task<void> Fleet::call_again_and_again(Fleet* fleet, std::size_t index) {
  Client& client = *fleet->clients_[index];
  const std::size_t station = index % fleet->stations_.size();
  for (;;) {
    const Result<void> slept = co_await sleep_for(fleet->thinking_time());
    if (!slept.ok()) co_return;
    const std::uint64_t number = fleet->totals_.started++;
    const TimePoint began = fleet->clock_.now();
    if (fleet->plan_.work > Duration::zero()) {
      const Result<std::uint64_t> result = co_await client.call<&Station::work>(number);
      fleet->note(station, number, began, result);
    } else {
      const Result<std::uint64_t> result = co_await client.call<&Station::answer>(number);
      fleet->note(station, number, began, result);
    }
  }
}

void Fleet::note(std::size_t station, std::uint64_t number, TimePoint began,
                 const Result<std::uint64_t>& result) {
  ++totals_.ended;
  const Duration took = clock_.now() - began;
  totals_.lateness_max = std::max(totals_.lateness_max, took - plan_.call_timeout);
  const unsigned ran = executions_.times(number);
  if (ran > 1) ++totals_.wrong;
  if (result.ok()) {
    ++totals_.succeeded;
    ++succeeded_[station];
    latencies_.record(static_cast<std::uint64_t>(took / 1us));
    if (*result != number || ran != 1) ++totals_.wrong;
    return;
  }
  switch (result.status().code()) {
    case StatusCode::kUnavailable:
      ++totals_.unavailable;
      break;
    case StatusCode::kDeadlineExceeded:
      ++totals_.deadline_exceeded;
      break;
    case StatusCode::kResourceExhausted:
      ++totals_.refused;
      break;
    default:
      ++totals_.other;
      break;
  }
  if (result.status().unprocessed() && ran != 0) ++totals_.wrong;
}

// To the next moment at which something happens, `end` at most. False when that is later.
bool Fleet::step(TimePoint end) {
  const auto next = loop_->next_timer();
  if (!next || *next > end) {
    clock_.set(std::max(clock_.now(), end));
    loop_->run_until_idle();
    return false;
  }
  clock_.set(std::max(clock_.now(), *next));
  loop_->run_until_idle();
  return true;
}

void Fleet::pass(Duration time) {
  const TimePoint end = clock_.now() + time;
  loop_->run_until_idle();
  while (step(end)) {
  }
}

std::size_t Fleet::connected() const {
  return static_cast<std::size_t>(std::count_if(clients_.begin(), clients_.end(),
                                                [](const auto& client) { return client->connected(); }));
}

std::string Fleet::finish() {
  std::string wrong;
  const auto expect = [&](bool holds, std::string what) {
    if (!holds) wrong += std::move(what) + "\n";
  };
  calls_->cancel(CancelReason::kRequested);
  loop_->run_until_idle();
  expect(calls_->count() == 0, std::to_string(calls_->count()) + " calls outlived their cancel");
  expect(totals_.started == totals_.ended, "calls: " + std::to_string(totals_.started) + " began and " +
                                               std::to_string(totals_.ended) + " ended");
  expect(totals_.wrong == 0,
         std::to_string(totals_.wrong) +
             " calls ran twice, succeeded without having run, or ran and are called unprocessed");
  expect(totals_.lateness_max <= Duration::zero(),
         "a call ended " + std::to_string(totals_.lateness_max / 1us) + " us after its deadline");
  ClientStats clients;
  for (const auto& client : clients_) {
    client->close();
    const ClientStats stats = client->stats();
    clients.calls += stats.calls;
    clients.calls_in_flight += stats.calls_in_flight + stats.calls_waiting;
  }
  expect(clients.calls_in_flight == 0,
         std::to_string(clients.calls_in_flight) + " calls are still in flight");
  pass(1s);
  for (const auto& client : clients_) clients.traffic += client->stats().traffic;
  clients_.clear();
  for (Station& station : stations_) {
    station.host().resume();
    if (!station.stopped()) station.stop(1s);
  }
  pass(5s);
  ServerStats servers;
  for (Station& station : stations_) {
    const ServerStats stats = station.stats();
    servers.connections += stats.connections;
    servers.calls_running += stats.calls_running;
    servers.calls += stats.calls;
    expect(station.stopped(), station.url() + " has not stopped");
    station.clear();
    servers.traffic += station.stats().traffic;
  }
  expect(servers.connections == 0, std::to_string(servers.connections) + " connections of servers are left");
  expect(servers.calls_running == 0, std::to_string(servers.calls_running) + " handlers still run");
  const std::uint64_t bytes = clients.traffic.bytes_sent + servers.traffic.bytes_sent;
  expect(bytes == network_.stats().bytes, "bytes: clients and servers sent " + std::to_string(bytes) +
                                              ", the network took " + std::to_string(network_.stats().bytes));
  expect(executions_.total() <= servers.calls && servers.calls <= clients.calls,
         "calls: " + std::to_string(executions_.total()) + " ran, servers took " +
             std::to_string(servers.calls) + ", clients queued " + std::to_string(clients.calls));
  wrong += left_over();
  calls_.reset();
  return wrong;
}

std::string Fleet::left_over() {
  std::string left;
  pass(1h);  // for the last packets of those who have died
  const SimulatedNetworkStats network = network_.stats();
  if (network.connections_open != 0)
    left += std::to_string(network.connections_open) + " connections are open\n";
  if (loop_->timers_armed() != 0) left += std::to_string(loop_->timers_armed()) + " timers are armed\n";
  if (loop_->chunks().chunks_out() != 0) {
    left += std::to_string(loop_->chunks().chunks_out()) + " chunks are not back\n";
  }
  return left;
}

}  // namespace weft::fleet
