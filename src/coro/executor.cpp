// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/coro/executor.hpp"

#include <new>

#include "weft/detail/coro/frame_pool.hpp"

namespace weft::detail {

bool no_executor_to_give_way_to() noexcept {
  trampoline.at_once = 1;  // until the outermost resume() returns, each further operation gives way
  return Executor::current() == nullptr;
}

struct SpareResumption::Spare final : Resumption, PooledFrame {
  using Resumption::Resumption;
};

void SpareResumption::Release::operator()(Spare* spare) const noexcept {
  delete spare;
}

bool SpareResumption::schedule(std::coroutine_handle<> coroutine) noexcept {
  try {
    spare_.reset(new Spare{coroutine});
  } catch (const std::bad_alloc&) {
    return false;
  }
  Executor::current()->schedule(*spare_);
  return true;
}

void Executor::check_elsewhere(const char* words) const noexcept {
  WEFT_ASSERT(may_be_used_ == nullptr || may_be_used_(*this), words);
}

void* Executor::find_local(const std::type_info& type) noexcept {
  void* found = nullptr;
  locals_.for_each([&](ExecutorLocal& local) {
    if (&local.type() == &type) found = local.object();
  });
  if (found != nullptr) return found;
  // Libraries that were loaded apart may each have a type_info of the same type.
  locals_.for_each([&](ExecutorLocal& local) {
    if (local.type() == type) found = local.object();
  });
  return found;
}

}  // namespace weft::detail
