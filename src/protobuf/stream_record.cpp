// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/protobuf/stream_record.hpp"

namespace weft::protobuf::detail {

bool read_request(const weft::detail::MethodEntry& method, weft::detail::ServedCall& call,
                  google::protobuf::Message& message) {
  Status failure;
  read_message(message, call.body(), failure);
  if (failure.ok()) return true;
  call.refuse_arguments(failure.with_context(method.key.name));
  return false;
}

Task<void> answer_stream(weft::detail::ServedCall* call, const google::protobuf::Message* response) {
  Status failure;
  if (!call->has_room()) {
    if (response != nullptr) failure = call->keep_answer(response->SpaceUsedLong());
    if (failure.ok()) co_await weft::detail::room_for(*call);
  }
  if (!failure.ok()) {
    call->fail(failure);
  } else if (response != nullptr) {
    answer_with_message<google::protobuf::Message>(*call, *response);
  } else if (call->begin_answer(0) != nullptr) {
    call->end_answer();
  }
}

Task<void> fail_stream(weft::detail::ServedCall* call, Status failure) {
  if (!call->has_room()) {
    failure = weft::detail::keep_failure(*call, std::move(failure));
    co_await weft::detail::room_for(*call);
  }
  call->fail(failure);
}

}  // namespace weft::protobuf::detail
