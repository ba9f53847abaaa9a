// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "weft/base/result.hpp"
#include "weft/calls/answer.hpp"
#include "weft/calls/pending_call.hpp"

/// The seam on the calling side: a call whose request and answer somebody else writes and reads. Calls of
/// functions are one user of it, weft::protobuf is another.
namespace weft {

/// Reads the body of an answer: read(), once and only where there is one, sets `failure`, which becomes the
/// call's, when the bytes are none. What it read is take()n as a `Value`, unless that is void.
template <typename A>
concept AnswerReader = requires(A& answer, Bytes body, Status& failure) {
  typename A::Value;
  { answer.read(body, failure) } noexcept;
  requires std::is_void_v<typename A::Value> || requires {
    { answer.take() } -> std::convertible_to<typename A::Value>;
  };
};

/// Writes the body of a request too: write() gets room for as many bytes as bytes() has just said, and may be
/// called later than the await, when the call had to wait for its connection. bytes() may be kUnencodable,
/// and then the call fails. A check() that is there is asked before both; its failure becomes the call's.
template <typename B>
concept CallBody = AnswerReader<B> && std::move_constructible<B> && requires(const B& body, std::byte* to) {
  { body.bytes() } -> std::convertible_to<std::size_t>;
  body.write(to);
};

namespace detail {

/// The part of a call that knows what its answer is.
template <AnswerReader Reader>
class AnsweredCall : public PendingCall {
 public:
  using R = typename Reader::Value;

  template <typename... Arguments>
  AnsweredCall(CallTarget& target, const MethodKey& method, CallExtras* extras, Arguments&&... arguments)
      : PendingCall(target, method, extras), body_(std::forward<Arguments>(arguments)...) {}
  /// Only before it is begun.
  AnsweredCall(AnsweredCall&& other, CallExtras* extras) noexcept
      : PendingCall(std::move(other), extras),
        body_(std::move(other.body_)) {}  // NOLINT(bugprone-use-after-move)

 protected:
  ~AnsweredCall() = default;

  void decode_answer(Bytes body, Status& failure) noexcept final { body_.read(body, failure); }

  Result<R> take_result() {
    Status failure = take_failure();
    if (!failure.ok()) return failure;
    if constexpr (std::is_void_v<R>) {
      return {};
    } else {
      return body_.take();
    }
  }

  Result<Answer<R>> take_answer(CallExtras& extras) {
    Status failure = take_failure();
    if (!failure.ok()) return failure;
    if constexpr (std::is_void_v<R>) {
      return Answer<R>{extras.answer_attachment_bytes, std::move(extras.answer_attachment)};
    } else {
      return Answer<R>{body_.take(), extras.answer_attachment_bytes, std::move(extras.answer_attachment)};
    }
  }

  Reader body_;
};

/// Base classes that hold what has to outlive a call; they are listed before it, so that they are destroyed
/// after it.
struct WithExtras {
  WithExtras(const CallOptions& options, bool gives_attachment) : extras(options, gives_attachment) {}
  CallExtras* get() { return &extras; }
  CallExtras extras;
};
struct WithoutExtras {
  CallExtras* get() { return nullptr; }
};

/// Chooses the value of an awaited call: its result, or the result and the attachment.
enum class Gives : std::uint8_t { kResult, kAnswer };

}  // namespace detail

/// A call that is made when it is awaited, once, by itself or within when_all(), race() or block_on(). What
/// its body refers to stays until then. Cancel: total while it waits for a connection, after that the peer is
/// told and the outcome is unknown. `Extras` is WithExtras for a call with options, kAnswer needs it.
template <CallBody Body, detail::Gives kGives, typename Extras>
class [[nodiscard("a call is made when it is awaited: co_await client.call<f>(...)")]] AwaitedCall final
    : Extras,
      detail::AnsweredCall<Body> {
  using Base = detail::AnsweredCall<Body>;

 public:
  template <typename... Arguments>
  AwaitedCall(CallTarget& target, const MethodKey& method, Extras its, Arguments&&... arguments)
      : Extras(std::move(its)), Base(target, method, Extras::get(), std::forward<Arguments>(arguments)...) {}
  /// Takes over a call of the same body, with or without options. Only before it is awaited.
  AwaitedCall(Extras its, Base&& call) noexcept
      : Extras(std::move(its)), Base(std::move(call), Extras::get()) {}
  /// Only before it is awaited.
  AwaitedCall(AwaitedCall&& other) noexcept
      : Extras(std::move(other)),
        Base(std::move(other), Extras::get()) {}  // NOLINT(bugprone-use-after-move): each takes its part

  /// Gives the attachment of the answer too: Result<Answer<R>>. Only before it is awaited.
  auto with_attachment() &&
      requires(kGives == detail::Gives::kResult) {
        using WithAttachment = AwaitedCall<Body, detail::Gives::kAnswer, detail::WithExtras>;
        Base& call = *this;
        if constexpr (std::is_same_v<Extras, detail::WithExtras>) {
          Extras::extras.gives_attachment = true;
          return WithAttachment{static_cast<Extras&&>(*this), std::move(call)};
        } else {
          return WithAttachment{detail::WithExtras{CallOptions{}, true}, std::move(call)};
        }
      }

      bool await_ready() const noexcept {
    return false;
  }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) {
    if constexpr (requires(const Body& body) { body.check(); }) {
      if (Status misuse = Base::body_.check(); !misuse.ok()) [[unlikely]] {
        static_cast<void>(Base::refuse(std::move(misuse)));
        return false;
      }
    }
    resumption_.handle = coroutine;
    Base::set_waiter(&resumption_);
    const Begun begun = Base::begin(cancel_scope_of(coroutine), body_bytes());
    if (begun.body != nullptr) [[likely]] {
      try {
        encode_body(begun.body);
      } catch (...) {  // a hook of the user's
        Base::take_back(begun.body);
        return false;
      }
      if (begun.needs_sent()) Base::sent();
      return true;
    }
    return begun.waits();
  }
  auto await_resume() {
    if constexpr (kGives == detail::Gives::kAnswer) {
      return Base::take_answer(Extras::extras);
    } else {
      return Base::take_result();
    }
  }

 private:
  std::size_t body_bytes() const final { return Base::body_.bytes(); }
  void encode_body(std::byte* to) const final { Base::body_.write(to); }

  Resumption resumption_;
};

}  // namespace weft
