// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/server/call_server.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <typeindex>
#include <utility>

#include "calls/gate/method_table.hpp"
#include "calls/gate/server_gate.hpp"
#include "calls/serve/call_workers.hpp"
#include "calls/server/check_options.hpp"
#include "calls/server/held_loops.hpp"
#include "calls/server/peer_place.hpp"
#include "calls/server/server_loops.hpp"
#include "calls/server/server_shard.hpp"
#include "calls/terms/fault_log.hpp"
#include "weft/detail/runtime/post_surely.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kStartedTwice{StatusCode::kFailedPrecondition, Layer::kRpc, Retry::kNever,
                                     "a server is started once; make another one"};

constexpr const char* kWaitsForItself =
    "a handler that waits for its own server's end, or destroys the server, would "
    "never end: call stop(), and wait where run() or start() was called";

/// Asks `accept` about a peer, and returns why the peer is refused; empty if it is admitted. An `accept` that
/// throws admits no one.
std::string_view refusal_by_accept(ServerOptions& options, const Incoming& incoming) noexcept {
  try {
    const bool welcome = !options.accept || options.accept(incoming.remote_endpoint());
    return welcome ? "" : "ServerOptions::accept returned false";
  } catch (const std::bad_alloc&) {
    return "there was no memory to ask ServerOptions::accept";
  } catch (...) {
    return "ServerOptions::accept threw an exception";
  }
}

}  // namespace

/// The parts of a running server. The first loop listens and distributes the peers over all loops.
///
///   kNew --start()--> kStarting --> kRunning --stop()--> kStopping --nothing is left--> kStopped
///     ^-- a failure ------'
///
/// A stop() in kNew or kStarting is stored in asked_ and executed at the end of start(). mutex_ guards asked_
/// and each step between phases, so that stop() is either stored or executed. In kStarting the code of
/// per_loop() runs, which may call the server.
///
/// left_ counts the remaining work: each shard until it is empty, and each request to stop until it has
/// arrived everywhere. So the shards exist while a request is on its way.
class CallServer::State final : private ServerView {
 public:
  State(ServerOptions options, Transports transports)
      : transports_(std::move(transports)),
        options_(std::move(options)),
        memory_(std::make_shared<MemoryBudget>(options_.limits.process_memory_max)) {}

  Result<void> start(PeerBoard& peers);
  void stop(Duration grace);
  void wait();
  bool stopped() const { return phase_.load(std::memory_order_acquire) == Phase::kStopped; }
  void end(bool in_child);
  ServerStats stats() const override;
  ServedCallSamples samples() const override;

  void add(const MethodEntry& entry, std::shared_ptr<void> owner) {
    WEFT_ASSERT(phase_ == Phase::kNew, "register handlers before start()");
    entries_.push_back(entry);
    if (owner != nullptr) owned_handlers_.push_back(std::move(owner));
  }
  void add_last(const MethodEntry& entry, std::shared_ptr<void> owner) {
    last_entries_.push_back(entry);
    owned_handlers_.push_back(std::move(owner));
  }
  const std::vector<MethodEntry>& entries() const { return entries_; }
  void add_loop_state(std::unique_ptr<LoopStateKind> kind) {
    WEFT_ASSERT(phase_ == Phase::kNew, "say per_loop() before start()");
    loops_.add_state(std::move(kind));
  }
  std::shared_ptr<void>& layer_state(const std::type_info& layer) { return parts_[layer]; }
  const std::vector<std::string>& urls() const { return urls_; }
  const ServerOptions& options() const { return options_; }
  Result<MemoryLease> register_memory(MutableBytes memory) const {
    return transports_.register_memory(options_.listen, memory);
  }

 private:
  bool is_draining() const noexcept override {
    const Phase phase = phase_.load(std::memory_order_relaxed);
    return phase == Phase::kStopping || phase == Phase::kStopped;
  }

  enum class Phase : int { kNew, kStarting, kRunning, kStopping, kStopped };

  Logger& log() const noexcept override { return logger(); }
  Logger& logger() const noexcept { return options_.logger != nullptr ? *options_.logger : stderr_logger(); }
  Result<void> make(PeerBoard& peers);
  Result<void> make_threads(PeerBoard& peers);
  Result<void> listen();
  Result<void> listen_on(const std::string& text);
  void on_incoming(std::unique_ptr<Incoming> incoming);
  std::string_view refusal(const Incoming& incoming) noexcept;
  void log_refusal(const Incoming& incoming, std::string_view why) noexcept;
  void deal_out(std::unique_ptr<Incoming> incoming);
  /// Begins phase `to`, if this is phase `from`.
  bool step(Phase from, Phase to);
  bool hold_open();
  void release();
  void stop_shards(Duration grace);
  void check_thread_is_not_its_own() const;
  void wait_for_end();
  void take_down();

  const Transports transports_;
  ServerOptions options_;
  std::shared_ptr<MemoryBudget> memory_;
  FaultLog faults_{logger()};
  std::vector<std::shared_ptr<void>> owned_handlers_;
  std::map<std::type_index, std::shared_ptr<void>> parts_;
  std::vector<MethodEntry> entries_;
  std::vector<MethodEntry> last_entries_;
  MethodTable methods_;
  std::unique_ptr<CallWorkers> workers_;
  ServerLoops loops_;
  std::vector<std::unique_ptr<ServerShard>> shards_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::string> urls_;
  std::size_t next_shard_ = 0;
  std::atomic<std::uint64_t> next_connection_id_ = 1;
  std::atomic<std::size_t> connections_ = 0;
  Counter accepted_;
  Counter refused_;
  std::atomic<std::size_t> left_ = 0;
  std::atomic<Phase> phase_ = Phase::kNew;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Duration> asked_;
};

Result<void> CallServer::State::start(PeerBoard& peers) {
  if (!step(Phase::kNew, Phase::kStarting)) return Status::of<kStartedTwice>();
  Result<void> made;
  try {
    made = make(peers);
  } catch (const std::bad_alloc&) {
    made = Status::of<kOutOfMemory>();
  }
  if (!made.ok()) {
    take_down();
    urls_.clear();
    step(Phase::kStarting, Phase::kNew);
    return made;
  }
  std::optional<Duration> grace;
  {
    const std::lock_guard lock(mutex_);
    grace = asked_;
  }
  if (grace) stop(*grace);
  return made;
}

Result<void> CallServer::State::make(PeerBoard& peers) {
  std::vector<MethodEntry> entries = entries_;
  entries.insert(entries.end(), last_entries_.begin(), last_entries_.end());
  Result<MethodTable> methods = MethodTable::build(std::move(entries), options_.calls_running_max);
  if (!methods.ok()) return std::move(methods).status();
  methods_ = std::move(*methods);
  if (const Status misuse = check_options(options_, methods_.has_blocking()); !misuse.ok()) return misuse;
  methods_.put_behind(std::make_shared<ServerGate>(GateOptions{.caller_rates = options_.caller_rates,
                                                               .adaptive_limit = options_.adaptive_limit,
                                                               .interceptors = options_.interceptors,
                                                               .authenticator = options_.authenticator,
                                                               .authorizer = options_.authorizer,
                                                               .loops = std::max(1u, options_.threads)}),
                      options_.call_times);
  Result<void> made = make_threads(peers);
  return made.ok() ? listen() : made;
}

Result<void> CallServer::State::make_threads(PeerBoard& peers) {
  if (methods_.has_blocking()) {
    auto workers =
        CallWorkers::start(options_.worker_threads, options_.worker_threads_max, options_.worker_queue_max);
    if (!workers.ok()) return std::move(workers).status();
    workers_ = std::move(*workers);
  }
  Result<void> started = loops_.start(options_);
  if (!started.ok()) return started;
  peers.forget_places();  // of a start that failed
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    const ServerShard::Setup setup{loops_[i], options_, methods_, workers_.get(),      memory_,
                                   logger(),  faults_,  peers,    next_connection_id_, connections_,
                                   *this};
    shards_.push_back(std::make_unique<ServerShard>(setup));
  }
  left_ = shards_.size();
  return loops_.make_states();
}

Result<void> CallServer::State::listen() {
  Result<void> outcome;
  loops_.run_on(0, [&] {
    try {
      for (const std::string& text : options_.listen) {
        outcome = listen_on(text);
        if (!outcome.ok()) return;
      }
    } catch (const std::bad_alloc&) {
      outcome = Status::of<kOutOfMemory>();
      return;
    }
    step(Phase::kStarting, Phase::kRunning);
    for (const auto& listener : listeners_) {
      listener->start([this](std::unique_ptr<Incoming> incoming) { on_incoming(std::move(incoming)); });
    }
  });
  return outcome;
}

bool CallServer::State::step(Phase from, Phase to) {
  const std::lock_guard lock(mutex_);
  if (phase_ != from) return false;
  phase_ = to;
  return true;
}

Result<void> CallServer::State::listen_on(const std::string& text) {
  Result<Url> url = Url::parse(text);
  if (!url.ok()) return std::move(url).status();
  Result<Transport*> transport = transports_.find(*url);
  if (!transport.ok()) return std::move(transport).status();
  auto listener = (*transport)->listen(loops_[0], *url);
  if (!listener.ok()) return std::move(listener).status();
  urls_.push_back((*listener)->local_url().to_string());
  listeners_.push_back(std::move(*listener));
  return {};
}

void CallServer::State::on_incoming(std::unique_ptr<Incoming> incoming) {
  if (const std::string_view why = refusal(*incoming); !why.empty()) {
    ++refused_;
    return log_refusal(*incoming, why);
  }
  connections_.fetch_add(1, std::memory_order_relaxed);
  ++accepted_;
  try {
    deal_out(std::move(incoming));
  } catch (const std::bad_alloc&) {  // on its way to another loop
    connections_.fetch_sub(1, std::memory_order_relaxed);
    write_line(logger(), LogLevel::kWarning, [] { return "a new connection: out of memory"; });
  }
}

// Returns why a peer is refused; empty if it is admitted.
std::string_view CallServer::State::refusal(const Incoming& incoming) noexcept {
  if (connections_.load(std::memory_order_relaxed) >= options_.connections_max) {
    return "as many are open as ServerOptions::connections_max allows";
  }
  return refusal_by_accept(options_, incoming);
}

// Peers can cause refusals at any rate, so they go through the log of faults.
void CallServer::State::log_refusal(const Incoming& incoming, std::string_view why) noexcept {
  try {
    faults_.note(incoming.remote_endpoint(), "refused the connection: " + std::string{why}, 1,
                 loops_[0].now());
  } catch (const std::bad_alloc&) {
    // The log does without.
  }
}

void CallServer::State::deal_out(std::unique_ptr<Incoming> incoming) {
  const std::size_t index = next_shard_;
  next_shard_ = (next_shard_ + 1) % shards_.size();
  if (index == 0) return shards_[0]->adopt(std::move(incoming));
  loops_[index].post([shard = shards_[index].get(), incoming = std::move(incoming)]() mutable {
    shard->adopt(std::move(incoming));
  });
}

void CallServer::State::stop(Duration grace) {
  {
    const std::lock_guard lock(mutex_);
    if (phase_ == Phase::kNew || phase_ == Phase::kStarting) {
      asked_ = std::min(asked_.value_or(grace), grace);
      return;
    }
    if (phase_ == Phase::kStopped) return;
    phase_ = Phase::kStopping;
    changed_.notify_all();
  }
  if (!hold_open()) return;
  // Always posted, so that a handler may stop its own server.
  post_surely(loops_[0], [this, grace] {
    listeners_.clear();
    stop_shards(grace);
    release();
  });
}

void CallServer::State::stop_shards(Duration grace) {
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    ++left_;
    post_surely(loops_[i], [this, i, grace] {
      shards_[i]->stop(grace, [this, i] { loops_.end_states(i, [this] { release(); }); });
      release();
    });
  }
}

// False when nothing is left.
bool CallServer::State::hold_open() {
  std::size_t left = left_.load();
  while (left != 0 && !left_.compare_exchange_weak(left, left + 1)) {
  }
  return left != 0;
}

void CallServer::State::release() {
  if (left_.fetch_sub(1) != 1) return;
  const std::lock_guard lock(mutex_);
  phase_.store(Phase::kStopped, std::memory_order_release);
  changed_.notify_all();
}

void CallServer::State::wait() {
  const Phase phase = phase_;
  if (phase != Phase::kRunning && phase != Phase::kStopping) return;
  if (!loops_.have_threads()) {
    WEFT_ASSERT(!options_.loop->in_turn(), "waiting for a server inside its own loop's turn would never end");
  }
  check_thread_is_not_its_own();
  if (!loops_.have_threads()) {
    while (!stopped()) options_.loop->run_once(std::chrono::milliseconds{10});
  }
  wait_for_end();
}

void CallServer::State::check_thread_is_not_its_own() const {
  WEFT_ASSERT(workers_ == nullptr || !workers_->are_run_here(), kWaitsForItself);
  WEFT_ASSERT(!loops_.have_threads() || !loops_.are_run_here(), kWaitsForItself);
}

void CallServer::State::wait_for_end() {
  std::unique_lock lock(mutex_);
  if (options_.loop_held_from == kNoTimeout) {
    changed_.wait(lock, [this] { return phase_ == Phase::kStopping || stopped(); });
  }
  HeldLoops held{logger()};
  while (!changed_.wait_for(lock, HeldLoops::kInterval, [this] { return stopped(); })) {
    lock.unlock();
    held.look(loops_, shards_);
    lock.lock();
  }
}

// In a child of fork the threads are missing, and their state cannot be torn down. Only close the listeners,
// which would keep others from listening, and, where no thread is missing, the connections, because peers
// wait for their end.
void CallServer::State::end(bool in_child) {
  if (phase_ == Phase::kNew) return;
  if (in_child) {
    listeners_.clear();
    if (loops_.have_threads()) return;
    for (const auto& shard : shards_) shard->drop_sessions();
    return;
  }
  WEFT_ASSERT(phase_ != Phase::kStarting, "a server is destroyed by a function that its start() calls");
  stop(Duration::zero());
  wait();
  check_thread_is_not_its_own();
  take_down();
}

void CallServer::State::take_down() {
  if (!listeners_.empty()) loops_.run_on(0, [this] { listeners_.clear(); });
  workers_.reset();
  loops_.stop();
  shards_.clear();
  loops_.clear();
}

ServerStats CallServer::State::stats() const {
  ServerStats stats;
  stats.connections_accepted = accepted_.get();
  stats.connections_refused = refused_.get();
  stats.connections = connections_.load(std::memory_order_relaxed);
  stats.memory = {memory_->used(), memory_->limit()};
  const std::vector<MethodEntry>& methods = methods_.entries();
  stats.methods.resize(methods.size());
  for (std::size_t i = 0; i < methods.size(); ++i) stats.methods[i].name = methods[i].key.name;
  for (const auto& shard : shards_) shard->count(stats);
  return stats;
}

ServedCallSamples CallServer::State::samples() const {
  ServedCallSamples samples{.slow_from = options_.slow_call_from};
  for (const auto& shard : shards_) shard->samples_to(samples);
  const auto later = [](const CallSample& a, const CallSample& b) { return a.ended > b.ended; };
  std::sort(samples.slow.begin(), samples.slow.end(), later);
  std::sort(samples.failed.begin(), samples.failed.end(), later);
  return samples;
}

CallServer::CallServer(ServerOptions options, Transports transports)
    : peers_(std::make_shared<PeerBoard>()),
      state_(std::make_unique<State>(std::move(options), std::move(transports))) {}

CallServer::~CallServer() {
  state_->end(made_in_.in_child());
  if (made_in_.in_child())
    static_cast<void>(state_.release());  // NOLINT(bugprone-unused-return-value): left to the parent
}

std::shared_ptr<void>& CallServer::layer_state(const std::type_info& layer) {
  return state_->layer_state(layer);
}

void CallServer::add_loop_state(std::unique_ptr<LoopStateKind> kind) {
  state_->add_loop_state(std::move(kind));
}

void CallServer::set_peer_hooks(PeerVisit connected, PeerVisit gone) {
  peers_->set_hooks(std::move(connected), std::move(gone));
}

const std::shared_ptr<PeerBoard>& CallServer::peer_board() const {
  return peers_;
}

void CallServer::register_method(const MethodEntry& entry, std::shared_ptr<void> owner) {
  state_->add(entry, std::move(owner));
}

void CallServer::register_last(const MethodEntry& entry, std::shared_ptr<void> owner) {
  state_->add_last(entry, std::move(owner));
}

const std::vector<MethodEntry>& CallServer::methods() const {
  return state_->entries();
}

bool CallServer::describes_functions() const {
  return state_->options().describe_functions;
}

Result<void> CallServer::start() {
  return state_->start(*peers_);
}

void CallServer::wait() {
  state_->wait();
}

void CallServer::stop(Duration grace) {
  state_->stop(grace);
}

bool CallServer::stopped() const {
  return state_->stopped();
}

Result<void> CallServer::run() {
  Result<void> started = start();
  if (started.ok()) wait();
  return started;
}

Result<MemoryLease> CallServer::register_memory(MutableBytes memory) const {
  return state_->register_memory(memory);
}

std::vector<std::string> CallServer::urls() const {
  return state_->urls();
}

ServerStats CallServer::stats() const {
  return state_->stats();
}

}  // namespace weft::detail
