// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "weft/detail/calls/serve/reply_right.hpp"
#include "weft/detail/codec/codec.hpp"
#include "weft/detail/functions/views.hpp"

namespace weft {

namespace detail {

template <typename...>
inline constexpr bool is_moved_reply = false;

/// Types that a reply of the view `R` accepts too: owners of the bytes, and other types that convert to such
/// a view.
template <typename Owner, typename R>
concept ShownAs = holds_view<R> && std::convertible_to<const Owner&, R> && !std::same_as<Owner, R> &&
                  !std::same_as<Owner, Result<R>>;

}  // namespace detail

/// The right and the duty to answer one call, now or later, from any thread: the first parameter of a
/// delayed-reply handler `void handler(Reply<R> reply, ...)`. Movable; used up by the first answer; a second
/// use is asserted. When all were dropped unused and the handler has ended, the caller gets kInternal, or the
/// handler's exception. Must not outlive the server: stopping waits for it.
///
/// An answer is encoded before the call returns, so a view must be valid until then only. A
/// Reply<std::string_view> accepts a std::string as well, and a Reply of a span its container.
template <typename R>
class Reply {
 public:
  explicit Reply(detail::ServedCall& call) : right_(call) {}

  void operator()(const R& value) && {
    detail::AnswerBody body;
    const std::size_t size = detail::encoded_size(value);
    if (!right_.make_answer(size, body)) return;
    detail::encode_to(body.data(), size, value);
    right_.send(std::move(body));
  }
  void operator()(Result<R> result) && {
    if (!result.ok()) return right_.fail(std::move(result).status());
    std::move (*this)(*result);
  }
  template <detail::ShownAs<R> Owner>
  void operator()(const Owner& value) && {
    const R view = value;
    std::move (*this)(view);
  }
  template <detail::ShownAs<R> Owner>
  void operator()(const Result<Owner>& result) && {
    if (!result.ok()) return right_.fail(result.status());
    std::move (*this)(*result);
  }
  /// Refuses a Reply that is used by its name.
  template <typename... Given>
  void operator()(Given&&...) & {
    static_assert(detail::is_moved_reply<Given...>,
                  "weft answers a call once, and this uses the Reply up: write std::move(reply)(value)");
  }
  /// `failure` must not be ok.
  void fail(Status failure) && { right_.fail(std::move(failure)); }
  /// True if the caller does not wait for the answer any more. Thread: any.
  bool cancelled() const { return right_.cancelled(); }
  /// An answer was given already, or the right moved on.
  bool used() const { return right_.used(); }

 private:
  detail::ReplyRight right_;
};

template <>
class Reply<void> {
 public:
  explicit Reply(detail::ServedCall& call) : right_(call) {}

  void operator()() && { right_.send({}); }
  /// Refuses a Reply that is used by its name.
  template <typename... Given>
  void operator()(Given&&...) & {
    static_assert(detail::is_moved_reply<Given...>,
                  "weft answers a call once, and this uses the Reply up: write std::move(reply)(value)");
  }
  void fail(Status failure) && { right_.fail(std::move(failure)); }
  bool cancelled() const { return right_.cancelled(); }
  /// An answer was given already, or the right moved on.
  bool used() const { return right_.used(); }

 private:
  detail::ReplyRight right_;
};

}  // namespace weft
