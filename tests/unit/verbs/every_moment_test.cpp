// SPDX-License-Identifier: Apache-2.0
// UX-7: operations of every kind are cancelled and dropped, and their queues end, at every moment that there
// is: in every order of the steps of the coroutine, the device, the loop and the owner of the queues.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/simulated_rdma.hpp"
#include "unit/coro/run.hpp"
#include "unit/verbs/watched.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/trampoline.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/verbs.hpp"

namespace weft::verbs {

using namespace weft::detail;
namespace {

using testing::Watched;
using weft::testing::SimulatedRdma;
using weft::testing::WatchedBytes;

constexpr std::size_t kPieceBytes = 96;
constexpr std::size_t kPieces = 3;
constexpr std::byte kThere{0x22};

/// Holds a coroutine up until the test lets it pass.
class Gate {
 public:
  bool await_ready() const noexcept { return open_; }
  void await_suspend(std::coroutine_handle<> waiter) noexcept { waiter_ = waiter; }
  void await_resume() const noexcept {}
  void open() {
    open_ = true;
    if (waiter_) resume(std::exchange(waiter_, {}));
  }
  void forget() { waiter_ = {}; }

 private:
  bool open_ = false;
  std::coroutine_handle<> waiter_;
};

/// The device has the operation when this is called, or it waits for room; it is awaited behind the gate.
template <typename Posted>
Task<Status> awaited(Posted posted, Gate& gate) {
  co_await gate;
  auto ended = co_await std::move(posted);
  co_return std::move(ended).status();
}

/// Objects that outlive the lives: two machines with a device each, and the memory of the other one.
struct World {
  SimulatedRdma rdma{{weft::testing::roce_device("here", 1), weft::testing::roce_device("there", 2)}};
  std::unique_ptr<Loop> loop = Loop::create({.mode = WaitMode::kBusy}).value();
  std::shared_ptr<ProtectionDomain> here = domain("here");
  std::shared_ptr<ProtectionDomain> there = domain("there");
  MemoryRegion own = MemoryRegion::allocate(here, kPieces* kPieceBytes).value();
  MemoryRegion target =
      MemoryRegion::allocate(there, kPieces* kPieceBytes,
                             {.remote_read = true, .remote_write = true, .remote_atomic = true})
          .value();

  std::shared_ptr<ProtectionDomain> domain(std::string_view name) {
    return ProtectionDomain::create(Device::open(name, rdma).value()).value();
  }
  static World& get() {
    static World world;
    return world;
  }
};

class Life;

struct Family {
  const char* name;
  Task<Status> (*start)(Life& life, Gate& gate);
  /// Messages come to it; without, it is sent.
  bool receives = false;
  bool shared = false;
  /// Another operation has the only place in the queue.
  bool waits = false;
  /// Has no memory of the caller's.
  bool atomic = false;
};

/// The steps of a life, each by its letter; every one comes once.
///
///   S  the operation is made, and posted if there is room     C  the coroutine awaits it
///   X  the coroutine is cancelled or dropped                  E  the device does the work
///   V  its completion comes into sight                        P  the loop asks the completion queue
///   R  a turn of the loop                                     Q  the queues end
struct Manner {
  bool drops = false;
  /// X happens while completions are handed out: the one before, or the one behind, the operation's own.
  bool in_poll = false;
  /// Q ends the completion queue too.
  bool all_queues = false;
  /// The device says that it failed, after it had moved the bytes.
  bool fails = false;
};

class Life final : private CompletionHandler {
 public:
  Life(World& world, const Family& family, const Manner& manner)
      : world_(world), family_(family), manner_(manner) {
    std::ranges::fill(world_.target.bytes(), kThere);
    for (auto& piece : pieces_) piece.emplace(world_.here, kPieceBytes);
    const CompletionQueueOptions silent{.entries = 64, .event_channel = false};
    completions_ = CompletionQueue::create(*world_.loop, world_.here->shared_device(), silent).value();
    at_peer_ = CompletionQueue::create(*world_.loop, world_.there->shared_device(), silent).value();
    QueuePairOptions options{.sends_max = 4, .receives_max = 4, .inline_bytes = 0};
    peer_ = QueuePair::create(world_.there, *at_peer_, options).value();
    bell_ = QueuePair::create(world_.here, *completions_, options).value();
    if (family_.shared) {
      shared_ = SharedReceiveQueue::create(world_.here, *completions_, {.receives_max = 4, .segments_max = 4})
                    .value();
    }
    options.shared_receives = shared_.get();
    if (family_.waits) options.sends_max = options.receives_max = 1;
    pair_ = QueuePair::create(world_.here, *completions_, options).value();
    begin();
  }
  ~Life() {
    task_.reset();
    EXPECT_EQ(world_.rdma.faults(), std::vector<std::string>{});
  }

  QueuePair& pair() { return *pair_; }
  SharedReceiveQueue& shared() { return *shared_; }
  Memory whole() { return pieces_[0]->memory(); }
  std::array<Memory, kPieces> pieces() {
    return {pieces_[0]->memory(), pieces_[1]->memory(), pieces_[2]->memory()};
  }
  RemoteMemory target() const { return world_.target.remote(); }
  RemoteMemory word() const { return target().slice(0, 8); }

  void step(char letter) {
    if (letter == 'R') {
      turn();
    } else {
      Executor::Enter entered(*world_.loop);
      act(letter);
    }
    check();
  }
  /// Does whatever is left to do; then the queues end.
  void finish() {
    for (int i = 0; i < 3; ++i) turn();
    if (!family_.shared && pair_ != nullptr) expect_over();
    end_shared();
    for (int i = 0; i < 2; ++i) turn();
    check();
    expect_over();
    for (auto& piece : pieces_) {
      EXPECT_EQ(piece->given_back(), piece->handed_out());
    }
    end_all();
  }

 private:
  void begin() {
    const Status there = pair_->connect(peer_->address());
    const Status back = peer_->connect(pair_->address());
    ASSERT_TRUE(there.ok() && back.ok()) << there.to_string() << back.to_string();
    ASSERT_TRUE(bell_->fail().ok());
    place_ = completions_->add(*this);
    world_.rdma.hold(pair_->handle());
    world_.rdma.hold_completions(completions_->handle());
    for (int i = 0; !family_.receives && i < 2; ++i) abandon(peer_->receive(world_.target.memory()));
    const weft::testing::SimulatedRdmaCounters now = world_.rdma.counters("here");
    posted_before_ = now.sends_posted + now.receives_posted;
    polled_before_ = now.completions_polled;
    if (!family_.waits) return;
    ++others_;
    if (family_.receives) return abandon(pair_->receive(world_.own.memory()));
    abandon(pair_->send(world_.own.memory()));
  }
  template <typename Posted>
  static void abandon(Posted posted) {
    EXPECT_TRUE(std::move(posted).abandon().ok());
  }

  void act(char letter) {
    switch (letter) {
      case 'S':
        return start();
      case 'C':
        return gate_.open();
      case 'X':
        return manner_.in_poll ? ring() : end_coroutine();
      case 'E':
        return execute();
      case 'V':
        if (completions_ != nullptr) world_.rdma.release_completions(completions_->handle());
        return;
      case 'P':
        if (completions_ != nullptr) completions_->poll();
        return;
      default:
        return manner_.all_queues ? end_all() : end_pair();
    }
  }
  void start() {
    started_ = true;
    task_.emplace(family_.start(*this, gate_), &scope_);
  }
  void end_coroutine() {
    if (!manner_.drops) return scope_.cancel(CancelReason::kRequested);
    dropped_ = true;
    gate_.forget();
    task_->drop();
  }
  // A receive of a queue pair that failed completes as soon as it is posted.
  void ring() {
    if (completions_ == nullptr) return;
    ibv_recv_wr request{};
    request.wr_id = completions_->id_for(place_, 0);
    ibv_recv_wr* refused = nullptr;
    ASSERT_EQ(ibv_post_recv(bell_->handle(), &request, &refused), 0);
    ++posted_before_;
  }
  void on_completion(std::uint32_t, const ibv_wc&) noexcept override {
    ++polled_before_;
    end_coroutine();
  }
  void execute() {
    if (family_.receives) {
      for (std::uint64_t i = 0; i <= others_; ++i) abandon(peer_->send(world_.target.memory()));
      return;
    }
    if (pair_ == nullptr) return;
    if (manner_.fails) {
      world_.rdma.complete_send_with(pair_->handle(), IBV_WC_RETRY_EXC_ERR, 1, SimulatedRdma::Effect::kDone);
    }
    world_.rdma.release(pair_->handle());
  }
  /// The queue pair alone leaves shared receives where they are.
  void end_pair() {
    pair_.reset();
    ended_ = ended_ || !family_.shared;
  }
  void end_shared() {
    end_pair();
    shared_.reset();
    ended_ = true;
  }
  void end_all() {
    end_shared();
    bell_.reset();
    if (completions_ != nullptr) completions_->remove(place_);
    completions_.reset();
  }
  void turn() { world_.loop->run_once(Duration::zero()); }

  bool given_back() {
    if (family_.atomic) return started_ && completions_ != nullptr && completions_->operations_out() == 0;
    return std::ranges::any_of(pieces_, [](auto& piece) { return piece->given_back(); });
  }
  /// The device has had it, and its completion was not fetched.
  bool device_has_it() const {
    const weft::testing::SimulatedRdmaCounters now = world_.rdma.counters("here");
    const bool posted = now.sends_posted + now.receives_posted - posted_before_ > others_;
    return !ended_ && posted && now.completions_polled - polled_before_ <= others_;
  }
  void check() {
    EXPECT_FALSE(given_back() && device_has_it()) << "the device may touch what was given back";
    const Bytes there = world_.target.bytes();
    EXPECT_EQ(std::ranges::find(there, WatchedBytes::kMark), there.end()) << "what was given back was sent";
  }
  void expect_over() {
    EXPECT_TRUE(dropped_ || task_->ended());
    EXPECT_TRUE(completions_ == nullptr || completions_->operations_out() == 0);
  }

  World& world_;
  const Family& family_;
  const Manner manner_;
  std::array<std::optional<Watched>, kPieces> pieces_;
  std::unique_ptr<CompletionQueue> completions_;
  std::unique_ptr<CompletionQueue> at_peer_;
  std::unique_ptr<SharedReceiveQueue> shared_;
  std::unique_ptr<QueuePair> peer_;
  std::unique_ptr<QueuePair> bell_;
  std::unique_ptr<QueuePair> pair_;
  std::uint32_t place_ = 0;
  CancelScope scope_;
  Gate gate_;
  std::optional<weft::testing::Started<Status>> task_;
  bool started_ = false;
  bool dropped_ = false;
  /// The queue that the operation was posted to.
  bool ended_ = false;
  /// Counts of what the device was given and has completed before the operation, to be subtracted.
  std::uint64_t posted_before_ = 0;
  std::uint64_t polled_before_ = 0;
  std::uint64_t others_ = 0;
};

void PrintTo(const Family& family, std::ostream* out) {
  *out << family.name;
}

const Family kFamilies[] = {
    {.name = "send",
     .start = [](Life& life, Gate& gate) { return awaited(life.pair().send(life.whole()), gate); }},
    {.name = "send_of_pieces",
     .start = [](Life& life, Gate& gate) { return awaited(life.pair().send(life.pieces()), gate); }},
    {.name = "send_with_immediate",
     .start = [](Life& life,
                 Gate& gate) { return awaited(life.pair().send_with_immediate(life.pieces(), 7), gate); }},
    {.name = "send_that_waits",
     .start = [](Life& life, Gate& gate) { return awaited(life.pair().send(life.pieces()), gate); },
     .waits = true},
    {.name = "write",
     .start = [](Life& life,
                 Gate& gate) { return awaited(life.pair().write(life.whole(), life.target()), gate); }},
    {.name = "write_of_pieces",
     .start = [](Life& life,
                 Gate& gate) { return awaited(life.pair().write(life.pieces(), life.target()), gate); }},
    {.name = "write_with_immediate",
     .start =
         [](Life& life, Gate& gate) {
           return awaited(life.pair().write_with_immediate(life.pieces(), life.target(), 7), gate);
         }},
    {.name = "read",
     .start = [](Life& life,
                 Gate& gate) { return awaited(life.pair().read(life.whole(), life.target()), gate); }},
    {.name = "read_into_pieces",
     .start = [](Life& life,
                 Gate& gate) { return awaited(life.pair().read(life.pieces(), life.target()), gate); }},
    {.name = "fetch_add",
     .start = [](Life& life, Gate& gate) { return awaited(life.pair().fetch_add(life.word(), 1), gate); },
     .atomic = true},
    {.name = "compare_swap",
     .start = [](Life& life,
                 Gate& gate) { return awaited(life.pair().compare_swap(life.word(), 0, 1), gate); },
     .atomic = true},
    {.name = "receive",
     .start = [](Life& life, Gate& gate) { return awaited(life.pair().receive(life.pieces()), gate); },
     .receives = true},
    {.name = "receive_that_waits",
     .start = [](Life& life, Gate& gate) { return awaited(life.pair().receive(life.pieces()), gate); },
     .receives = true,
     .waits = true},
    {.name = "shared_receive",
     .start = [](Life& life, Gate& gate) { return awaited(life.shared().receive(life.pieces()), gate); },
     .receives = true,
     .shared = true},
};

/// The first of them, which the device may fail.
constexpr std::size_t kSends = 11;

/// Nothing comes before the operation was made but a cancel; what is shown was done before, and what a turn
/// brings was asked for.
bool possible(std::string_view order, const Manner& manner) {
  const auto before = [&](char one, char other) { return order.find(one) < order.find(other); };
  const bool made_first = std::ranges::all_of(
      order, [&](char step) { return step == 'S' || (step == 'X' && !manner.drops) || before('S', step); });
  return made_first && before('E', 'V') && before('P', 'R');
}

const std::vector<std::string>& orders(const Manner& manner) {
  static std::map<bool, std::vector<std::string>> known;
  std::vector<std::string>& all = known[manner.drops];
  if (!all.empty()) return all;
  std::string order = "CEPQRSVX";
  do {
    if (possible(order, manner)) all.push_back(order);
  } while (std::ranges::next_permutation(order).found);
  return all;
}

void live(const Family& family, const Manner& manner) {
  for (const std::string& order : orders(manner)) {
    Life life{World::get(), family, manner};
    for (const char letter : order) life.step(letter);
    life.finish();
    ASSERT_FALSE(::testing::Test::HasFailure()) << family.name << " in the order " << order;
  }
}

std::string name_of(const ::testing::TestParamInfo<Family>& family) {
  return family.param.name;
}

class VerbsMoments : public ::testing::TestWithParam<Family> {};
class VerbsMomentsOfSends : public VerbsMoments {};

INSTANTIATE_TEST_SUITE_P(Of, VerbsMoments, ::testing::ValuesIn(kFamilies), name_of);
INSTANTIATE_TEST_SUITE_P(Of, VerbsMomentsOfSends, ::testing::ValuesIn(kFamilies, kFamilies + kSends),
                         name_of);

TEST_P(VerbsMoments, ACancelAtAnyMomentLeavesTheDeviceItsMemory) {
  live(GetParam(), {});
  live(GetParam(), {.all_queues = true});
}

TEST_P(VerbsMoments, ADropAtAnyMomentLeavesTheDeviceItsMemory) {
  live(GetParam(), {.drops = true});
  live(GetParam(), {.drops = true, .all_queues = true});
}

TEST_P(VerbsMoments, ACancelAmongCompletionsLeavesTheDeviceItsMemory) {
  live(GetParam(), {.in_poll = true});
}

TEST_P(VerbsMoments, ADropAmongCompletionsLeavesTheDeviceItsMemory) {
  live(GetParam(), {.drops = true, .in_poll = true});
}

TEST_P(VerbsMomentsOfSends, AFailureAtAnyMomentLeavesTheDeviceItsMemory) {
  live(GetParam(), {.fails = true});
  live(GetParam(), {.drops = true, .fails = true});
}

}  // namespace
}  // namespace weft::verbs
