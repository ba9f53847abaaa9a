// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <utility>

#include "weft/detail/protobuf/message.hpp"

namespace weft::protobuf::detail {

/// Parts that all attempts of a call share: the request, which each of them writes, and the making of
/// answers. `message()` is the message within an answer.
template <typename S>
concept SharedByAttempts = requires(const S& shared, std::byte* to, typename S::Answer& answer) {
  { shared.bytes() } -> std::convertible_to<std::size_t>;
  shared.write(to);
  { shared.make_answer() } -> std::same_as<typename S::Answer>;
  { S::message(answer) } -> std::convertible_to<google::protobuf::Message&>;
};

/// Body of one attempt at a method, with an answer of its own: what an attempt that lost has read is nowhere
/// else.
template <SharedByAttempts Shared>
class MessageAttempt {
 public:
  using Value = typename Shared::Answer;

  explicit MessageAttempt(const Shared& shared) : shared_(&shared), answer_(shared.make_answer()) {}

  std::size_t bytes() const { return shared_->bytes(); }
  void write(std::byte* to) const { shared_->write(to); }
  void read(Bytes body, Status& failure) noexcept { read_answer(Shared::message(answer_), body, failure); }
  Value&& take() { return std::move(answer_); }

 private:
  const Shared* shared_;
  Value answer_;
};

}  // namespace weft::protobuf::detail
