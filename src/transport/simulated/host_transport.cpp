// SPDX-License-Identifier: Apache-2.0
#include "transport/simulated/host_transport.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>

#include "transport/simulated/simulated_carrier.hpp"
#include "transport/simulated/simulated_listener.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/sleep.hpp"

namespace weft::detail::simulated {

namespace {

/// The first wait of a system whose packet to connect was not answered; it doubles.
constexpr Duration kConnectRetry = std::chrono::seconds{1};

Status refused(const Url& url) {
  return {StatusCode::kUnavailable, Layer::kTransport,
          "connect to " + url.to_string() + ": nobody listens there", ECONNREFUSED};
}

// Sleeps for `time` or until the deadline. Errors: to_status(reason) when that has come or at a cancel.
Task<Result<void>> pass(Loop* loop, Duration time, Deadline deadline) {
  const TimePoint end = std::min(saturated_sum(loop->now(), time), deadline.at());
  if (end > loop->now()) {
    const Result<void> slept = co_await sleep_until(end);
    if (!slept.ok()) co_return slept;
  }
  if (deadline.expired(loop->now())) co_return to_status(CancelReason::kDeadline);
  co_return {};
}

}  // namespace

Result<std::unique_ptr<Listener>> HostTransport::listen(Loop& loop, const Url& url) {
  WEFT_ASSERT(&loop == &network_->loop(), "servers of a SimulatedNetwork are on its loop");
  Place& place = network_->place(url.host);
  if (place.listener != nullptr) {
    return Status{StatusCode::kAlreadyExists, Layer::kTransport,
                  "listen on " + url.to_string() + ": somebody listens there", EADDRINUSE};
  }
  if (place.url.empty()) place.url = url.to_string();
  place.host = &host_;
  return std::unique_ptr<Listener>{std::make_unique<SimulatedListener>(network_, place, url)};
}

Task<Result<std::unique_ptr<Connection>>> HostTransport::connect(Loop& loop, Url url,
                                                                 ConnectOptions options) {
  WEFT_ASSERT(&loop == &network_->loop(), "clients of a SimulatedNetwork are on its loop");
  CancelScope* scope = co_await this_cancel_scope();
  if (scope != nullptr && scope->cancelled()) co_return to_status(scope->reason());
  if (options.deadline.expired(loop.now())) co_return to_status(CancelReason::kDeadline);
  network_->note(Trace::Event::kConnect, host_.index);
  Place* const place = network_->find_place(url.host);
  for (Duration retry = kConnectRetry;; retry *= 2) {
    const TimePoint began = loop.now();
    if (place == nullptr || place->host == nullptr) co_return refused(url);
    Host& there = *place->host;
    if (network_->passes(host_, there) && !network_->loses_packet(host_, there)) {
      const Duration way = network_->travel_time(host_, there);
      const Result<void> gone = co_await pass(&loop, way, options.deadline);
      if (!gone.ok()) co_return gone.status();
      const bool answered = network_->passes(host_, there) && network_->passes(there, host_) &&
                            !network_->loses_packet(there, host_);
      const Duration way_back = answered ? network_->travel_time(there, host_) : Duration::zero();
      if (answered && place->listener == nullptr) {
        ++network_->counters().connects_refused;
        network_->note(Trace::Event::kRefused, host_.index);
        const Result<void> back = co_await pass(&loop, way_back, options.deadline);
        if (!back.ok()) co_return back.status();
        co_return refused(url);
      }
      if (answered && !place->listener->is_full()) {
        auto circuit = std::make_shared<Circuit>(network_, host_, there, place->url);
        auto connection = std::make_unique<Connection>(
            loop, options.connection, std::make_unique<SimulatedCarrier>(circuit, End::kClient));
        place->listener->offer(std::move(circuit));
        const Result<void> back = co_await pass(&loop, way_back, options.deadline);
        if (!back.ok()) co_return back.status();
        co_return connection;
      }
    }
    const Result<void> waited = co_await pass(&loop, retry - (loop.now() - began), options.deadline);
    if (!waited.ok()) co_return waited.status();
  }
}

}  // namespace weft::detail::simulated
