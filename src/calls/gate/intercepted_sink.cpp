// SPDX-License-Identifier: Apache-2.0
#include "calls/gate/intercepted_sink.hpp"

namespace weft::detail {

std::byte* InterceptedSink::begin_answer(std::uint64_t id, std::size_t bytes,
                                         std::uint64_t attachment_bytes) {
  return begun(ForwardingSink::begin_answer(id, bytes, attachment_bytes), bytes);
}

std::byte* InterceptedSink::begin_answer_around(std::uint64_t id, std::size_t bytes,
                                                std::uint64_t attachment_bytes, const RunsInChunk& lent) {
  return begun(ForwardingSink::begin_answer_around(id, bytes, attachment_bytes, lent), bytes);
}

std::byte* InterceptedSink::begun(std::byte* body, std::size_t bytes) {
  pass_.will_answer(bytes);
  if (body == nullptr) pass_.will_fail(Status::of<kAnswerNotSent>());
  return body;
}

void InterceptedSink::fail(std::uint64_t id, const Status& failure) {
  ForwardingSink::fail(id, failure);
  pass_.will_fail(failure);
}

void InterceptedSink::refuse(std::uint64_t id, RefusalReason reason, const Status& why) {
  ForwardingSink::refuse(id, reason, why);
  pass_.will_fail(why);
}

void InterceptedSink::refuse_without_memory(std::uint64_t id) {
  ForwardingSink::refuse_without_memory(id);
  pass_.will_fail(Status::of<kOutOfMemory>());
}

}  // namespace weft::detail
