// SPDX-License-Identifier: Apache-2.0
#include "calls/server/server_shard.hpp"

#include <new>
#include <string>
#include <utility>

#include "calls/gate/method_table.hpp"
#include "calls/terms/fault_log.hpp"
#include "weft/detail/base/log_lines.hpp"

namespace weft::detail {

namespace {

/// Time after the forced end at which a handler that still runs is named in the log, again and again.
constexpr Duration kHeldCallReport = std::chrono::seconds{5};
/// The same for the first time: handlers that obey their cancel have ended by then.
constexpr Duration kFirstHeldCallReport = std::chrono::seconds{1};

/// The two sides could not agree on TLS, or on a carrier. Either of them may be configured wrongly, so the
/// operator must see it; and any client can cause it at any rate, so it goes through the log of faults.
bool is_disagreement(const Status& why) {
  return why.layer() == Layer::kTransport &&
         (why.code() == StatusCode::kUnauthenticated || why.code() == StatusCode::kFailedPrecondition);
}

void note_disagreement(FaultLog& log, Session& session, const Status& why) noexcept {
  try {
    log.note(session.connection().remote_endpoint(), why.to_string(), 1, session.loop().now());
  } catch (const std::bad_alloc&) {
    // The log does without.
  }
}

}  // namespace

ServerShard::ServerShard(const Setup& setup)
    : setup_(setup),
      holds_(setup.loop, setup.logger, setup.methods, host_.calls),
      place_(std::make_shared<PeerPlace>(setup.loop, sessions_, setup.memory)) {
  host_.methods = &setup.methods;
  host_.calls = MethodCounts{setup.methods.entries().size()};
  host_.workers = setup.workers;
  host_.memory.emplace(setup.memory);
  host_.faults = &setup.faults;
  host_.peers = place_->index();
  host_.peer_call_timeout = setup.options.peer_call_timeout;
  setup.peers.add(place_);
  host_.on_idle = [this] { reap(); };
}

ServerShard::~ServerShard() {
  WEFT_ASSERT(sessions_.empty() && host_.running.get() == 0, "a shard is stopped before it is destroyed");
  place_->close();
}

void ServerShard::adopt(std::unique_ptr<Incoming> incoming) noexcept {
  if (setup_.options.loop_held_from != kNoTimeout) holds_.watch(setup_.options.loop_held_from);
  try {
    begin_session(*incoming);
  } catch (const std::bad_alloc&) {
    setup_.connections.fetch_sub(1, std::memory_order_relaxed);
    write_line(setup_.logger, LogLevel::kWarning, [] { return "a new connection: out of memory"; });
  }
}

// Throws std::bad_alloc before there is a session; afterwards the session pays.
void ServerShard::begin_session(Incoming& incoming) {
  auto connection = incoming.adopt(setup_.loop, connection_options(setup_.options.limits));
  if (!connection.ok() || stopping_) {
    setup_.connections.fetch_sub(1, std::memory_order_relaxed);
    if (!connection.ok()) {
      write_line(setup_.logger, LogLevel::kWarning,
                 [&] { return "a new connection: " + connection.status().to_string(); });
    }
    return;
  }
  const RpcLimits& limits = setup_.options.limits;
  SessionSetup setup{
      setup_.loop, *this, limits, host_, setup_.logger, limits.hello_timeout, setup_.options.checksums};
  setup.ends_in_slices = true;
  const std::uint64_t id = setup_.next_connection_id.fetch_add(1, std::memory_order_relaxed);
  Session& session = sessions_.add(std::make_unique<Session>(setup, std::move(*connection), id));
  session.start();
}

void ServerShard::on_session_ready(Session& session) {
  place_->joined(session);
  if (setup_.peers.connected()) tell(setup_.peers.connected(), session);
  if (stopping_) session.send_goaway("the server stops");
}

void ServerShard::tell(PeerVisit& hook, Session& session) noexcept {
  try {
    hook(session.peer_target());
  } catch (...) {
    session.close(status_of_exception("a hook for peers"));
  }
}

void ServerShard::on_session_goaway(Session& session) {
  on_session_room(session);
}

void ServerShard::on_session_room(Session& session) {
  session.seat().on_room();
}

void ServerShard::on_session_closed(Session& session, const Status& why) {
  setup_.connections.fetch_sub(1, std::memory_order_relaxed);
  if (session.seat().is_counted()) {
    place_->left(session);
    if (setup_.peers.gone()) tell(setup_.peers.gone(), session);
  }
  graveyard_.take_over(session);
  reap();
  log_end(session, why);
}

void ServerShard::log_end(Session& session, const Status& why) noexcept {
  const bool common = why.code() == StatusCode::kUnavailable || why.code() == StatusCode::kCancelled;
  if (is_disagreement(why)) return note_disagreement(setup_.faults, session, why);
  if (common || breach_of(why)) return;
  write_line(setup_.logger, LogLevel::kInfo, [&] {
    return "connection of " + session.connection().remote_endpoint() + " closed: " + why.to_string();
  });
}

void ServerShard::reap() {
  if (!reaper_.is_scheduled()) setup_.loop.schedule(reaper_);
}

void ServerShard::destroy_ended() {
  if (!graveyard_.clear_some()) setup_.loop.turn_time().put_off(reaper_);
  check_stopped();
}

void ServerShard::stop(Duration grace, UniqueFunction<void()> stopped) {
  const TimePoint grace_ends = Deadline::after(setup_.loop.now(), grace).at();
  if (stopping_) return shorten_grace(grace_ends);
  stopped_ = std::move(stopped);
  stopping_ = true;
  sessions_.for_each([](Session& session) { session.send_goaway("the server stops"); });
  grace_ends_ = grace_ends;
  setup_.loop.arm(*this, grace_ends_);
  reap();
}

void ServerShard::shorten_grace(TimePoint ends) {
  if (!stopped_ || forced_ || ends >= grace_ends_) return;
  grace_ends_ = ends;
  setup_.loop.arm(*this, grace_ends_);
}

void ServerShard::on_timer() {
  setup_.loop.arm(*this, setup_.loop.now() + (forced_ ? kHeldCallReport : kFirstHeldCallReport));
  if (forced_) {
    report_held_calls();
  } else {
    end_by_force();
  }
}

void ServerShard::end_by_force() {
  forced_ = true;
  sessions_.for_each([](Session& session) {
    session.close_with_goaway(
        {StatusCode::kCancelled, Layer::kRpc, "the server stops and its grace is over"});
  });
}

// The logger may drop a Reply, and so end calls of the list.
void ServerShard::report_held_calls() {
  LogLines lines;
  host_.orphans.for_each([&lines](ServedCall& call) {
    lines.add(LogLevel::kWarning, [&] {
      return "the server waits for a handler of '" + std::string{call.method().key.name} +
             "' to end, or for its Reply to be used or dropped";
    });
  });
  lines.write_to(setup_.logger);
}

void ServerShard::check_stopped() {
  if (!stopping_ || !sessions_.empty() || host_.running.get() != 0 || !graveyard_.empty()) return;
  setup_.loop.disarm(*this);
  if (stopped_) std::exchange(stopped_, {})();
}

void ServerShard::count(ServerStats& stats) const {
  stats.calls += host_.calls.taken();
  stats.calls_running += host_.running.get();
  stats.frames_skipped += host_.frames_skipped.get();
  stats.pieces_skipped += host_.pieces_skipped.get();
  stats.loops_held += holds_.count();
  stats.traffic += host_.traffic.sum();
  for (std::size_t index = 0; index < kRefusalReasons; ++index) {
    const auto reason = static_cast<RefusalReason>(index);
    const std::uint64_t count = host_.refusals.get(reason);
    stats.refused[reason] += count;
    (ends_connection(reason) ? stats.protocol_errors : stats.calls_refused) += count;
  }
  const std::vector<MethodEntry>& methods = setup_.methods.entries();
  for (std::size_t i = 0; i < methods.size(); ++i) host_.calls.add_to(stats.methods[i], methods[i]);
}

}  // namespace weft::detail
