// SPDX-License-Identifier: Apache-2.0
// UX-5: every order of complete, cancel, drop, close, the coroutine's turn and the record's turn, through the
// same code that the library runs (operation_state.hpp). The model around it is what the device below (UCX, a
// network card), the loop and the coroutine may do; it checks who touches the memory when.
#include "weft/detail/runtime/operation_state.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <tuple>

namespace weft::detail {
namespace {

/// One operation, and the world that it is in.
struct World {
  OperationKind kind;
  OperationState state = OperationState::kPosted;
  bool with_device = true;  ///< the device may touch the memory
  bool revoked = false;     ///< the device was asked to give it back
  bool scheduled = false;   ///< the record is in the ready queue
  bool coroutine = true;    ///< a coroutine waits, or is to run
  bool device = true;       ///< the device's part has not ended
  int resumed = 0;
  int given_back = 0;

  auto key() const {
    return std::tuple(static_cast<int>(state), with_device, revoked, scheduled, coroutine, device, resumed,
                      given_back);
  }
};

enum class Move { kComplete, kCompleteAtOnce, kCancel, kDrop, kTurn, kClose, kTakeAtOnce, kCount };

/// Runs one step of the library and checks its promises. `revoke_completes`: the device completes it
/// while it is asked.
void apply(World& world, OperationEvent event, bool revoke_completes) {
  const OperationStep made = step(world.state, event, world.kind);
  ASSERT_FALSE(made.misuse) << "state " << static_cast<int>(world.state) << " event "
                            << static_cast<int>(event);
  world.state = made.next;
  if (made.unschedule) world.scheduled = false;
  if (made.schedule) world.scheduled = true;
  if (made.give_back) {
    EXPECT_FALSE(world.with_device) << "memory was given back while the device had it";
    EXPECT_EQ(++world.given_back, 1) << "memory and record are given back once";
    EXPECT_EQ(world.state, OperationState::kReaped);
    EXPECT_FALSE(world.scheduled) << "a free record is in no queue";
  }
  if (made.revoke) {
    EXPECT_TRUE(world.kind.revocable && world.with_device && !world.revoked)
        << "only what the device has and gives back is asked for, once";
    world.revoked = true;
    if (revoke_completes) {
      world.with_device = false;
      apply(world, OperationEvent::kComplete, false);
    }
  }
}

/// The ready queue's turn: the record leaves it, then the coroutine runs or the record is reaped.
void turn(World& world) {
  world.scheduled = false;
  if (world.state == OperationState::kDrained) return apply(world, OperationEvent::kReap, false);
  EXPECT_TRUE(world.coroutine) << "nobody is resumed after a drop";
  EXPECT_EQ(++world.resumed, 1) << "a coroutine is resumed once";
  world.coroutine = false;
  apply(world, OperationEvent::kTake, false);
}

/// False when `move` cannot happen now; nothing has happened then.
bool make(World& world, Move move) {
  switch (move) {
    case Move::kComplete:
      if (!world.with_device || !world.device) return false;
      world.with_device = false;
      apply(world, OperationEvent::kComplete, false);
      return true;
    case Move::kCompleteAtOnce:  // a cancel whose completion comes on the spot
    case Move::kCancel:
      if (!world.coroutine || (move == Move::kCompleteAtOnce && !world.kind.revocable)) return false;
      apply(world, OperationEvent::kCancel, move == Move::kCompleteAtOnce);
      return true;
    case Move::kDrop: {
      const bool misuse = !world.kind.owns_memory && world.with_device;
      if (!world.coroutine || misuse) return false;
      world.coroutine = false;
      apply(world, OperationEvent::kDrop, true);
      return true;
    }
    case Move::kTurn:
      if (!world.scheduled) return false;
      turn(world);
      return true;
    case Move::kClose:
      if (!world.device) return false;
      world.device = world.with_device = false;
      apply(world, OperationEvent::kClose, false);
      return true;
    case Move::kTakeAtOnce:  // completed before the coroutine suspended
      if (world.state != OperationState::kPosted || !world.with_device || !world.coroutine) return false;
      world.with_device = world.coroutine = false;
      ++world.resumed;
      apply(world, OperationEvent::kComplete, false);
      apply(world, OperationEvent::kTake, false);
      return true;
    case Move::kCount:
      break;
  }
  return false;
}

struct Count {
  std::size_t orders = 0;
  std::set<decltype(World{}.key())> worlds;
};

void explore(const World& world, int depth, Count& count) {
  count.worlds.insert(world.key());
  ++count.orders;
  if (depth == 0 || ::testing::Test::HasFailure()) return;
  for (int move = 0; move < static_cast<int>(Move::kCount); ++move) {
    World next = world;
    if (make(next, static_cast<Move>(move))) explore(next, depth - 1, count);
  }
}

/// Lets everything happen that is still to happen; all must be free then.
void expect_an_end(World world) {
  make(world, Move::kComplete);
  while (make(world, Move::kTurn)) {
  }
  EXPECT_EQ(world.given_back, 1);
  EXPECT_EQ(world.state, OperationState::kReaped);
  EXPECT_EQ(world.resumed + (world.coroutine ? 1 : 0) <= 1, true);
}

void expect_ends(const World& world, int depth) {
  expect_an_end(world);
  if (depth == 0 || ::testing::Test::HasFailure()) return;
  for (int move = 0; move < static_cast<int>(Move::kCount); ++move) {
    World next = world;
    if (make(next, static_cast<Move>(move))) expect_ends(next, depth - 1);
  }
}

class OperationStates : public ::testing::TestWithParam<OperationKind> {};

TEST_P(OperationStates, MemoryComesBackOnceAndOnlyAfterCompletionInEveryOrder) {
  // Each move but cancel can happen once, so this is deeper than any order is long, but for idle cancels.
  constexpr int kDepth = 10;
  World world;
  world.kind = GetParam();
  Count count;
  explore(world, kDepth, count);
  std::printf("%zu states in %zu orders of up to %d events\n", count.worlds.size(), count.orders, kDepth);
  EXPECT_GE(count.worlds.size(), 8U);
}

TEST_P(OperationStates, EveryOrderEndsWithAFreeRecord) {
  World world;
  world.kind = GetParam();
  expect_ends(world, 10);
}

TEST(OperationStatesMisuse, DroppingBorrowedMemoryThatTheDeviceHasIsSaidToBeMisuse) {
  constexpr OperationKind kBorrowed{.revocable = false, .owns_memory = false};
  EXPECT_TRUE(step(OperationState::kPosted, OperationEvent::kDrop, kBorrowed).misuse);
  EXPECT_TRUE(step(OperationState::kCancelRequested, OperationEvent::kDrop, kBorrowed).misuse);
  EXPECT_FALSE(step(OperationState::kCompleted, OperationEvent::kDrop, kBorrowed).misuse);
}

INSTANTIATE_TEST_SUITE_P(Kinds, OperationStates,
                         ::testing::Values(OperationKind{.revocable = false, .owns_memory = true},
                                           OperationKind{.revocable = true, .owns_memory = true},
                                           OperationKind{.revocable = false, .owns_memory = false},
                                           OperationKind{.revocable = true, .owns_memory = false}));

}  // namespace
}  // namespace weft::detail
