// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/threads/stream_exchange.hpp"

#include <utility>

namespace weft::detail {

namespace {

constexpr FixedFailure kStreamOfParent{
    StatusCode::kFailedPrecondition, Layer::kRuntime, Retry::kNever,
    "a child of fork uses a stream of its parent, whose loop is not here; make a "
    "client and open one here"};

}  // namespace

void StreamExchange::abandon(const Status& why) noexcept {
  if (in_child()) return;
  Lock its_lock = lock();
  give_up(its_lock, why);
}

void StreamExchange::fail_reading(const Status& why) noexcept {
  if (in_child()) return;
  ItemBlocks dropped;
  Lock its_lock = lock();
  if (!concluded_) return give_up(its_lock, why);
  if (outcome_.ok()) outcome_ = why;
  dropped = close(why, true);
}

void StreamExchange::give_up(Lock& lock, const Status& why) noexcept {
  if (concluded_ || !abandoned_.ok()) return;
  abandoned_ = why;
  ItemBlocks dropped = close(why, true);
  ask(lock);
  lock.unlock();
  dropped.clear();
  lock.lock();
}

ItemBlocks StreamExchange::close(const Status& why, bool drops) noexcept {
  note_failure(why);
  arrived_.close(drops);
  ender_.wake_now();
  return put_.close();
}

Status StreamExchange::await_end() noexcept {
  if (in_child()) return Status::of<kStreamOfParent>();
  Lock its_lock = lock();
  wait(its_lock, ender_, [this] { return concluded_ || !abandoned_.ok(); });
  return abandoned_.ok() ? outcome_ : abandoned_;
}

bool StreamExchange::has_ended() const noexcept {
  if (in_child()) return true;
  const Lock its_lock = lock();
  return concluded_ || !abandoned_.ok();
}

bool StreamExchange::is_concluded() const noexcept {
  if (in_child()) return false;
  const Lock its_lock = lock();
  return concluded_;
}

Status StreamExchange::failure() const noexcept {
  if (in_child()) return Status::of<kStreamOfParent>();
  const Lock its_lock = lock();
  return noted_failure();
}

StreamExchange::Asked StreamExchange::take_asked() noexcept {
  const Lock its_lock = lock();
  return {arrived_.take_counted(), arrived_.are_discarded(), abandoned_};
}

void StreamExchange::open(StreamTerms terms) noexcept {
  const Lock its_lock = lock();
  set_terms(std::move(terms));
  put_.open();
}

void StreamExchange::fail(const Status& why, bool drops) noexcept {
  ItemBlocks dropped;
  const Lock its_lock = lock();
  dropped = close(why, drops);
}

void StreamExchange::conclude(const Status& outcome) noexcept {
  ItemBlocks dropped;
  const Lock its_lock = lock();
  concluded_ = true;
  outcome_ = outcome;
  ask_no_more();
  dropped = close(outcome, false);
}

}  // namespace weft::detail
