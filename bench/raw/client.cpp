// SPDX-License-Identifier: Apache-2.0
#include "raw/client.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "load/cpu.hpp"
#include "load/meter.hpp"
#include "load/payload.hpp"
#include "load/schedule.hpp"
#include "raw/client_connection.hpp"
#include "raw/poller.hpp"
#include "raw/socket.hpp"
#include "raw/wire.hpp"

namespace weft::raw {
namespace {

/// Interval at which the loop looks at the clock when no answer comes.
constexpr long kTickNs = 20'000'000;
/// Time that the last answers may take after the end.
constexpr std::int64_t kDrainNs = 5'000'000'000;

class Client {
 public:
  explicit Client(const load::ClientOptions& options) : options_(options), poller_(options.mode) {}

  Status open();
  Result<load::Report> measure();

 private:
  Status open_connection(std::uint64_t id, const Hello& hello);
  Status start_ticking();
  void start_closed(ClientConnection& connection);
  void start_due(std::int64_t now_ns);
  void turn(std::int64_t limit_ns, bool may_start);
  void serve(ClientConnection& connection, std::uint32_t events, bool may_start);
  void update_interest(ClientConnection& connection);
  void drain();
  std::uint64_t in_flight() const;
  bool any_alive() const;

  load::ClientOptions options_;
  /// URL of tcp:// or unix://.
  std::string url_;
  std::shared_ptr<TlsContext> tls_;
  std::vector<std::byte> pattern_;
  Poller poller_;
  Fd ticker_;
  Scratch scratch_;
  std::vector<std::unique_ptr<ClientConnection>> connections_;
  std::size_t next_connection_ = 0;
  std::optional<load::Meter> meter_;
  std::optional<load::Schedule> schedule_;
};

Status Client::open() {
  pattern_.resize(options_.size_bytes);
  load::fill_pattern(pattern_);
  url_ = options_.connect;
  if (strip_tls(url_)) {
    auto tls = TlsContext::of_client(options_.tls);
    if (!tls.ok()) return tls.status();
    tls_ = *std::move(tls);
  }
  const bool pushed = options_.streams != load::Streams::kNone;
  const Hello hello{options_.size_bytes, pushed ? kPushed : options_.asked_answer_bytes.value_or(kEcho)};
  for (std::uint64_t id = 0; id < options_.connections; ++id) {
    if (Status status = open_connection(id, hello); !status.ok()) return status;
  }
  return start_ticking();
}

Status Client::open_connection(std::uint64_t id, const Hello& hello) {
  auto fd = blocking_connect(url_, options_.congestion);
  if (!fd) return fd.status();
  Wire wire{std::move(fd).value()};
  if (tls_ != nullptr) {
    const std::string host = url_.substr(6, url_.rfind(':') - 6);
    Status status = wire.blocking_connect_tls(*tls_, options_.tls.insecure ? "" : host);
    if (!status.ok()) return status.with_context(options_.connect);
  }
  const auto bytes = encode_hello(hello);
  if (wire.send(Bytes{bytes}) != static_cast<ssize_t>(bytes.size())) {
    return {StatusCode::kUnavailable, Layer::kTransport, "the server closed a new connection at once"};
  }
  connections_.push_back(std::make_unique<ClientConnection>(std::move(wire), options_, pattern_, id));
  ClientConnection& connection = *connections_.back();
  connection.interest = EPOLLIN;
  poller_.add(connection.fd(), connection.interest, &connection);
  return {};
}

/// A timer of its own instead of a limit on each wait, which would cost every wait a timer.
Status Client::start_ticking() {
  ticker_ = Fd{timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)};
  if (!ticker_) return weft::detail::errno_status(Layer::kTransport, "make a timer", errno);
  const itimerspec every{{0, kTickNs}, {0, kTickNs}};
  timerfd_settime(ticker_.get(), 0, &every, nullptr);
  poller_.add(ticker_.get(), EPOLLIN, nullptr);
  return {};
}

Result<load::Report> Client::measure() {
  const std::int64_t start_ns = load::now_ns();
  meter_.emplace(options_, start_ns);
  if (options_.rate > 0) {
    schedule_.emplace(options_.rate, start_ns);
  } else {
    for (auto& connection : connections_) start_closed(*connection);
  }
  std::int64_t now_ns = start_ns;
  while (meter_->tick(now_ns) && any_alive()) {
    std::int64_t limit_ns = Poller::kForever;
    if (schedule_) {
      start_due(now_ns);
      // With every slot taken only an answer can help, not the time.
      if (!schedule_->due(now_ns)) limit_ns = schedule_->next_ns() - now_ns;
    }
    turn(limit_ns, true);
    now_ns = load::now_ns();
  }
  if (!any_alive()) {
    return Status{StatusCode::kUnavailable, Layer::kTransport,
                  "the server at " + options_.connect +
                      " closed every connection; is it a `weft raw server` of this version?"};
  }
  drain();
  return meter_->report();
}

void Client::drain() {
  while (schedule_ && schedule_->next_ns() < meter_->end_ns()) meter_->never_started(schedule_->take());
  const std::int64_t give_up_ns = load::now_ns() + kDrainNs;
  while (in_flight() > 0 && load::now_ns() < give_up_ns) turn(Poller::kForever, false);
  meter_->fail(in_flight());
}

void Client::start_closed(ClientConnection& connection) {
  const std::int64_t now_ns = load::now_ns();
  for (unsigned left = connection.free_slots(); left > 0; --left) connection.start(now_ns, scratch_);
  connection.finish(scratch_);
  update_interest(connection);
}

/// Starts what is due, spread over the connections that have a slot free.
void Client::start_due(std::int64_t now_ns) {
  for (std::size_t tried = 0; tried < connections_.size() && schedule_->due(now_ns); ++tried) {
    ClientConnection& connection = *connections_[next_connection_++ % connections_.size()];
    unsigned share = std::min(connection.free_slots(), schedule_->due_count(now_ns, connections_.size()));
    if (share == 0) continue;
    for (; share > 0; --share) connection.start(schedule_->take(), scratch_);
    connection.finish(scratch_);
    update_interest(connection);
  }
}

void Client::turn(std::int64_t limit_ns, bool may_start) {
  for (const epoll_event& event : poller_.wait(limit_ns)) {
    if (event.data.ptr == nullptr) {
      std::uint64_t ticks = 0;
      [[maybe_unused]] const auto got = read(ticker_.get(), &ticks, sizeof ticks);
    } else {
      serve(*static_cast<ClientConnection*>(event.data.ptr), event.events, may_start);
    }
  }
}

void Client::serve(ClientConnection& connection, std::uint32_t events, bool may_start) {
  if ((events & EPOLLOUT) != 0) connection.flush();
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) connection.receive(scratch_, *meter_);
  if (!connection.alive()) {
    meter_->fail(connection.in_flight());
    connection.abandon();
    poller_.remove(connection.fd());
    return;
  }
  if (may_start && !schedule_ && connection.free_slots() > 0) {
    start_closed(connection);
  } else {
    update_interest(connection);
  }
}

void Client::update_interest(ClientConnection& connection) {
  const std::uint32_t wanted = EPOLLIN | (connection.wants_write() ? std::uint32_t{EPOLLOUT} : 0U);
  if (wanted == connection.interest) return;
  connection.interest = wanted;
  poller_.modify(connection.fd(), wanted, &connection);
}

std::uint64_t Client::in_flight() const {
  std::uint64_t calls = 0;
  for (const auto& connection : connections_) calls += connection->in_flight();
  return calls;
}

bool Client::any_alive() const {
  return std::ranges::any_of(connections_, [](const auto& connection) { return connection->alive(); });
}

}  // namespace

Result<load::Report> blocking_measure(const load::ClientOptions& options) {
  if (Status status = load::pin_this_thread(options.cpus, 0); !status.ok()) return status;
  Client client{options};
  if (Status status = client.open(); !status.ok()) return status;
  return client.measure();
}

}  // namespace weft::raw
