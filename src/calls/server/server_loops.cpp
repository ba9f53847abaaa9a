// SPDX-License-Identifier: Apache-2.0
#include "calls/server/server_loops.hpp"

#include <string>
#include <utility>

namespace weft::detail {

namespace {

constexpr FixedFailure kStartedInTurn{StatusCode::kFailedPrecondition, Layer::kRpc, Retry::kNever,
                                      "a server with per_loop() states on a loop of yours is started outside "
                                      "of that loop's turns: it drives the "
                                      "loop until they are made"};

}  // namespace

Result<void> ServerLoops::start(const ServerOptions& options) {
  Logger& logger = options.logger != nullptr ? *options.logger : stderr_logger();
  if (options.threads == 0) add(*options.loop, nullptr, logger);
  for (unsigned i = 0; i < options.threads; ++i) {
    LoopThreadOptions thread;
    thread.loop = options.loop_options;
    thread.name = "weft-" + std::to_string(i);
    if (i < options.cpus.size()) thread.cpu = options.cpus[i];
    auto started = LoopThread::start(std::move(thread));
    if (!started.ok()) return std::move(started).status();
    Loop& loop = (*started)->loop();
    add(loop, std::move(*started), logger);
  }
  return {};
}

void ServerLoops::add(Loop& loop, std::unique_ptr<LoopThread> thread, Logger& logger) {
  loops_.push_back(std::make_unique<Member>(loop, std::move(thread), kinds_, logger));
}

Result<void> ServerLoops::make_states() {
  if (kinds_.empty()) return {};
  if (!have_threads() && loops_.front()->loop.in_turn()) return Status::of<kStartedInTurn>();
  Status failure;
  for (std::size_t i = 0; i < loops_.size() && failure.ok(); ++i) {
    run_until_done(i, [this, i, &failure](const auto& done) {
      loops_[i]->states.begin([&failure, &done](const Status& outcome) {
        failure = outcome;
        done();
      });
    });
  }
  return failure.ok() ? Result<void>{} : Result<void>{std::move(failure)};
}

void ServerLoops::stop() {
  for (std::size_t i = loops_.size(); i-- > 0;) {
    Member& member = *loops_[i];
    if (member.states.empty()) continue;
    run_until_done(i, [&member](const auto& done) { member.states.end([&done] { done(); }); });
  }
  for (const auto& member : loops_) {
    if (member->thread != nullptr) member->thread->stop();
  }
}

}  // namespace weft::detail
