// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/serve/served_call.hpp"

namespace weft::detail {

/// The part of Reply that knows no types: the one right to answer a call.
class ReplyRight {
 public:
  explicit ReplyRight(ServedCall& call);
  ReplyRight(ReplyRight&& other) noexcept : call_(std::exchange(other.call_, nullptr)) {}
  ReplyRight& operator=(ReplyRight&& other) noexcept {
    if (this != &other) {
      drop();
      call_ = std::exchange(other.call_, nullptr);
    }
    return *this;
  }
  ~ReplyRight() { drop(); }

  bool used() const { return call_ == nullptr; }
  bool cancelled() const { return call_ == nullptr || call_->cancelled_anywhere(); }
  /// Makes `body` for an answer of `bytes`, to be followed by send(). Returns false when it is too large, or
  /// memory is exhausted: the caller gets that failure, and the right is used up.
  bool make_answer(std::size_t bytes, AnswerBody& body);
  void send(AnswerBody body);
  void fail(Status failure);

 private:
  template <typename Work>
  void finish(Work work);
  void drop() noexcept;

  ServedCall* call_;
};

}  // namespace weft::detail
