// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/call/pending_call.hpp"
#include "weft/detail/calls/terms/answer.hpp"
#include "weft/detail/coro/awaited_first.hpp"

/// Extension point of the calling side: calls with requests encoded and answers decoded by another layer.
/// Function calls are one user, weft::protobuf is another.
namespace weft::detail {

/// Reads the answer from the chunk where it was received, which may be null or another one, and may keep it.
template <typename A>
concept InPlaceReader = requires(A& answer, Bytes body, const ChunkRef* chunk, Status& failure) {
  { answer.read(body, chunk, failure) } noexcept;
};

/// Decodes the body of an answer. read() is called once, and only when there is a body; when decoding fails
/// it sets `failure`, which becomes the call's. take() then returns the decoded `Value`, unless that is void.
template <typename A>
concept AnswerReader = requires(A& answer, Bytes body, Status& failure) {
  typename A::Value;
  requires InPlaceReader<A> || requires {
    { answer.read(body, failure) } noexcept;
  };
  requires std::is_void_v<typename A::Value> || requires {
    { answer.take() } -> std::convertible_to<typename A::Value>;
  };
};

/// Encodes the body of a request, and decodes the answer's. write() gets room for the number of bytes that
/// bytes() has just returned, possibly after the await began if the call had to wait for its connection. The
/// call fails if bytes() returns kUnencodable. check(), if it exists, is called before both; its failure
/// becomes the call's.
template <typename B>
concept CallBody = AnswerReader<B> && std::move_constructible<B> && requires(const B& body, std::byte* to) {
  { body.bytes() } -> std::convertible_to<std::size_t>;
  body.write(to);
};

/// Reports long runs of its body that remain unchanged in place until the call has ended, so that they can be
/// sent without a copy. find_runs() offers them; write_around() is write() without the runs that were
/// accepted.
template <typename B>
concept LendingBody = requires(const B& body, std::byte* to, LentRuns& runs) {
  body.find_runs(runs);
  body.write_around(to, runs);
};

/// A body that says so may be moved into a body with another reader of its answer, ReadBy<Reader>.
template <typename B>
concept RereadableBody = requires { B::kReadsAnyAnswer; };

/// Holds the body of a call. The connection may read the body until the call is destroyed, so this base class
/// is listed before the call and is destroyed after it.
template <AnswerReader Reader>
class WithBody {
 protected:
  template <typename... Arguments>
  explicit WithBody(std::in_place_t, Arguments&&... arguments)
      : body_(std::forward<Arguments>(arguments)...) {}
  ~WithBody() = default;

  Reader body_;
};

/// The part of a call that knows the type of its answer.
template <AnswerReader Reader>
class AnsweredCall : protected WithBody<Reader>, public PendingCall {
 public:
  using R = typename Reader::Value;

  template <typename... Arguments>
  AnsweredCall(CallTarget& target, const MethodKey& method, CallDetails* details, Arguments&&... arguments)
      : WithBody<Reader>(std::in_place, std::forward<Arguments>(arguments)...),
        PendingCall(target, method, details) {}
  /// May only be moved before the call begins.
  AnsweredCall(AnsweredCall&& other, CallDetails* details) noexcept
      : WithBody<Reader>(std::in_place, std::move(other.body_)),
        PendingCall(std::move(other), details) {}  // NOLINT(bugprone-use-after-move): each takes its part
  /// Takes over a call whose answer another reader was to read; `to_read` constructs the new one's part.
  template <AnswerReader Other, typename ToRead>
  AnsweredCall(AnsweredCall<Other>&& other, CallDetails* details, ToRead&& to_read)
      : WithBody<Reader>(std::in_place, std::move(other.body_), std::forward<ToRead>(to_read)),
        PendingCall(std::move(other), details) {}  // NOLINT(bugprone-use-after-move): each takes its part

 protected:
  template <AnswerReader>
  friend class AnsweredCall;
  ~AnsweredCall() = default;

  void decode_answer(Bytes body, Status& failure) noexcept final {
    if constexpr (requires { requires Reader::kReadsByHooks; }) {
      const Reading reading{*this};
      read(body, failure);
    } else {
      read(body, failure);
    }
  }

  Result<R> take_result() {
    Status failure = take_failure();
    if (!failure.ok()) return failure;
    if constexpr (std::is_void_v<R>) {
      return {};
    } else {
      return body_.take();
    }
  }

  Result<Answer<R>> take_answer(CallDetails& details) {
    Status failure = take_failure();
    if (!failure.ok()) return failure;
    if constexpr (std::is_void_v<R>) {
      return Answer<R>{details.answer_attachment_bytes, std::move(details.answer_attachment)};
    } else {
      return Answer<R>{body_.take(), details.answer_attachment_bytes, std::move(details.answer_attachment)};
    }
  }

  using WithBody<Reader>::body_;

 private:
  void read(Bytes body, Status& failure) noexcept {
    if constexpr (InPlaceReader<Reader>) {
      body_.read(body, received_in(), failure);
    } else {
      body_.read(body, failure);
    }
  }
};

/// Base classes for objects that must outlive the call. They are listed before the call, and so are destroyed
/// after it.
struct WithDetails {
  explicit WithDetails(const CallOptions& options, bool returns_attachment = false)
      : details(options, returns_attachment) {}
  CallDetails* get() { return &details; }
  CallDetails details;
};
struct WithoutDetails {
  CallDetails* get() { return nullptr; }
};

/// Chooses the value of an awaited call: its result, or the result and the attachment.
enum class Returns : std::uint8_t { kResult, kAnswer };

/// A call that begins when it is awaited, once, directly or within when_all(), race() or block_on(). Objects
/// to which its body refers must stay in place, unchanged, until the call has ended. Cancel: total while the
/// call waits for a connection; after that the peer is notified and the outcome is unknown. `Details` is
/// WithDetails for a call with options, which kAnswer requires.
template <CallBody Body, Returns kReturns, typename Details>
class [[nodiscard("a call is made when it is awaited: co_await client.call<f>(...)")]] AwaitedCall final
    : Details,
      AnsweredCall<Body>,
      public AwaitedBefore<std::conditional_t<
          kReturns == Returns::kAnswer, Result<Answer<typename Body::Value>>, Result<typename Body::Value>>> {
  using Base = AnsweredCall<Body>;

 public:
  /// `its` are the details, or the options of the call to construct the details from.
  template <typename Its, typename... Arguments>
  AwaitedCall(CallTarget& target, const MethodKey& method, Its&& its, Arguments&&... arguments)
      : Details(std::forward<Its>(its)),
        Base(target, method, Details::get(), std::forward<Arguments>(arguments)...) {}
  /// Takes over a call with the same body, with or without options. Only before it is awaited.
  AwaitedCall(Details&& its, Base&& call) noexcept
      : Details(std::move(its)), Base(std::move(call), Details::get()) {}
  /// The same for a call whose body reads its answer in another way.
  template <CallBody Other, typename ToRead>
  AwaitedCall(Details&& its, AnsweredCall<Other>&& call, ToRead&& to_read)
      : Details(std::move(its)), Base(std::move(call), Details::get(), std::forward<ToRead>(to_read)) {}
  /// May only be moved before it is awaited.
  AwaitedCall(AwaitedCall&& other) noexcept
      : Details(std::move(other)),
        Base(std::move(other), Details::get()) {}  // NOLINT(bugprone-use-after-move): each takes its part

  /// Returns the attachment of the answer too: Result<Answer<R>>. Only before it is awaited.
  auto with_attachment() &&
      requires(kReturns == Returns::kResult) {
        using WithAttachment = AwaitedCall<Body, Returns::kAnswer, WithDetails>;
        Base& call = *this;
        if constexpr (std::is_same_v<Details, WithDetails>) {
          Details::details.returns_attachment = true;
          return WithAttachment{static_cast<Details&&>(*this), std::move(call)};
        } else {
          return WithAttachment{WithDetails{CallOptions{}, true}, std::move(call)};
        }
      }

      /// Decodes the result into `value`, whose memory is used again: a Result<void>. `value` stays in place,
      /// and is not used, until the call has ended; afterwards nothing refers to it, however the call ended,
      /// and also when the awaiting coroutine was destroyed. A call that fails leaves it as it was, but for
      /// one whose answer cannot be decoded: then it is valid, with unspecified content. Only before it is
      /// awaited.
      template <typename Value>
        requires RereadableBody<Body>
      auto into(Value& value) && {
    if constexpr (Body::template explain_reading_into<Value>()) {
      return std::move(*this).read_by(typename Body::template ReaderInto<Value>{value});
    } else {
      return AwaitedCall{std::move(*this)};
    }
  }

  /// Gives the result where it was received, without a copy of a long one: `Result<Received<View>>`. The
  /// view of a string is std::string_view, and the view of a vector is std::span; for other types name one
  /// with the same schema. Only before it is awaited.
  template <typename View = void>
    requires RereadableBody<Body>
  auto view() && {
    if constexpr (Body::template explain_viewing<View>()) {
      return std::move(*this).read_by(typename Body::template ReaderInPlace<View>{});
    } else {
      return AwaitedCall{std::move(*this)};
    }
  }

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) {
    resumption_.handle = coroutine;
    if constexpr (requires(const Body& body) { body.check(); }) {
      if (Status misuse = Base::body_.check(); !misuse.ok()) [[unlikely]] {
        static_cast<void>(Base::refuse(std::move(misuse)));
        return gives_way(resumption_);
      }
    }
    Base::set_waiter(&resumption_);
    const Begun begun = Base::begin(cancel_scope_of(coroutine), body_bytes());
    if (begun.body != nullptr) [[likely]] {
      try {
        encode_body(begun.body);
      } catch (...) {  // a hook of the user's
        Base::take_back(begun.body);
        return gives_way(resumption_);
      }
      if (begun.needs_sent()) Base::sent();
      return true;
    }
    return !begun.has_ended() || gives_way(resumption_);
  }
  auto await_resume() {
    if constexpr (kReturns == Returns::kAnswer) {
      return Base::take_answer(Details::details);
    } else {
      return Base::take_result();
    }
  }

 private:
  template <AnswerReader Reader>
  auto read_by(Reader reader) && {
    Base& call = *this;
    return AwaitedCall<typename Body::template ReadBy<Reader>, kReturns, Details>{
        static_cast<Details&&>(*this), std::move(call), std::move(reader)};
  }

  std::size_t body_bytes() const final { return Base::body_.bytes(); }
  void encode_body(std::byte* to) const final { Base::body_.write(to); }
  void find_runs(LentRuns& runs) const final {
    if constexpr (LendingBody<Body>) Base::body_.find_runs(runs);
  }
  void encode_around(std::byte* to, LentRuns& runs) const final {
    if constexpr (LendingBody<Body>) Base::body_.write_around(to, runs);
  }

  Resumption resumption_;
};

}  // namespace weft::detail
