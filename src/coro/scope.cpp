// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/coro/scope.hpp"

#include <cstdio>
#include <exception>

namespace weft {

namespace {

[[noreturn]] void terminate_for(const std::exception_ptr& error) noexcept {
  const char* what = "not a std::exception";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    what = exception.what();
    std::fprintf(stderr, "weft: an exception left a spawned task: %s\n", what);
  } catch (...) {
    std::fprintf(stderr, "weft: an exception left a spawned task: %s\n", what);
  }
  std::terminate();
}

}  // namespace

void Scope::task_ended(detail::Completion& self, detail::TaskPromiseBase& task) noexcept {
  if (task.failed()) terminate_for(task.error);
  auto& node = static_cast<SpawnedBase&>(self);
  Scope& scope = node.scope;
  TaskEnd end{scope.ending_};
  scope.ending_ = &end;
  node.destroy(&node);
  if (end.scope_is_gone) return;
  scope.ending_ = end.outer;
  if (--scope.count_ > 0) return;
  while (!scope.joiners_.empty()) scope.joiners_.front().grant();
}

void Scope::drop_all() noexcept {
  while (!tasks_.empty()) {
    SpawnedBase& node = tasks_.pop_front();
    node.destroy(&node);
    --count_;
  }
  while (!joiners_.empty()) joiners_.front().grant();
}

}  // namespace weft
