// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <asio/any_io_executor.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/executor_work_guard.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "weft/detail/adapters/asio_pending.hpp"
#include "weft/detail/adapters/asio_post.hpp"
#include "weft/detail/adapters/remote.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"

namespace weft::detail {

/// One call, or one coroutine of a loop, for which a handler of asio waits. It owns itself and ends when the
/// handler is called, on the handler's executor, or when the context of that ends.
///
///   asio's thread    begin() -> cancel()                       finish() -> the handler
///                       |          |                              ^
///   loop's thread       '----------'--> the work ends -> told() --' by asio::post
///
/// Thread: that of asio's executor, except where it is said.
template <typename Remote, typename Handler>
class AsioOperation final : Told, AsioWaiter {
 public:
  using Given = typename Remote::Given;

  /// Throws what making it throws; the handler is not called then.
  static void begin(Handler handler, Remote remote) {
    std::unique_ptr<AsioOperation> made{new AsioOperation(std::move(handler), std::move(remote))};
    if (made->remote_.made()) made->listen();
    made.release()->start();
  }

 private:
  using Executor = asio::associated_executor_t<Handler, asio::any_io_executor>;

  struct Finish {
    void operator()() { AsioOperation::finish(operation); }
    AsioOperation* operation;
  };
  struct Cancel {
    void operator()(asio::cancellation_type type) noexcept {
      if (type != asio::cancellation_type::none) operation->cancel();
    }
    AsioOperation* operation;
  };

  AsioOperation(Handler handler, Remote remote)
      : work_(asio::get_associated_executor(handler)),
        pending_(pending_of(work_->get_executor())),
        remote_(std::move(remote)),
        handler_(std::move(handler)) {}
  friend struct std::default_delete<AsioOperation>;
  ~AsioOperation() = default;

  /// Throws std::bad_alloc.
  void listen() {
    auto slot = asio::get_associated_cancellation_slot(*handler_);
    if (slot.is_connected()) slot.template emplace<Cancel>(this);
  }
  void start() noexcept {
    pending_.enter(*this);
    if (!remote_.made()) return told();
    remote_.send(*this);
  }
  // Abandoned work is not reported.
  void cancel() noexcept {
    if (!remote_.give_up(CancelReason::kRequested)) return;
    given_up_ = true;
    told();
  }
  // Thread: any, usually the loop's. The handler's context owns the posted completion, and destroys it if the
  // context ends first: then abandon() ends this.
  void told() noexcept override {
    if (is_orphan_) return delete this;
    AsioPending& pending = pending_;
    if (!pending.begin_telling(is_over_)) return;
    post_surely(work_->get_executor(), Finish{this});
    pending.end_telling();
  }

  static void finish(AsioOperation* whole) {
    std::unique_ptr<AsioOperation> operation{whole};
    operation->pending_.leave(*operation);
    auto slot = asio::get_associated_cancellation_slot(*operation->handler_);
    if (slot.is_connected()) slot.clear();
    Given given = operation->take();
    Handler handler = std::move(*operation->handler_);
    const auto work = std::move(operation->work_);
    operation.reset();
    std::move(handler)(std::move(given));
  }
  Given take() noexcept {
    if (given_up_) return to_status(CancelReason::kRequested);
    try {
      return remote_.take();
    } catch (...) {
      return status_of_exception();
    }
  }
  void abandon() noexcept override {
    if (!pending_.is_over(is_over_) && !remote_.give_up(CancelReason::kScopeClosed)) {
      if (remote_.is_waited_for_in_vain()) {
        is_orphan_ = true;
        handler_.reset();
        work_.reset();
        return;
      }
      pending_.await_over(is_over_);
    }
    delete this;
  }

  /// The handler's executor, with work counted there; none when its context has ended, which a strand must
  /// not outlive.
  std::optional<asio::executor_work_guard<Executor>> work_;
  AsioPending& pending_;
  Remote remote_;
  std::optional<Handler> handler_;
  bool given_up_ = false;
  /// Its context has ended, and its loop is this thread's.
  bool is_orphan_ = false;
  /// The work has ended, or was abandoned, and the context was notified or is ending. Protected by the lock
  /// of `pending_`.
  bool is_over_ = false;
};

}  // namespace weft::detail
