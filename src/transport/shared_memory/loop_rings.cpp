// SPDX-License-Identifier: Apache-2.0
#include "transport/shared_memory/loop_rings.hpp"

#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::shared_memory {

namespace {

// Number of carriers that each turn may look at without news: a look is a load from the cache.
constexpr std::size_t kFew = 16;
// With more of them, a carrier goes to sleep after this number of looks without news.
constexpr std::size_t kIdleLooksMax = 256;

}  // namespace

std::shared_ptr<LoopRings> LoopRings::of(Loop& loop) {
  if (void* const found = loop.find_local(typeid(LoopRings))) {
    return static_cast<LoopRings*>(found)->shared_from_this();
  }
  auto made = std::make_shared<LoopRings>(loop);
  static_cast<void>(loop.add_poller(*made));  // fails only for a descriptor
  loop.add_local(*made);
  return made;
}

LoopRings::LoopRings(Loop& loop) noexcept : ExecutorLocal(typeid(LoopRings)), loop_(loop) {
  set_object(this);
}

LoopRings::~LoopRings() {
  loop_.remove_poller(*this);
}

void LoopRings::add_awake(Member& member) noexcept {
  member.idle_looks_ = 0;
  if (member.is_awake()) return;
  awake_.push_back(member);
}

std::size_t LoopRings::poll() {
  std::size_t news = 0;
  std::size_t awake = 0;
  awake_.for_each([&](Member& member) {
    ++awake;
    if (member.look()) {
      ++news;
      member.idle_looks_ = 0;
    } else if (awake > kFew && ++member.idle_looks_ > kIdleLooksMax && member.try_sleep()) {
      member.unlink();
    }
  });
  return news;
}

bool LoopRings::arm() {
  bool all_sleep = true;
  awake_.for_each([&](Member& member) {
    if (member.try_sleep()) {
      member.unlink();
    } else {
      all_sleep = false;
    }
  });
  return all_sleep;
}

}  // namespace weft::detail::shared_memory
