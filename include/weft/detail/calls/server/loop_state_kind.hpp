// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/poller.hpp"

namespace weft::detail {

/// Object of the user on one loop. Thread: the loop's.
class LoopState : public ExecutorLocal {
 public:
  using ExecutorLocal::ExecutorLocal;
  virtual ~LoopState() = default;

  /// The object, if it is a poller that its loop is to ask; else null.
  virtual Poller* poller() noexcept = 0;
  virtual bool has_close() const noexcept = 0;
  /// Closes the object; awaited before this is destroyed, if has_close(). Throws std::bad_alloc.
  virtual Task<void> close() = 0;
};

/// Maker of one type's objects, one for each loop.
class LoopStateKind {
 public:
  virtual ~LoopStateKind() = default;
  virtual const std::type_info& type() const noexcept = 0;
  /// Awaited on the thread of `loop`. Fails, or throws, as the user's factory does.
  virtual Task<Result<std::unique_ptr<LoopState>>> make(Loop& loop) = 0;
};

template <typename T>
concept ClosesItself = requires(T& object) {
  { object.close() } -> std::same_as<Task<void>>;
};

template <typename T>
class LoopStateOf final : public LoopState {
 public:
  LoopStateOf() : LoopState(typeid(T)) {}

  void keep(std::unique_ptr<T> object) noexcept {
    object_ = std::move(object);
    set_object(object_.get());
  }
  Poller* poller() noexcept override {
    if constexpr (std::convertible_to<T*, Poller*>) {
      return object_.get();
    } else {
      return nullptr;
    }
  }
  bool has_close() const noexcept override { return ClosesItself<T>; }
  Task<void> close() override {
    if constexpr (ClosesItself<T>) {
      return object_->close();
    } else {
      return {};
    }
  }

 private:
  std::unique_ptr<T> object_;
};

template <typename M>
inline constexpr bool is_awaited_state = false;
template <typename M>
inline constexpr bool is_awaited_state<Task<M>> = true;

/// Type of the value that a factory finally creates: its return type, without the Task and the Result.
template <typename M>
struct MadeState {
  using type = M;
};
template <typename M>
struct MadeState<Task<M>> : MadeState<M> {};
template <typename M>
struct MadeState<Result<M>> : MadeState<M> {};

template <typename Factory, typename T>
concept LoopStateFactory =
    std::invocable<Factory&, Loop&> &&
    (std::same_as<typename MadeState<std::invoke_result_t<Factory&, Loop&>>::type, T> ||
     std::same_as<typename MadeState<std::invoke_result_t<Factory&, Loop&>>::type, std::unique_ptr<T>>);

template <typename T, typename Factory>
class LoopStateKindOf final : public LoopStateKind {
 public:
  explicit LoopStateKindOf(Factory factory) : factory_(std::move(factory)) {}

  const std::type_info& type() const noexcept override { return typeid(T); }
  Task<Result<std::unique_ptr<LoopState>>> make(Loop& loop) override {
    using Made = std::invoke_result_t<Factory&, Loop&>;
    // What the factory made is closed before it ends, so there is a place for it before it is made.
    auto state = std::make_unique<LoopStateOf<T>>();
    Status failure;
    if constexpr (std::is_same_v<Made, T>) {
      state->keep(std::unique_ptr<T>{new T(factory_(loop))});  // in its place: `T` need not move
    } else if constexpr (is_awaited_state<Made>) {
      auto made = co_await factory_(loop);
      failure = keep(*state, std::move(made));
    } else {
      failure = keep(*state, factory_(loop));
    }
    if (!failure.ok()) co_return failure;
    co_return std::unique_ptr<LoopState>{std::move(state)};
  }

 private:
  static Status keep(LoopStateOf<T>& state, std::unique_ptr<T> made) noexcept {
    if (made == nullptr) {
      return {StatusCode::kInvalidArgument, Layer::kUser, "its factory gave a null pointer"};
    }
    state.keep(std::move(made));
    return {};
  }
  static Status keep(LoopStateOf<T>& state, T&& made) {
    return keep(state, std::make_unique<T>(std::move(made)));
  }
  template <typename M>
  static Status keep(LoopStateOf<T>& state, Result<M> made) {
    if (!made.ok()) return std::move(made).status();
    return keep(state, std::move(*made));
  }

  Factory factory_;
};

}  // namespace weft::detail
