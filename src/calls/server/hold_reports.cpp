// SPDX-License-Identifier: Apache-2.0
#include "calls/server/hold_reports.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace weft::detail {

namespace {

std::string quoted(const MethodEntry& method) {
  return "'" + std::string{method.key.name} + "'";
}

}  // namespace

HoldReports::HoldReports(Loop& loop, Logger& logger, const MethodTable& methods,
                         const MethodCounts& counts) noexcept
    : Ready(&run), loop_(loop), logger_(logger), methods_(methods), counts_(counts) {}

void HoldReports::on_held(const HeldLoop& held) noexcept {
  ++count_;
  if (longest_ != Duration{}) ++left_out_;
  if (held.lasted >= longest_) {
    longest_ = held.lasted;
    suspects_ = suspects(held.begun_last);
    by_one_ = held.by_one;
  }
  if (!is_scheduled()) loop_.schedule(*this);
}

void HoldReports::report() noexcept {
  const TimePoint now = loop_.now();
  if (written_ != TimePoint::min() && now - written_ < kInterval) {
    if (!armed()) loop_.arm(*this, written_ + kInterval);
    return;
  }
  if (longest_ == Duration{}) return;
  written_ = now;
  const Duration lasted = std::exchange(longest_, Duration{});
  const std::uint64_t others = std::exchange(left_out_, 0);
  write_line(logger_, LogLevel::kWarning, [&] {
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(lasted).count();
    std::string line = "a loop of the server was held up for " + std::to_string(milliseconds) + " ms by " +
                       words(suspects_, by_one_);
    if (others != 0) line += " (" + std::to_string(others) + " shorter holds since the last line)";
    return line;
  });
}

HoldReports::Suspects HoldReports::suspects(const void* begun_last) const noexcept {
  Suspects found;
  for (const MethodEntry& method : methods_.entries()) {
    const MethodCounters& counters = counts_.of(method);
    if (begun_last == &counters) {
      // A blocking handler runs on a worker.
      if (method.kind != HandlerKind::kBlocking) found.begun = &method;
    } else if (method.kind == HandlerKind::kCoroutine && counters.running.get() != 0) {
      if (found.coroutine_methods < found.coroutines.size()) {
        found.coroutines[found.coroutine_methods] = &method;
      }
      ++found.coroutine_methods;
    }
  }
  return found;
}

std::string HoldReports::words(const Suspects& suspects, bool by_one) {
  if (suspects.begun != nullptr && by_one) return "the handler of " + quoted(*suspects.begun);
  std::string text;
  if (suspects.begun != nullptr) {
    text = "probably the handler of " + quoted(*suspects.begun) + ", whose call the loop took last";
  }
  const std::size_t named = std::min(suspects.coroutine_methods, suspects.coroutines.size());
  for (std::size_t i = 0; i < named; ++i) {
    const char* const before = i != 0         ? ", "
                               : text.empty() ? "probably a coroutine of "
                                              : ", or a coroutine of ";
    text += before + quoted(*suspects.coroutines[i]);
  }
  if (named < suspects.coroutine_methods) text += " or another method";
  if (text.empty()) text = "something else than a handler, such as a timer or posted work";
  return text;
}

}  // namespace weft::detail
