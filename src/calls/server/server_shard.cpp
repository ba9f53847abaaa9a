// SPDX-License-Identifier: Apache-2.0
#include "calls/server/server_shard.hpp"

#include <algorithm>
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

template <typename T, typename Tag>
void move_to(IntrusiveList<T, Tag>& list, T& element) noexcept {
  static_cast<ListHook<Tag>&>(element).unlink();
  list.push_back(element);
}

template <typename List>
void delete_all(List& list) noexcept {
  while (!list.empty()) delete &list.pop_front();
}

}  // namespace

ServerShard::ServerShard(const Setup& setup)
    : setup_(setup),
      holds_(setup.loop, setup.logger, setup.methods, host_.calls),
      protocol_states_(setup.options.protocols.size()),
      place_(std::make_shared<PeerPlace>(setup.loop, sessions_, setup.memory)) {
  host_.methods = &setup.methods;
  host_.calls = MethodCounts{setup.methods.entries().size()};
  if (setup.options.call_times) {
    host_.times = std::make_unique<CallTimes>(setup.loop, setup.options.slow_call_from);
  }
  host_.workers = setup.workers;
  host_.memory.emplace(setup.memory);
  host_.faults = &setup.faults;
  host_.peers = place_->index();
  host_.peer_call_timeout = setup.options.peer_call_timeout;
  setup.peers.add(place_);
  host_.on_idle = [this] { reap(); };
}

ServerShard::~ServerShard() {
  WEFT_ASSERT(!has_connections() && host_.running.get() == 0, "a shard is stopped before it is destroyed");
  delete_all(decided_);
  delete_all(ended_others_);
  place_->close();
}

void ServerShard::adopt(std::unique_ptr<Incoming> incoming) noexcept {
  setup_.loop.turn_time().count_busy();
  if (setup_.options.loop_held_from != kNoTimeout) holds_.watch(setup_.options.loop_held_from);
  try {
    begin(*incoming);
  } catch (const std::bad_alloc&) {
    lost_before_begin(Status::of<kOutOfMemory>());
  }
}

void ServerShard::lost_before_begin(const Status& why) noexcept {
  setup_.connections.fetch_sub(1, std::memory_order_relaxed);
  if (why.ok()) return;
  write_line(setup_.logger, LogLevel::kWarning, [&] { return "a new connection: " + why.to_string(); });
}

// Throws std::bad_alloc before the connection has an owner; afterwards the owner reports its end.
void ServerShard::begin(Incoming& incoming) {
  ConnectionOptions options = connection_options(setup_.options.limits);
  Result<std::unique_ptr<BaseCarrier>> carrier = incoming.adopt(setup_.loop, options);
  if (!carrier.ok() || stopping_) return lost_before_begin(carrier.ok() ? Status{} : carrier.status());
  const auto& protocols = setup_.options.protocols;
  if (protocols.empty()) return begin_session(*std::move(carrier), options, {});
  undecided_.push_back(*new FirstBytes(setup_.loop, *this, protocols, *std::move(carrier), std::move(options),
                                       setup_.options.limits.hello_timeout));
}

void ServerShard::on_protocol(FirstBytes& first, const Protocol* protocol) {
  move_to(decided_, first);
  reap();
  try {
    if (protocol == nullptr) return begin_session(first.take_carrier(), first.options(), first.received());
    begin_other(*protocol, first.take_carrier(), first.received());
  } catch (const std::bad_alloc&) {
    lost_before_begin(Status::of<kOutOfMemory>());
  }
}

void ServerShard::on_no_protocol(FirstBytes& first, const Status& why) {
  move_to(decided_, first);
  setup_.connections.fetch_sub(1, std::memory_order_relaxed);
  reap();
  log_end([&first] { return first.remote_endpoint(); }, why);
}

void ServerShard::begin_other(const Protocol& protocol, std::unique_ptr<BaseCarrier> carrier,
                              Bytes received) {
  const std::uint64_t id = setup_.next_connection_id.fetch_add(1, std::memory_order_relaxed);
  const auto& protocols = setup_.options.protocols;
  const auto place = std::find_if(protocols.begin(), protocols.end(),
                                  [&protocol](const auto& each) { return each.get() == &protocol; });
  const ServedConnectionSetup setup{setup_.loop,
                                    *this,
                                    host_,
                                    setup_.options.limits,
                                    setup_.logger,
                                    id,
                                    protocol_states_[static_cast<std::size_t>(place - protocols.begin())],
                                    setup_.server};
  ServedConnection& connection = *protocol.make(setup, std::move(carrier)).release();
  others_.push_back(connection);
  host_.traffic.join(connection);
  connection.start(received);
}

void ServerShard::on_connection_closed(ServedConnection& connection, const Status& why) {
  setup_.connections.fetch_sub(1, std::memory_order_relaxed);
  host_.traffic.leave(connection);
  move_to(ended_others_, connection);
  reap();
  log_end([&connection] { return connection.remote_endpoint(); }, why);
}

void ServerShard::begin_session(std::unique_ptr<BaseCarrier> carrier, const ConnectionOptions& options,
                                Bytes received) {
  const RpcLimits& limits = setup_.options.limits;
  SessionSetup setup{
      setup_.loop, *this, limits, host_, setup_.logger, limits.hello_timeout, setup_.options.checksums};
  setup.ends_in_slices = true;
  auto connection = std::make_unique<Connection>(setup_.loop, options, std::move(carrier));
  const std::uint64_t id = setup_.next_connection_id.fetch_add(1, std::memory_order_relaxed);
  Session& session = sessions_.add(std::make_unique<Session>(setup, std::move(connection), id));
  session.start(received);
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
  log_end([&session] { return session.connection().remote_endpoint(); }, why);
}

template <typename Endpoint>
void ServerShard::log_end(Endpoint endpoint, const Status& why) noexcept {
  if (is_disagreement(why)) {
    try {
      setup_.faults.note(endpoint(), why.to_string(), 1, setup_.loop.now());
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the log does without
    }
    return;
  }
  const bool common =
      why.ok() || why.code() == StatusCode::kUnavailable || why.code() == StatusCode::kCancelled;
  if (common || breach_of(why)) return;
  write_line(setup_.logger, LogLevel::kInfo,
             [&] { return "connection of " + endpoint() + " closed: " + why.to_string(); });
}

void ServerShard::reap() {
  if (!reaper_.is_scheduled()) setup_.loop.schedule(reaper_);
}

void ServerShard::drop_sessions() noexcept {
  sessions_.clear();
  graveyard_.clear();
  delete_all(undecided_);
  delete_all(decided_);
  delete_all(others_);
  delete_all(ended_others_);
}

bool ServerShard::has_connections() const noexcept {
  return !sessions_.empty() || !others_.empty() || !undecided_.empty();
}

void ServerShard::destroy_ended() {
  delete_all(decided_);
  delete_all(ended_others_);
  if (!graveyard_.clear_some()) setup_.loop.turn_time().put_off(reaper_);
  check_stopped();
}

void ServerShard::stop(Duration grace, UniqueFunction<void()> stopped) {
  const TimePoint grace_ends = Deadline::after(setup_.loop.now(), grace).at();
  if (stopping_) return shorten_grace(grace_ends);
  stopped_ = std::move(stopped);
  stopping_ = true;
  sessions_.for_each([](Session& session) { session.send_goaway("the server stops"); });
  others_.for_each([](ServedConnection& connection) { connection.drain(); });
  // These have not begun a call.
  while (!undecided_.empty()) {
    undecided_.front().abandon();
    decided_.push_back(undecided_.pop_front());
    setup_.connections.fetch_sub(1, std::memory_order_relaxed);
  }
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
  const Status why{StatusCode::kCancelled, Layer::kRpc, "the server stops and its grace is over"};
  sessions_.for_each([&why](Session& session) { session.close_with_goaway(why); });
  others_.for_each([&why](ServedConnection& connection) { connection.close(why); });
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
  if (!stopping_ || has_connections() || host_.running.get() != 0 || !graveyard_.empty()) return;
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
  host_.calls.add_none_to(stats.unknown);
  stats.loops.push_back(setup_.loop.stats());
}

void ServerShard::samples_to(ServedCallSamples& samples) const {
  if (host_.times == nullptr) return;
  const auto name = [this](std::vector<CallSample>& of, std::size_t from) {
    for (std::size_t i = from; i < of.size(); ++i) {
      const MethodEntry* const method = host_.calls.method_of(*of[i].method, setup_.methods.entries());
      of[i].method_name = method != nullptr ? method->key.name : std::string_view{};
      of[i].is_stream = method != nullptr && method->key.streams;
    }
  };
  const std::size_t slow = samples.slow.size();
  host_.times->samples().slow_to(samples.slow);
  name(samples.slow, slow);
  const std::size_t failed = samples.failed.size();
  host_.times->samples().failed_to(samples.failed);
  name(samples.failed, failed);
}

}  // namespace weft::detail
