// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "weft/detail/base/assert.hpp"

namespace weft::detail {

template <typename Signature>
class UniqueFunction;

/// A callable that is moved, never copied. Up to 48 bytes sit inside it without an allocation.
template <typename R, typename... Args>
class UniqueFunction<R(Args...)> {
 public:
  UniqueFunction() = default;
  template <typename F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, UniqueFunction> &&
             std::is_invocable_r_v<R, std::decay_t<F>&, Args...>)
  UniqueFunction(F&& callable) {
    using Callable = std::decay_t<F>;
    if constexpr (fits<Callable>) {
      ::new (storage_) Callable(std::forward<F>(callable));
      operations_ = &kInside<Callable>;
    } else {
      ::new (storage_) Callable*(new Callable(std::forward<F>(callable)));
      operations_ = &kOutside<Callable>;
    }
  }
  UniqueFunction(UniqueFunction&& other) noexcept { take(other); }
  UniqueFunction& operator=(UniqueFunction&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~UniqueFunction() { reset(); }

  explicit operator bool() const { return operations_ != nullptr; }
  R operator()(Args... args) {
    WEFT_ASSERT(operations_ != nullptr, "call of an empty UniqueFunction");
    return operations_->call(storage_, std::forward<Args>(args)...);
  }

 private:
  struct Operations {
    R (*call)(void*, Args&&...);
    void (*relocate)(void* from, void* to) noexcept;
    void (*destroy)(void*) noexcept;
  };

  template <typename F>
  static constexpr bool fits =
      sizeof(F) <= 48 && alignof(F) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<F>;

  template <typename F>
  static constexpr Operations kInside{
      [](void* at, Args&&... args) -> R { return (*static_cast<F*>(at))(std::forward<Args>(args)...); },
      [](void* from, void* to) noexcept {
        ::new (to) F(std::move(*static_cast<F*>(from)));
        std::destroy_at(static_cast<F*>(from));
      },
      [](void* at) noexcept { std::destroy_at(static_cast<F*>(at)); }};
  template <typename F>
  static constexpr Operations kOutside{
      [](void* at, Args&&... args) -> R { return (**static_cast<F**>(at))(std::forward<Args>(args)...); },
      [](void* from, void* to) noexcept { ::new (to) F*(*static_cast<F**>(from)); },
      [](void* at) noexcept { delete *static_cast<F**>(at); }};

  void take(UniqueFunction& other) noexcept {
    operations_ = std::exchange(other.operations_, nullptr);
    if (operations_) operations_->relocate(other.storage_, storage_);
  }
  void reset() noexcept {
    if (operations_) std::exchange(operations_, nullptr)->destroy(storage_);
  }

  alignas(std::max_align_t) std::byte storage_[48];
  const Operations* operations_ = nullptr;
};

}  // namespace weft::detail
