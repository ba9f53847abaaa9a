// SPDX-License-Identifier: Apache-2.0
#include "calls/server/loop_states.hpp"

#include <cxxabi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "weft/detail/runtime/sleep.hpp"

namespace weft::detail {

namespace {

/// Time after which a close() is named in the log, again and again.
constexpr Duration kLongEnd = std::chrono::seconds{5};

std::string name_of(const std::type_info& type) {
  int outcome = 0;
  const std::unique_ptr<char, void (*)(void*)> name{
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &outcome), &std::free};
  return name != nullptr ? name.get() : type.name();
}

// Only inside a catch block.
Status status_of_factory() noexcept {
  try {
    throw;
  } catch (const Status& failure) {
    if (!failure.ok()) return failure;
    return {StatusCode::kUnknown, Layer::kUser, "its factory threw a Status that is no failure"};
  } catch (const std::bad_alloc&) {
    return Status::of<kOutOfMemory>();
  } catch (const std::exception& exception) {
    return {StatusCode::kUnknown, Layer::kUser,
            [&] { return std::string{"its factory threw: "} + exception.what(); }};
  } catch (...) {
    return {StatusCode::kUnknown, Layer::kUser, "its factory threw something that is no std::exception"};
  }
}

// An empty task when there is no memory for one.
Task<void> try_close(LoopState& state) {
  try {
    return state.close();
  } catch (const std::bad_alloc&) {
    return {};
  }
}

}  // namespace

LoopStates::LoopStates(Loop& loop, const LoopStateKinds& kinds, Logger& logger)
    : Completion{&LoopStates::task_ended}, loop_(loop), kinds_(kinds), logger_(logger) {}

void LoopStates::begin(UniqueFunction<void(const Status&)> made) noexcept {
  if (kinds_.empty()) return made({});
  made_ = std::move(made);
  try {
    states_.reserve(kinds_.size());
    task_ = live();
  } catch (const std::bad_alloc&) {
    return std::exchange(made_, {})(Status::of<kOutOfMemory>());
  }
  start(task_, nullptr, *this);
}

void LoopStates::end(UniqueFunction<void()> ended) noexcept {
  if (!task_) return ended();
  ended_ = std::move(ended);
  end_wanted_.set();
}

void LoopStates::task_ended(Completion& self, TaskPromiseBase& task) noexcept {
  auto& states = static_cast<LoopStates&>(self);
  if (task.failed()) {
    std::fputs("weft: an exception left close() of a loop's state\n", stderr);
    std::terminate();
  }
  states.task_.reset();
  // The notified function may destroy this.
  if (states.made_) return std::exchange(states.made_, {})(states.failure_);
  std::exchange(states.ended_, {})();
}

Task<void> LoopStates::live() {
  for (const auto& kind : kinds_) {
    try {
      failure_ = co_await make(*kind);
    } catch (...) {
      failure_ = status_of_factory();
    }
    if (failure_.ok()) continue;
    failure_ = failure_.with_context([&] { return "the " + name_of(kind->type()) + " of a loop"; });
    break;
  }
  if (failure_.ok()) {
    std::exchange(made_, {})({});
    const Result<void> wanted = co_await end_wanted_.wait();
    WEFT_ASSERT(wanted.ok(), "nobody cancels the wait for the end");
  }
  loop_.arm(*this, loop_.now() + kLongEnd);
  while (!states_.empty()) {
    LoopState& last = *states_.back();
    if (last.has_close()) {
      Task<void> closing = try_close(last);
      while (!closing) {
        // Memory comes back without an event.
        const Result<void> slept = co_await sleep_for(std::chrono::milliseconds{1});
        WEFT_ASSERT(slept.ok(), "nobody cancels the wait for memory");
        closing = try_close(last);
      }
      co_await std::move(closing);
    }
    if (Poller* const poller = last.poller()) loop_.remove_poller(*poller);
    last.unlink();
    states_.pop_back();
  }
  loop_.disarm(*this);
}

void LoopStates::on_timer() {
  loop_.arm(*this, loop_.now() + kLongEnd);
  write_line(logger_, LogLevel::kWarning, [this] {
    return "the server waits for close() of the " + name_of(states_.back()->type()) + " of a loop to end";
  });
}

Task<Status> LoopStates::make(LoopStateKind& kind) {
  if (loop_.find_local(kind.type()) != nullptr) {
    co_return Status{StatusCode::kAlreadyExists, Layer::kRpc,
                     "there is one of this type already, of this server or of another one of the same loop; "
                     "derive a type of its own from it"};
  }
  Result<std::unique_ptr<LoopState>> made = co_await kind.make(loop_);
  if (!made.ok()) co_return std::move(made).status();
  states_.push_back(std::move(*made));
  LoopState& state = *states_.back();
  loop_.add_local(state);
  if (Poller* const poller = state.poller()) {
    Result<void> added = loop_.add_poller(*poller);
    if (!added.ok()) co_return std::move(added).status();
  }
  co_return Status{};
}

}  // namespace weft::detail
