// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include "weft/detail/base/bytes.hpp"

namespace weft::detail {

/// The bodies of a request and its answer, in memory of another owner as long as the answer fits there.
class ErrandBytes {
 public:
  static constexpr std::size_t kBodyMax = static_cast<std::size_t>(-1) / 2;

  /// Size of the memory for a request's body of `bytes`: large enough for a small answer too.
  static constexpr std::size_t room_for(std::size_t bytes) noexcept {
    constexpr std::size_t kLeast = 256;
    return bytes < kLeast ? kLeast : bytes;
  }
  void set_room(std::byte* room, std::size_t body_bytes) noexcept {
    room_ = room;
    body_bytes_ = body_bytes;
  }

  /// The request's body, until there is an answer.
  MutableBytes body() const noexcept { return {room_, body_bytes_}; }
  /// Copies an answer's body. Returns false when memory is exhausted.
  bool keep_answer(Bytes answer) noexcept {
    std::byte* to = room_;
    if (answer.size() > room_for(body_bytes_)) {
      large_.reset(new (std::nothrow) std::byte[answer.size()]);
      to = large_.get();
      if (to == nullptr) return false;
    }
    if (!answer.empty()) std::memcpy(to, answer.data(), answer.size());
    answer_ = {to, answer.size()};
    return true;
  }
  Bytes answer() const noexcept { return answer_; }

 private:
  std::byte* room_ = nullptr;
  std::size_t body_bytes_ = 0;
  Bytes answer_;
  std::unique_ptr<std::byte[]> large_;
};

}  // namespace weft::detail
