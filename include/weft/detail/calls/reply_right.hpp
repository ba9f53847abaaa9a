// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "weft/base/status.hpp"
#include "weft/detail/calls/served_call.hpp"

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
  void send(std::vector<std::byte> body);
  void fail(Status failure);
  /// Answers that are larger are refused before they are encoded.
  std::size_t body_bytes_max() const;
  void fail_over_limit(std::size_t bytes);

 private:
  template <typename Work>
  void finish(Work work);
  void drop() noexcept;

  ServedCall* call_;
};

}  // namespace weft::detail
