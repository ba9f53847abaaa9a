// SPDX-License-Identifier: Apache-2.0
// Every interleaving of the accesses to shared words by which two sides write, read, sleep and wake each
// other, through the same rules that the library runs (wake_rules.hpp). No side sleeps without a ring that is
// due, and no sleep is rung for twice.
#include <gtest/gtest.h>
#include <ucontext.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "transport/shared_memory/side_words.hpp"
#include "transport/shared_memory/wake_rules.hpp"

namespace weft::detail::shared_memory {
namespace {

/// Two programs that give way to each other before each access to a shared word. One is run at a time, as a
/// list of choices says.
class World {
 public:
  using Program = void (*)(World& world);
  static constexpr std::size_t kSides = 2;

  World(Program first, Program second) : programs_{first, second} { current_world = this; }

  /// Runs the programs by `choices`, and by the lowest side that can run behind them. False when a side
  /// sleeps and nothing will wake it.
  bool run(const std::vector<std::size_t>& choices, const std::function<bool(const World&)>& go_on);
  /// Sides that can run now.
  std::vector<std::size_t> runnable() const {
    std::vector<std::size_t> sides;
    for (std::size_t side = 0; side < kSides; ++side) {
      if (!done_[side] && (!asleep_[side] || bell_[side])) sides.push_back(side);
    }
    return sides;
  }
  bool all_done() const { return done_[0] && done_[1]; }
  /// All that decides how the world goes on: the values in the words and bells, and what each side has seen.
  std::string state() const {
    std::string text;
    for (const auto& side : words) {
      text += std::to_string(side.written.value) + "," + std::to_string(side.read.value) + "," +
              std::to_string(side.sleep.value) + ";";
    }
    for (std::size_t side = 0; side < kSides; ++side) {
      text += std::to_string(announced_[side]) + (bell_[side] ? "b" : "-") +
              std::string(asleep_[side] ? "s" : "-") + seen_[side] + "|";
    }
    return text;
  }

  // For the programs.

  /// Called before each access.
  void give_way() {
    seen_[running_] += '.';
    ::swapcontext(&contexts_[running_], &scheduler_);
  }
  void saw(std::uint64_t value) {
    seen_[running_] += std::to_string(value) + ",";
    before_last_[running_] = std::exchange(last_[running_], value);
  }
  /// `summary` says all that the side remembers of what it saw before.
  void forget_what_was_seen(const std::string& summary) {
    seen_[running_] = summary + " rang for " + std::to_string(rang_for_[running_].first) + " or " +
                      std::to_string(rang_for_[running_].second) + ": ";
  }
  void ring_other() {
    ++rings_[running_];
    rang_for_[running_] = {last_[running_], before_last_[running_]};
    bell_[1 - running_] = true;
  }
  void sleep() {
    ++sleeps_[running_];
    asleep_[running_] = true;
    give_way();
    asleep_[running_] = bell_[running_] = false;
  }
  std::size_t rings_for(std::size_t side) const { return rings_[1 - side]; }
  void note_announced() { ++announced_[running_]; }
  std::size_t announced(std::size_t side) const { return announced_[side]; }

  /// An atomic word of the world that runs.
  template <typename T>
  struct Word {
    explicit Word(T initial) : value(initial) {}
    T load(std::memory_order) const {
      current_world->give_way();
      current_world->saw(value);
      return value;
    }
    void store(T its, std::memory_order) {
      current_world->give_way();
      current_world->saw(its);
      value = its;
    }
    T value;
  };
  using Words = SideWordsOf<Word>;
  std::array<Words, kSides> words{};
  std::size_t left_to_read = 0;

 private:
  static constexpr std::size_t kStackBytes = 64 * 1024;
  static void enter() {
    World& world = *current_world;
    world.programs_[world.running_](world);
    world.done_[world.running_] = true;
    world.give_way();
  }

  static inline World* current_world = nullptr;
  const std::array<Program, kSides> programs_;
  std::array<ucontext_t, kSides> contexts_{};
  ucontext_t scheduler_{};
  std::array<std::unique_ptr<char[]>, kSides> stacks_{std::make_unique<char[]>(kStackBytes),
                                                      std::make_unique<char[]>(kStackBytes)};
  std::size_t running_ = 0;
  std::array<bool, kSides> done_{};
  std::array<bool, kSides> asleep_{};
  std::array<bool, kSides> bell_{};
  std::array<std::size_t, kSides> rings_{};
  std::array<std::size_t, kSides> sleeps_{};
  std::array<std::size_t, kSides> announced_{};
  /// Values that each side has seen since its last summary, and the two that it saw last.
  std::array<std::string, kSides> seen_;
  std::array<std::uint64_t, kSides> last_{};
  std::array<std::uint64_t, kSides> before_last_{};
  std::array<std::pair<std::uint64_t, std::uint64_t>, kSides> rang_for_{};
};

bool World::run(const std::vector<std::size_t>& choices, const std::function<bool(const World&)>& go_on) {
  for (std::size_t side = 0; side < kSides; ++side) {
    ::getcontext(&contexts_[side]);
    contexts_[side].uc_stack.ss_sp = stacks_[side].get();
    contexts_[side].uc_stack.ss_size = kStackBytes;
    ::makecontext(&contexts_[side], &World::enter, 0);
  }
  for (std::size_t step = 0; !all_done(); ++step) {
    const std::vector<std::size_t> sides = runnable();
    if (sides.empty()) return false;
    if (step >= choices.size() && !go_on(*this)) return true;
    running_ = step < choices.size() ? choices[step] : sides.front();
    ::swapcontext(&scheduler_, &contexts_[running_]);
  }
  return true;
}

/// Visits every interleaving of two programs, and each state of the world once. Returns the number of states.
std::size_t explore(World::Program first, World::Program second) {
  std::set<std::string> visited;
  std::vector<std::vector<std::size_t>> open{{}};
  while (!open.empty()) {
    const std::vector<std::size_t> choices = std::move(open.back());
    open.pop_back();
    World world{first, second};
    std::vector<std::size_t> path = choices;
    const bool woke = world.run(choices, [&](const World& now) {
      if (!visited.insert(now.state()).second) return false;
      const std::vector<std::size_t> sides = now.runnable();
      for (std::size_t other = 1; other < sides.size(); ++other) {
        open.push_back(path);
        open.back().push_back(sides[other]);
      }
      path.push_back(sides.front());
      return true;
    });
    EXPECT_TRUE(woke) << "a side sleeps, and nothing wakes it: " << world.state();
    for (const std::size_t side : {0u, 1u}) {
      EXPECT_LE(world.rings_for(side), world.announced(side)) << "more rings than sleeps: " << world.state();
    }
    if (::testing::Test::HasFailure()) break;
  }
  return visited.size();
}

constexpr std::size_t kRingBytes = 4;

/// Steps of a carrier with the words of its side, byte by byte.
struct Side {
  Side(World& its, std::size_t number)
      : world(its),
        ours(its.words[number]),
        theirs(its.words[1 - number]),
        sleep_rule(ours),
        ring_rule(theirs) {}

  void write_one() {
    ours.written.store(++written, std::memory_order_seq_cst);
    if (ring_rule.is_due_for_bytes()) world.ring_other();
  }
  void read_one() {
    ours.read.store(++read, std::memory_order_seq_cst);
    if (ring_rule.is_due_for_room(read, kRingBytes)) world.ring_other();
  }
  bool has_bytes() { return theirs.written.load(std::memory_order_seq_cst) != read; }
  std::size_t free_bytes() {
    return kRingBytes - static_cast<std::size_t>(written - theirs.read.load(std::memory_order_seq_cst));
  }
  /// Sleeps until `has_news`, unless there are news.
  template <typename HasNews>
  void sleep_until(HasNews has_news, bool wants_room) {
    world.note_announced();
    sleep_rule.announce(wants_room);
    if (!has_news()) world.sleep();
    sleep_rule.awake();
  }
  void summarize() {
    world.forget_what_was_seen(std::to_string(written) + " written " + std::to_string(read) + " read");
  }
  void read_bytes(std::uint64_t count) {
    while (read < count) {
      summarize();
      if (has_bytes()) {
        read_one();
      } else {
        sleep_until([&] { return has_bytes(); }, false);
      }
    }
  }
  void write_bytes(std::uint64_t count) {
    while (written < count) {
      summarize();
      if (free_bytes() > 0) {
        write_one();
      } else {
        sleep_until([&] { return free_bytes() >= room_to_go_on(kRingBytes); }, true);
      }
    }
  }

  World& world;
  World::Words& ours;
  const World::Words& theirs;
  SleepRule<World::Words> sleep_rule;
  RingRule<World::Words> ring_rule;
  std::uint64_t written = 0;
  std::uint64_t read = 0;
};

void print(const char* what, std::size_t states) {
  std::printf("%s: %zu states\n", what, states);
}

TEST(WakeRules, AReaderThatSleepsIsWokenInEveryInterleaving) {
  const std::size_t states = explore([](World& world) { Side{world, 0}.write_bytes(3); },
                                     [](World& world) { Side{world, 1}.read_bytes(3); });
  print("three bytes", states);
  EXPECT_GT(states, 100u);
}

TEST(WakeRules, AWriterThatWaitsForRoomIsWokenInEveryInterleaving) {
  const std::size_t states = explore([](World& world) { Side{world, 0}.write_bytes(kRingBytes + 1); },
                                     [](World& world) { Side{world, 1}.read_bytes(kRingBytes + 1); });
  print("more bytes than the ring holds", states);
  EXPECT_GT(states, 1000u);
}

TEST(WakeRules, BothSidesAnswerEachOtherInEveryInterleaving) {
  const auto ask_and_wait = [](World& world) {
    Side side{world, 0};
    for (std::uint64_t call = 1; call <= 2; ++call) {
      side.write_one();
      side.read_bytes(call);
    }
  };
  const auto answer = [](World& world) {
    Side side{world, 1};
    for (std::uint64_t call = 1; call <= 2; ++call) {
      side.read_bytes(call);
      side.write_one();
    }
  };
  const std::size_t states = explore(ask_and_wait, answer);
  print("two calls", states);
  EXPECT_GT(states, 100u);
}

// The exploration finds what it is for: a reader that looks before it announces its sleep is not woken.
TEST(WakeRules, AReaderThatLooksTooEarlyWouldNotBeWoken) {
  bool lost = false;
  World world{[](World& its) { Side{its, 0}.write_one(); },
              [](World& its) {
                Side side{its, 1};
                if (side.has_bytes()) return;
                side.sleep_rule.announce(false);
                its.sleep();
              }};
  // The reader looks, the writer stores and finds nobody asleep, the reader announces and sleeps.
  lost = !world.run({1, 1, 0, 0, 0, 1, 1}, [](const World&) { return true; });
  EXPECT_TRUE(lost);
}

}  // namespace
}  // namespace weft::detail::shared_memory
