// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <memory>
#include <string>
#include <utility>

#include "transport/tcp/resolver.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail::tcp {

/// Awaits the addresses of a name. Cancel: total, at once, and so is dropping the coroutine: the search goes
/// on without it. Errors: kUnavailable, kDeadlineExceeded.
class LookUp final : private SearchListener, private Timer, private CancelListener {
 public:
  LookUp(Loop& loop, Resolver& resolver, std::string host, std::uint16_t port, Deadline deadline)
      : loop_(loop),
        resolver_(resolver),
        host_(std::move(host)),
        port_(port),
        deadline_(deadline),
        waiter_(std::make_shared<Search::Waiter>(Search::Waiter{loop, this})) {}
  LookUp(const LookUp&) = delete;
  LookUp& operator=(const LookUp&) = delete;
  ~LookUp() { leave(); }

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) {
    resumption_.handle = coroutine;
    return begin(cancel_scope_of(coroutine));
  }
  Addresses await_resume() { return std::move(found_); }

 private:
  bool begin(CancelScope* scope);
  void on_found(const Addresses& found) noexcept override;
  void on_timer() override;
  void on_cancel(CancelReason reason) noexcept override { end(to_status(reason)); }
  void end(Addresses found) noexcept;
  void leave() noexcept;

  Loop& loop_;
  Resolver& resolver_;
  const std::string host_;
  const std::uint16_t port_;
  const Deadline deadline_;
  const std::shared_ptr<Search::Waiter> waiter_;
  std::shared_ptr<Search> search_;
  Addresses found_;
  Resumption resumption_;
};

}  // namespace weft::detail::tcp
