// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/call/awaited_call.hpp"
#include "weft/detail/calls/threads/call_errand.hpp"
#include "weft/detail/codec/hooks.hpp"
#include "weft/detail/coro/awaited_first.hpp"
#include "weft/detail/coro/frame_pool.hpp"
#include "weft/detail/functions/codec_answer.hpp"
#include "weft/detail/functions/encoded_ahead.hpp"
#include "weft/detail/functions/method.hpp"
#include "weft/detail/functions/received.hpp"
#include "weft/detail/functions/views.hpp"
#include "weft/detail/runtime/late_end.hpp"

namespace weft {

namespace detail {

/// Says how an argument that was given as `Given` is kept until it is encoded as `Parameter`.
template <typename Parameter, typename Given>
struct KeptArgument {
  using Plain = std::remove_cvref_t<Given>;
  static constexpr bool same = std::is_same_v<Plain, Parameter>;
  // Text is encoded from a view, for every string type of the caller: it is not copied here.
  static constexpr bool text =
      (std::is_same_v<Parameter, std::string> || std::is_same_v<Parameter, std::string_view>) &&
      std::is_convertible_v<Given, std::string_view> &&
      (std::is_lvalue_reference_v<Given> || !std::is_same_v<Plain, std::string>);
  using Type = std::conditional_t<
      text, std::string_view,
      std::conditional_t<same && std::is_lvalue_reference_v<Given>, const Parameter&, Parameter>>;
};
// A string given as a temporary to a string_view parameter is kept whole: the view would outlive it.
template <>
struct KeptArgument<std::string_view, std::string> {
  using Type = std::string;
};

template <typename List, typename... Given>
struct KeptArguments;
template <typename... Parameters, typename... Given>
struct KeptArguments<TypeList<Parameters...>, Given...> {
  using Tuple = std::tuple<typename KeptArgument<Parameters, Given>::Type...>;
};

template <typename List, typename... Given>
inline constexpr bool callable_with = false;
template <typename... Parameters, typename... Given>
  requires(sizeof...(Parameters) == sizeof...(Given))
inline constexpr bool callable_with<TypeList<Parameters...>, Given...> =
    // NOLINTNEXTLINE(misc-redundant-expression): a pack, not a pair
    (std::is_convertible_v<Given, Parameters> && ...);

/// The two concepts are for the compiler's words: it prints what stands between the brackets.
template <std::size_t Number, typename Parameter, typename Given>
concept ArgumentFits = std::is_convertible_v<Given, Parameter>;
template <std::size_t Wanted, std::size_t Given>
concept ArgumentsCounted = Wanted == Given;

/// Index of the first argument that does not convert to its parameter.
template <typename... Parameters, typename... Given>
consteval std::size_t first_misfit(TypeList<Parameters...>, TypeList<Given...>) {
  std::size_t index = 0;
  // NOLINTNEXTLINE(misc-redundant-expression): a pack, not a pair
  static_cast<void>(((std::is_convertible_v<Given, Parameters> && (++index, true)) && ...));
  return index;
}

template <std::size_t Number, typename Parameter, typename Given>
consteval void explain_argument() {
  static_assert(
      ArgumentFits<Number, Parameter, Given>,
      "weft cannot make this call: an argument does not convert to its parameter; beside this message "
      "stand the Number of the argument, the Parameter that the function has there, and the Given "
      "type");
}

/// Fails to compile with the reason in words when a function of these parameters cannot be called with these
/// arguments. Names the first bad argument. Few functions, because compilers list each on the way to an
/// error.
template <typename... Parameters, typename... Given>
consteval void explain_arguments(TypeList<Parameters...>, TypeList<Given...>) {
  static_assert(ArgumentsCounted<sizeof...(Parameters), sizeof...(Given)>,
                "weft cannot make this call: it has too few or too many arguments (CallOptions come first); "
                "beside this message stand the number Wanted by the function and the number Given");
  if constexpr (sizeof...(Parameters) == sizeof...(Given)) {
    constexpr std::size_t kMisfit = first_misfit(TypeList<Parameters...>{}, TypeList<Given...>{});
    if constexpr (kMisfit < sizeof...(Given)) {
      explain_argument<kMisfit + 1, std::tuple_element_t<kMisfit, std::tuple<Parameters...>>,
                       std::tuple_element_t<kMisfit, std::tuple<Given...>>>();
    }
  }
}

template <typename... Given>
inline constexpr bool options_first = false;
template <typename First, typename... Others>
inline constexpr bool options_first<First, Others...> =
    std::is_same_v<std::remove_cvref_t<First>, CallOptions>;

/// The method `M` can be called with arguments of these types (implicit conversions allowed).
template <auto M, typename... Given>
concept CallableWith = callable_with<typename MethodTraits<M>::Arguments, Given...>;

/// Arguments without options before them.
template <typename... Given>
concept WithoutOptions = !options_first<Given...>;

/// Type of the value that a call of `M` returns, which is a call of one answer.
template <auto M>
struct ResultOfCall {
  static_assert(!has_items<MethodTraits<M>>,
                "weft cannot make this call: the function is a stream, for it takes a Reader or a Writer or "
                "returns a Stream; open it: auto stream = client.open<f>(arguments...)");
  using Owned = typename OwnedResult<typename MethodTraits<M>::Result>::Type;
  static_assert(!holds_view<Owned>,
                "weft cannot make this call: its result holds views, and the answer that they would show is "
                "gone when the caller has it; let the handler return a type that owns what it holds, or call "
                "it by its key with such a type: weft::remote<\"key\", R(...)>");
  // Void after an error, so that nothing else is reported.
  using Type = std::conditional_t<holds_view<Owned>, void, Owned>;
};

/// Type of the value that a call of `M` returns.
template <auto M>
using ResultOfMethod = typename ResultOfCall<M>::Type;

template <typename List>
inline constexpr bool arguments_may_have_runs = false;
template <typename... Parameters>
inline constexpr bool arguments_may_have_runs<TypeList<Parameters...>> = may_have_runs<Parameters...>();

template <typename List>
inline constexpr bool arguments_run_hooks = false;
template <typename... Parameters>
inline constexpr bool arguments_run_hooks<TypeList<Parameters...>> = runs_hooks<Parameters...>();

/// The arguments of one call of `M`, and its result, which `Reader` decodes. Arguments that were given as
/// lvalues are referred to until the call has ended.
template <auto M, AnswerReader Reader, typename... Given>
class BodyReadBy final : public Reader {
  static constexpr bool kMayHaveRuns = arguments_may_have_runs<typename MethodTraits<M>::Arguments>;
  static constexpr bool kRunsHooks = arguments_run_hooks<typename MethodTraits<M>::Arguments>;

 public:
  template <typename... Arguments>
    requires(sizeof...(Arguments) == sizeof...(Given))
  explicit BodyReadBy(std::in_place_t, Arguments&&... arguments)
      : arguments_(std::forward<Arguments>(arguments)...) {}
  /// Takes the arguments of a call that has not begun, and gives `reader` to its answer.
  template <AnswerReader Other>
  BodyReadBy(BodyReadBy<M, Other, Given...>&& other, Reader reader)
      : Reader(std::move(reader)), arguments_(std::move(other.arguments_)) {}

  static constexpr bool kReadsAnyAnswer = true;
  /// The same call with another reader of its answer, see AwaitedCall.
  template <typename Other>
  using ReadBy = BodyReadBy<M, Other, Given...>;
  template <typename Value>
  using ReaderInto = AnswerInto<Value>;
  template <typename View>
  using ReaderInPlace = AnswerInPlace<ViewOr<View, typename MethodTraits<M>::Result>>;
  template <typename Value>
  static consteval bool explain_reading_into() {
    return explain_into<Value, typename MethodTraits<M>::Result>();
  }
  template <typename View>
  static consteval bool explain_viewing() {
    using Declared = typename MethodTraits<M>::Result;
    return explain_view<ViewOr<View, Declared>, Declared>();
  }

  /// Encodes the arguments ahead if that runs user code, once: a fleet calls this for each attempt.
  Status check() const
    requires kRunsHooks
  {
    if (ahead_.is_done()) return {};
    const LateEnd::Guard guard;
    try {
      std::apply([this](const auto&... values) { ahead_.encode(values...); }, arguments_);
    } catch (...) {  // a hook of the user's
      return failure_of_encoding();
    }
    return {};
  }
  std::size_t bytes() const {
    if constexpr (kRunsHooks) {
      return ahead_.size();
    } else {
      return std::apply([](const auto&... values) { return encoded_size(values...); }, arguments_);
    }
  }
  void write(std::byte* to) const {
    if constexpr (kRunsHooks) {
      ahead_.copy_to(to);
    } else {
      std::apply([to](const auto&... values) { encode_plain_to(to, values...); }, arguments_);
    }
  }
  void find_runs(LentRuns& runs) const
    requires kMayHaveRuns
  {
    if constexpr (kRunsHooks) {
      ahead_.find_runs_into(runs);
    } else {
      std::apply([&](const auto&... values) { detail::find_runs(runs, values...); }, arguments_);
    }
  }
  void write_around(std::byte* to, LentRuns& runs) const
    requires kMayHaveRuns
  {
    if constexpr (kRunsHooks) {
      ahead_.copy_to(to, &runs);
    } else {
      std::apply([&](const auto&... values) { detail::encode_plain_around(to, runs, values...); },
                 arguments_);
    }
  }

 private:
  template <auto, AnswerReader, typename...>
  friend class BodyReadBy;
  struct NotAhead {
    NotAhead() = default;
    NotAhead(NotAhead&&) noexcept {}
  };

  typename KeptArguments<typename MethodTraits<M>::Arguments, Given...>::Tuple arguments_;
  [[no_unique_address]] mutable std::conditional_t<kRunsHooks, EncodedAhead, NotAhead> ahead_;
};

template <auto M, typename... Given>
using CodecBody = BodyReadBy<M, CodecAnswer<ResultOfMethod<M>>, Given...>;

/// Awaitable that `client.call<f>(...)` returns; awaited in the expression that made it.
template <auto M, typename Details, typename... Given>
using CallAwaitable = AwaitedCall<CodecBody<M, Given...>, Returns::kResult, Details>;

/// The encoded arguments of a call that may be written later, or again. Memory of the cache that coroutine
/// frames come from, so that keeping small ones is no allocation.
class KeptRequest {
 public:
  KeptRequest() = default;
  KeptRequest(const KeptRequest&) = delete;
  KeptRequest& operator=(const KeptRequest&) = delete;
  ~KeptRequest() { drop(); }

  /// Throws what encoding throws, and std::bad_alloc.
  template <typename... Arguments>
  void keep(std::size_t size, const Arguments&... arguments) {
    drop();
    bytes_ = static_cast<std::byte*>(allocate_frame(room(size)));
    size_ = size;
    encode_to(bytes_, size, arguments...);
    whole_ = true;
  }
  bool is_kept() const noexcept { return whole_; }
  std::size_t size() const noexcept { return size_; }
  void copy_to(std::byte* to) const {
    if (size_ != 0) std::memcpy(to, bytes_, size_);
  }

 private:
  static std::size_t room(std::size_t size) { return size == 0 ? 1 : size; }
  void drop() {
    if (bytes_ != nullptr) release_frame(bytes_, room(size_));
    bytes_ = nullptr;
  }

  std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
  bool whole_ = false;
};

/// The record behind a Call: lives until both the call's end and the handle's.
template <typename R>
class StartedCall final : WithDetails, public AnsweredCall<CodecAnswer<R>> {
  using Base = AnsweredCall<CodecAnswer<R>>;

 public:
  StartedCall(CallTarget& target, const MethodKey& method, const CallOptions& options)
      : WithDetails(options, true),
        Base(target, method, WithDetails::get()),
        repeats_(target.repeats_calls()) {
    WithDetails::details.keeps_body = false;
  }

  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* block, std::size_t size) noexcept { release_frame(block, size); }

  template <typename... Arguments>
  void start(const Arguments&... arguments) {
    if constexpr (runs_hooks<Arguments...>()) return start_ahead(arguments...);
    const std::size_t size = encoded_size(arguments...);
    if (repeats_) keep_to_repeat(size, arguments...);
    const Begun begun = Base::begin(nullptr, size);
    if (begun.body != nullptr) {
      try {
        encode_to(begun.body, size, arguments...);
      } catch (...) {  // a hook of the user's
        return Base::take_back(begun.body);
      }
      if (begun.needs_sent()) Base::sent();
    } else if (begun.waits() && !kept_.is_kept()) {
      kept_.keep(size, arguments...);
      WithDetails::details.keeps_body = true;
    }
  }

  /// The result was given away.
  bool taken = false;

  using Base::take_result;
  using PendingCall::limit;
  Result<Answer<R>> take_answer() { return Base::take_answer(WithDetails::details); }

 private:
  // User hooks run before the call begins.
  template <typename... Arguments>
  void start_ahead(const Arguments&... arguments) {
    const LateEnd::Guard guard;
    std::size_t size = kUnencodable;
    try {
      size = encoded_size(arguments...);
      if (size != kUnencodable) kept_.keep(size, arguments...);
    } catch (...) {
      static_cast<void>(Base::refuse(failure_of_encoding()));
      return;
    }
    WithDetails::details.keeps_body = size != kUnencodable;
    const Begun begun = Base::begin(nullptr, size);
    if (begun.body == nullptr) return;
    kept_.copy_to(begun.body);
    if (begun.needs_sent()) Base::sent();
  }

  // One that cannot be kept is begun all the same, and not repeated.
  template <typename... Arguments>
  void keep_to_repeat(std::size_t size, const Arguments&... arguments) noexcept {
    if (size == kUnencodable) return;
    try {
      kept_.keep(size, arguments...);
      WithDetails::details.keeps_body = true;
    } catch (...) {  // NOLINT(bugprone-empty-catch): the call itself reports exceptions of encoding
    }
  }

  std::size_t body_bytes() const override { return kept_.size(); }
  void encode_body(std::byte* to) const override { kept_.copy_to(to); }

  KeptRequest kept_;
  const bool repeats_;
};

}  // namespace detail

/// A call that is already on its way: what `client.start<f>(...)` gives. `co_await std::move(call)` gives its
/// Result, now or later, once; destroying it cancels it. Movable. Thread: the client's loop.
/// Must not outlive its client.
template <typename R>
class [[nodiscard("dropping a Call cancels it")]] Call : public detail::AwaitedBefore<Result<R>> {
 public:
  Call() = default;
  explicit Call(std::unique_ptr<detail::StartedCall<R>> record) : record_(std::move(record)) {}

  /// The call has ended: awaiting it does not wait.
  bool done() const { return record_ == nullptr || record_->done(); }
  /// Ends it with a cancelled status and tells the peer; it can still be awaited.
  void cancel() {
    if (record_) record_->on_cancel(CancelReason::kRequested);
  }

  /// Waits for the result. Cancel: the call itself is cancelled.
  auto operator co_await() && { return Awaiter<false>{record_to_await()}; }
  /// A Call is awaited once: say so by std::move.
  void operator co_await() & = delete;
  /// Waits for the result and the attachment that came with it. Refers to this Call.
  auto with_attachment() && { return Awaiter<true>{record_to_await()}; }

 private:
  detail::StartedCall<R>& record_to_await() {
    WEFT_ASSERT(record_ != nullptr, "a Call that is empty, or was moved from, cannot be awaited");
    WEFT_ASSERT(!record_->taken && !record_->has_waiter(), "a Call is awaited once");
    return *record_;
  }

  template <bool kWithAttachment>
  class [[nodiscard]] Awaiter : CancelListener {
   public:
    explicit Awaiter(detail::StartedCall<R>& record) : record_(&record) {}
    /// Moves only before it is awaited.
    Awaiter(Awaiter&& other) noexcept : record_(other.record_) {}
    Awaiter& operator=(Awaiter&&) = delete;
    ~Awaiter() { record_->take_waiter_back(resumption_); }

    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
      CancelScope* const scope = detail::cancel_scope_of(coroutine);
      const bool cancelled = scope != nullptr && scope->cancelled();
      if (cancelled) {
        record_->on_cancel(scope->reason());
      } else if (scope != nullptr) {
        record_->limit(scope->deadline());
      }
      // A cancelled call ends later if a device still uses its memory.
      if (record_->done()) return detail::gives_way(resumption_, coroutine);
      if (scope != nullptr && !cancelled) scope->add(*this);
      resumption_.handle = coroutine;
      record_->set_waiter(&resumption_);
      return true;
    }
    auto await_resume() {
      record_->taken = true;
      if constexpr (kWithAttachment) {
        return record_->take_answer();
      } else {
        return record_->take_result();
      }
    }

   private:
    void on_cancel(CancelReason reason) noexcept override { record_->on_cancel(reason); }

    detail::StartedCall<R>* record_;
    detail::Resumption resumption_;
  };

  std::unique_ptr<detail::StartedCall<R>> record_;
};

}  // namespace weft
