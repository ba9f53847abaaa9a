// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "weft/calls/reply_right.hpp"
#include "weft/codec/codec.hpp"

namespace weft {

/// The right and the duty to answer one call, now or later, from any thread: the first parameter of a
/// delayed-reply handler `void handler(Reply<R> reply, ...)`. Movable; used up by the first answer, which a
/// second use asserts. When all have been dropped unused and the handler has ended, the caller hears
/// kInternal, or what the handler threw. Keep none longer than the server: stopping waits for it.
template <typename R>
class Reply {
 public:
  explicit Reply(ServedCall& call) : right_(call) {}

  void operator()(const R& value) && {
    const std::size_t size = encoded_size(value);
    if (size > right_.body_bytes_max()) return right_.fail_over_limit(size);
    std::vector<std::byte> body(size);
    encode_to(body.data(), value);
    right_.send(std::move(body));
  }
  void operator()(Result<R> result) && {
    if (!result.ok()) return right_.fail(std::move(result).status());
    std::move (*this)(*result);
  }
  /// `failure` must not be ok.
  void fail(Status failure) && { right_.fail(std::move(failure)); }
  /// Nobody waits for the answer any more. Any thread.
  bool cancelled() const { return right_.cancelled(); }
  /// An answer was given already, or the right moved on.
  bool used() const { return right_.used(); }

 private:
  detail::ReplyRight right_;
};

template <>
class Reply<void> {
 public:
  explicit Reply(ServedCall& call) : right_(call) {}

  void operator()() && { right_.send({}); }
  void fail(Status failure) && { right_.fail(std::move(failure)); }
  bool cancelled() const { return right_.cancelled(); }
  /// An answer was given already, or the right moved on.
  bool used() const { return right_.used(); }

 private:
  detail::ReplyRight right_;
};

}  // namespace weft
