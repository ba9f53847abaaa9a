// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/terms/answer.hpp"
#include "weft/detail/calls/threads/call_errand.hpp"
#include "weft/detail/calls/threads/stream_errand.hpp"
#include "weft/detail/functions/call.hpp"

/// Calls of functions that another thread's loop makes: the caller's thread encodes and decodes.
namespace weft::detail {

template <typename Its>
using ErrandPtr = std::unique_ptr<Its, CallErrand::Release>;

/// Returns the object that `make` creates, with room for the arguments of `M`, which are encoded into it;
/// null on failure, with the reason in `failure`. Never throws, even if the arguments throw.
template <auto M, typename Make, typename... Given>
std::invoke_result_t<Make, std::size_t> make_encoded(Make make, Status& failure,
                                                     Given&&... arguments) noexcept {
  try {
    typename KeptArguments<typename MethodTraits<M>::Arguments, Given...>::Tuple kept{
        std::forward<Given>(arguments)...};
    return std::apply(
        [&](const auto&... values) -> std::invoke_result_t<Make, std::size_t> {
          const std::size_t bytes = encoded_size(values...);
          if (bytes == kUnencodable) {
            failure = unencodable_failure();
            return nullptr;
          }
          auto errand = make(bytes);
          if (errand != nullptr) encode_to(errand->bytes().body().data(), bytes, values...);
          return errand;
        },
        kept);
  } catch (...) {  // a hook of the user's, or a conversion
    failure = detail::failure_of_encoding();
    return nullptr;
  }
}

/// Creates an `Its` for a call of `M` with its arguments encoded; null on failure, with the reason in
/// `failure`. Never throws, even if the arguments throw.
template <auto M, typename Its, typename... Given>
ErrandPtr<Its> make_errand(CallErrand::Request request, Status& failure, Given&&... arguments) noexcept {
  if constexpr (CallableWith<M, Given...>) {
    const auto make = [&](std::size_t bytes) {
      ErrandPtr<Its> errand = CallErrand::make<Its>(bytes, std::move(request));
      if (errand == nullptr) {
        failure = Status::of<kOutOfMemory>();
        failure.mark_unprocessed();
      }
      return errand;
    };
    return make_encoded<M>(make, failure, std::forward<Given>(arguments)...);
  } else {
    explain_arguments(typename MethodTraits<M>::Arguments{}, TypeList<Given...>{});
    return nullptr;
  }
}

/// Makes a stream of `M` in the same way.
template <auto M, typename... Given>
StreamErrand::Owner make_stream_errand(StreamErrand::Request request, Status& failure,
                                       Given&&... arguments) noexcept {
  const auto make = [&](std::size_t bytes) { return StreamErrand::make(std::move(request), bytes, failure); };
  return make_encoded<M>(make, failure, std::forward<Given>(arguments)...);
}

/// Decodes the answer of a call, or of a stream, that did not fail.
template <typename R, typename Its>
Result<R> result_of(Its& errand) {
  CodecAnswer<R> answer;
  Status failure;
  answer.read(errand.bytes().answer(), failure);
  if (!failure.ok()) return failure;
  if constexpr (std::is_void_v<R>) {
    return {};
  } else {
    return answer.take();
  }
}

/// The same with the attachment.
template <typename R>
Result<Answer<R>> answer_of(CallErrand& errand) {
  CodecAnswer<R> answer;
  Status failure;
  answer.read(errand.bytes().answer(), failure);
  if (!failure.ok()) return failure;
  if constexpr (std::is_void_v<R>) {
    return Answer<R>{errand.attachment_bytes(), errand.take_attachment()};
  } else {
    return Answer<R>{answer.take(), errand.attachment_bytes(), errand.take_attachment()};
  }
}

/// A client or a pool: a class with a door of its own, or a CallTarget. A fleet has neither.
template <typename C>
concept HasDoor = requires(C& client) { client.door(); } || requires(C& client) { client.target().door(); };

/// The door of a client, of a pool, or of anything that has a CallTarget or a door of its own.
template <HasDoor Client>
const std::shared_ptr<CallDoor>& door_of(Client& client) {
  if constexpr (requires { client.door(); }) {
    return client.door();
  } else {
    return client.target().door();
  }
}

}  // namespace weft::detail
