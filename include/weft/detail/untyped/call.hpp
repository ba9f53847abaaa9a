// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/lent_runs.hpp"
#include "weft/detail/calls/call/awaited_call.hpp"
#include "weft/detail/calls/call/caller.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/untyped/method.hpp"

namespace weft {

namespace detail {

/// Copies `message` to `to`. Sets `failure` when there is no memory.
void keep_message(Buffer& to, Bytes message, Status& failure) noexcept;

/// The messages of an untyped call: a request that is encoded already, and an answer that is decoded later.
class UntypedBody {
 public:
  using Value = Buffer;

  UntypedBody(UntypedMethod method, Bytes request) : method_(std::move(method)), request_(request) {}

  std::size_t bytes() const { return request_.size(); }
  void write(std::byte* to) const { std::ranges::copy(request_, to); }
  void find_runs(LentRuns& runs) const { runs.offer(request_); }
  void write_around(std::byte* to, LentRuns& runs) const {
    std::ranges::copy(request_.subspan(runs.place(request_, to)), to);
  }
  void read(Bytes body, Status& failure) noexcept { keep_message(answer_, body, failure); }
  Buffer&& take() { return std::move(answer_); }

 private:
  /// The call refers to its key.
  UntypedMethod method_;
  Bytes request_;
  Buffer answer_;
};

using UntypedCall = AwaitedCall<UntypedBody, Returns::kResult, WithDetails>;

}  // namespace detail

/// Calls `method` with `request`, which is a message of its types in bytes: `Result<Buffer> answer = co_await
/// untyped_call(client, method, request, options);`, and with `.with_attachment()` a
/// `Result<Answer<Buffer>>`. The request is sent as it is; the server refuses bytes that are no message of
/// the method with kInvalidArgument. It stays unchanged until the call has ended, as memory of `options`
/// does. A method that streams is opened by an UntypedStream instead. Errors, cancel and thread: as
/// Client::call().
inline detail::UntypedCall untyped_call(Caller& client, const UntypedMethod& method, Bytes request,
                                        const CallOptions& options = {}) {
  return detail::UntypedCall{client.target(), method.key(), options, method, request};
}

}  // namespace weft
