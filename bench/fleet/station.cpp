// SPDX-License-Identifier: Apache-2.0
#include "fleet/station.hpp"

#include <utility>

namespace weft::fleet {

namespace {

// However the handler ends.
struct GiveBack {
  explicit GiveBack(Semaphore& of) : workers(of) {}
  GiveBack(const GiveBack&) = delete;
  GiveBack& operator=(const GiveBack&) = delete;
  ~GiveBack() { workers.release(); }
  Semaphore& workers;
};

}  // namespace

Station::Station(Loop& loop, const Plan& plan, SimulatedHost host, Executions& executions, Logger& logger)
    : loop_(loop),
      plan_(plan),
      host_(std::move(host)),
      executions_(executions),
      logger_(logger),
      url_("memory://" + host_.name()),
      workers_(plan.workers) {
  transports_.add(host_.transport());
}

Task<std::uint64_t> Station::work(std::uint64_t number) {
  executions_.ran(number);
  const Result<void> mine = co_await workers_.acquire();
  if (!mine.ok()) co_return number;
  const GiveBack give_back{workers_};
  [[maybe_unused]] const Result<void> slept = co_await sleep_for(plan_.work);
  co_return number;
}

std::uint64_t Station::answer(std::uint64_t number) {
  executions_.ran(number);
  return number;
}

void Station::serve() {
  ServerOptions options;
  options.listen = {url_};
  options.threads = 0;
  options.loop = &loop_;
  options.calls_running_max = plan_.calls_running_max;
  options.limits.ping_interval = plan_.ping_interval;
  options.logger = &logger_;
  server_ = std::make_unique<Server>(std::move(options), transports_);
  server_->register_handler<&Station::work>(this);
  server_->register_handler<&Station::answer>(this);
  server_->start().value();
}

void Station::crash() {
  host_.crash();
  clear();
}

void Station::power_off() {
  host_.power_off();
  clear();
}

void Station::clear() {
  if (server_ == nullptr) return;
  before_ = stats();
  server_.reset();
}

ServerStats Station::stats() const {
  ServerStats sum = server_ != nullptr ? server_->stats() : ServerStats{};
  sum.connections_accepted += before_.connections_accepted;
  sum.calls += before_.calls;
  sum.calls_refused += before_.calls_refused;
  sum.traffic += before_.traffic;
  return sum;
}

}  // namespace weft::fleet
