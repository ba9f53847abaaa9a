// SPDX-License-Identifier: Apache-2.0
#include "info/probe.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "info/carrier_facts.hpp"
#include "load/carrier_options.hpp"
#include "weft/detail/calls/terms/limits.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/wire/hello.hpp"
#include "weft/weft.hpp"

namespace weft::info {
namespace {

/// Hears the peer's hello, which comes when the carrier is decided, or why there is none.
class HelloSink final : public detail::FrameSink {
 public:
  /// Says whether this side offers a carrier, known when it is connected.
  void offers_some(bool some) { offers_some_ = some; }
  Status on_hello(const detail::wire::Hello& hello) override {
    hello_ = hello;
    heard_.set();
    // As a client of rpc does.
    if (!offers_some_) end_ = detail::refuse_demands(hello_.carriers);
    return {};
  }
  Status on_frames(std::span<const detail::Frame>, const detail::ChunkRef&) override { return {}; }
  detail::Landing on_attachment(const detail::Frame&) override { return detail::Landing::skip(); }
  Status on_attachment_end(const detail::Frame&, const detail::ChunkRef&, bool) override { return {}; }
  void on_drained() override {}
  void on_closed(Status why) override {
    if (heard_.is_set()) return;
    end_ = why.ok() ? Status{StatusCode::kUnavailable, Layer::kTransport, "the server ended the connection"}
                    : std::move(why);
    heard_.set();
  }

  Event& heard() { return heard_; }
  const detail::wire::Hello& hello() const { return hello_; }
  const Status& end() const { return end_; }

 private:
  bool offers_some_ = false;
  Event heard_;
  detail::wire::Hello hello_;
  Status end_;
};

Status say_hello(detail::Connection& connection) {
  const RpcLimits limits;
  detail::wire::Hello hello;
  hello.features_supported = detail::wire::Features::kAll;
  hello.body_bytes_max = limits.body_bytes_max;
  hello.attachment_bytes_max = limits.attachment_bytes_max;
  hello.calls_in_flight_max = limits.calls_in_flight_max;
  hello.carriers = connection.carrier_offers();
  const std::string bytes = detail::wire::encode_hello(hello);
  std::byte* const room = connection.outbox().append(bytes.size());
  if (room == nullptr) return {StatusCode::kResourceExhausted, Layer::kTransport, "out of memory"};
  std::copy_n(as_bytes(bytes).begin(), bytes.size(), room);
  return {};
}

CarrierPolicy policy_in(const std::vector<detail::wire::CarrierOffer>& offers,
                        detail::wire::CarrierKind kind) {
  for (const detail::wire::CarrierOffer& offer : offers) {
    if (offer.kind == kind) return detail::policy_of(offer);
  }
  return CarrierPolicy::kForbid;
}

bool is_loopback(const detail::Url& url) {
  return url.host.starts_with("127.") || url.host == "::1";
}

bool is_same_host(const std::string& local, const std::string& remote) {
  const auto ours = detail::Url::parse(local);
  const auto theirs = detail::Url::parse(remote);
  if (!ours.ok() || !theirs.ok()) return false;
  return theirs->scheme == "unix" || ours->host == theirs->host ||
         (is_loopback(*ours) && is_loopback(*theirs));
}

Probe describe(const detail::Connection& connection, const HelloSink& sink, detail::wire::CarrierKind kind) {
  Probe probe;
  probe.asked = kind;
  probe.local = connection.local_endpoint();
  probe.remote = connection.remote_endpoint();
  probe.carrier = connection.capabilities().name;
  probe.ours = policy_in(connection.carrier_offers(), kind);
  probe.theirs = policy_in(sink.hello().carriers, kind);
  probe.same_host = is_same_host(probe.local, probe.remote);
  CarrierReport report = connection.carrier_report();
  probe.description = std::move(report.description);
  probe.refusal = std::move(report.reason);
  probe.passed_over = std::move(report.passed_over);
  return probe;
}

Task<Result<Probe>> probe(detail::Transport& transport, Loop& loop, detail::Url url,
                          detail::wire::CarrierKind kind, Deadline deadline) {
  const TimePoint begin = loop.clock().now();
  HelloSink sink;
  detail::ConnectOptions options{.deadline = deadline};
  auto connecting = transport.connect(loop, url, std::move(options));
  auto connection = co_await std::move(connecting);
  if (!connection.ok()) co_return std::move(connection).status();
  sink.offers_some(!(*connection)->carrier_offers().empty());
  (*connection)->start(sink);
  if (Status said = say_hello(**connection); !said.ok()) co_return said;
  const Result<void> heard = co_await sink.heard().wait();
  if (!heard.ok()) co_return heard.status().with_context("waiting for the server's hello and a carrier");
  if (!sink.end().ok()) co_return sink.end();
  Probe made = describe(**connection, sink, kind);
  made.milliseconds = std::chrono::duration<double, std::milli>(loop.clock().now() - begin).count();
  co_return made;
}

Task<Result<Probe>> probe_in_time(detail::Transport& transport, Loop& loop, detail::Url url,
                                  detail::wire::CarrierKind kind, Duration at_most) {
  const Deadline deadline = Deadline::after(loop.now(), at_most);
  auto probing = probe(transport, loop, std::move(url), kind, deadline);
  co_return co_await with_deadline(deadline, std::move(probing));
}

}  // namespace

Result<Probe> blocking_probe(const Options& options) {
  const auto url = detail::Url::parse(options.connect);
  if (!url.ok()) return url.status();
  const Carriers carriers = all_carriers();
  TransportOptions transport_options;
  for (const auto& carrier : carriers) carrier->configure(options, transport_options);
  transport_options.tls = load::tls_options(options.tls);
  transport_options.beside_tls = load::carriers_beside_tls(options.tls);
  const Transports transports = make_transports(transport_options);
  const auto transport = transports.find(*url);
  if (!transport.ok()) return transport.status();
  auto loop = Loop::create();
  if (!loop.ok()) return std::move(loop).status();
  const auto at_most = std::chrono::duration_cast<Duration>(std::chrono::duration<double>{options.seconds});
  const detail::wire::CarrierKind asked = asked_carrier(carriers, options).names().kind;
  return (*loop)->block_on(probe_in_time(**transport, **loop, *url, asked, at_most));
}

}  // namespace weft::info
