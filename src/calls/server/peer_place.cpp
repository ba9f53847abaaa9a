// SPDX-License-Identifier: Apache-2.0
#include "calls/server/peer_place.hpp"

#include <utility>

#include "weft/detail/calls/peers/peer_target.hpp"

namespace weft::detail {

namespace {

/// Work on its way to a loop; owns itself.
class PostedWork final : public Posted {
 public:
  PostedWork(std::shared_ptr<PeerPlace> place, std::unique_ptr<PeerWork> work) noexcept
      : place_(std::move(place)), work_(std::move(work)) {}

  void run() override {
    const std::unique_ptr<PostedWork> self{this};
    work_->run(*place_);
  }
  void drop() noexcept override { delete this; }

 private:
  std::shared_ptr<PeerPlace> place_;
  std::unique_ptr<PeerWork> work_;
};

}  // namespace

void PeerPlace::close() noexcept {
  sessions_ = nullptr;
  walks_.for_each([](PeerWalk& walk) { walk.end(); });
  while (!broadcasts_.empty()) delete &broadcasts_.pop_front();
}

void PeerPlace::begin(PeerWalk& walk) noexcept {
  if (sessions_ == nullptr) return;
  walk.begin(*sessions_);
  if (walk.has_next()) walks_.push_back(walk);
}

void PeerPlace::joined(Session& session) noexcept {
  session.seat().set_counted(true);
  ++count_;
}

void PeerPlace::left(Session& session) noexcept {
  if (!session.seat().is_counted()) return;
  walks_.for_each([&session](PeerWalk& walk) { walk.leaves(session); });
  session.seat().set_counted(false);
  --count_;
}

PeerBoard::~PeerBoard() = default;

std::size_t PeerBoard::count() const noexcept {
  std::size_t count = 0;
  for (const auto& place : places_) count += place->count();
  return count;
}

std::shared_ptr<MemoryBudget> PeerBoard::memory() const noexcept {
  return places_.empty() ? nullptr : places_.front()->memory();
}

std::vector<std::shared_ptr<PeerTarget>> PeerBoard::find(std::string_view tag) const {
  std::vector<std::shared_ptr<PeerTarget>> found;
  for (const auto& place : places_) place->index()->find(tag, found);
  return found;
}

void PeerBoard::for_each_here(PeerVisit visit) const {
  for (const auto& place : places_) {
    if (!place->is_here()) continue;
    place->for_each([&visit](Session& session) { visit(session.peer_target()); });
  }
}

void PeerBoard::send(const std::shared_ptr<PeerPlace>& place, std::unique_ptr<PeerWork> work) {
  place->mailbox().post(*new PostedWork{place, std::move(work)});
}

}  // namespace weft::detail
