// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include "weft/detail/base/lent_runs.hpp"
#include "weft/detail/calls/terms/answer_sink.hpp"
#include "weft/detail/codec/codec.hpp"
#include "weft/detail/codec/hooks.hpp"
#include "weft/detail/functions/encoded_ahead.hpp"
#include "weft/detail/functions/leaving_result.hpp"
#include "weft/detail/functions/method.hpp"
#include "weft/detail/functions/views.hpp"

/// Answers to a call, an InlineCall or a ServedCall, from what its handler returned.
namespace weft::detail {

/// Answers with values of `size` bytes; `runs` among them are sent from their own memory, which `chunk`
/// keeps.
template <typename Call, typename... Values>
void answer_around(Call& call, std::size_t size, LentRuns& runs, const ChunkRef& chunk,
                   const Values&... values) {
  const RunsInChunk lent{runs, chunk};
  std::byte* const body = call.begin_answer(size, &lent);
  if (body == nullptr) return;
  try {
    encode_around(body, size - runs.bytes(), runs, values...);
  } catch (...) {  // a hook of the user's
    call.take_back_answer(body);
    throw;
  }
  call.end_answer(&lent);
}

/// Answers with values of `size` bytes; long runs of them are sent from the chunk in which the request was
/// received. Returns false, without an answer, if no run lies there.
template <typename Call, typename... Values>
[[gnu::noinline]] bool answer_from_request(Call& call, std::size_t size, const Values&... values) {
  if (call.lending_chunks() == nullptr) return false;
  const ChunkRef chunk = request_chunk(call);
  if (!chunk) return false;
  LentRuns runs{call.body()};
  find_runs(runs, values...);
  if (runs.empty()) return false;
  answer_around(call, size, runs, chunk, values...);
  return true;
}

/// Answers with values that were encoded ahead.
template <typename Call>
void answer_ahead(Call& call, const EncodedAhead& values) {
  if (std::byte* body = call.begin_answer(values.size())) {
    values.copy_to(body);
    call.end_answer();
  }
}

/// Answers with a value whose encoding runs hooks, and from which long runs leave if they are most of it.
template <typename Call, typename R>
void answer_leaving_ahead(Call& call, R& value) {
  EncodedAhead ahead;
  const std::size_t size = encoded_size(value);
  const auto answer_whole = [&](const R& its_value) {
    ahead.encode_sized(size, its_value);
    answer_ahead(call, ahead);
  };
  auto* const chunks =
      size == kUnencodable || size < LentRuns::kRunBytesMin ? nullptr : call.lending_chunks();
  if (chunks == nullptr) return answer_whole(value);
  LentRuns found;
  find_runs(found, value);
  if (found.bytes() < size / 2) return answer_whole(value);
  std::unique_ptr<LeavingResult<R>> kept = LeavingResult<R>::keep(value);
  if (kept == nullptr) return answer_whole(value);
  const R& result = kept->value();
  const ChunkRef chunk = LeavingMemory::lend(kept, size, *chunks);
  if (!chunk) return answer_whole(result);
  ahead.encode_sized(size, result);
  LentRuns runs;
  ahead.find_runs_into(runs);
  const RunsInChunk lent{runs, chunk};
  std::byte* const body = call.begin_answer(size, &lent);
  if (body == nullptr) return;
  ahead.copy_to(body, &runs);
  call.end_answer(&lent);
}

template <typename Call, typename... Values>
void answer_copied(Call& call, std::size_t size, const Values&... values) {
  if (std::byte* body = call.begin_answer(size)) {
    try {
      encode_to(body, size, values...);
    } catch (...) {  // a hook of the user's
      call.take_back_answer(body);
      throw;
    }
    call.end_answer();
  }
}

/// Answers with a value of `size` bytes, which leaves its handler when long runs are most of it: it is kept
/// until they have been sent from where they lie. False, and nothing was answered, when they are not.
template <typename Call, typename R>
[[gnu::noinline]] bool answer_leaving(Call& call, std::size_t size, R& value) {
  auto* const chunks = call.lending_chunks();
  if (chunks == nullptr) return false;
  LentRuns found;
  find_runs(found, value);
  // The whole result is kept, so at least half of it must be bytes that are not copied.
  if (found.bytes() < size / 2) return false;
  std::unique_ptr<LeavingResult<R>> kept = LeavingResult<R>::keep(value);
  if (kept == nullptr) return false;
  const R& result = kept->value();
  const ChunkRef chunk = LeavingMemory::lend(kept, size, *chunks);
  if (!chunk) {
    answer_copied(call, size, result);
    return true;
  }
  LentRuns runs;
  find_runs(runs, result);
  answer_around(call, size, runs, chunk, result);
  return true;
}

template <typename Call, typename... Values>
void answer_with(Call& call, const Values&... values) {
  if constexpr (runs_hooks<Values...>()) {
    EncodedAhead ahead;
    ahead.encode(values...);
    return answer_ahead(call, ahead);
  }
  const std::size_t size = encoded_size(values...);
  if constexpr ((holds_view<Values> || ...)) {
    if (size >= LentRuns::kRunBytesMin && answer_from_request(call, size, values...)) [[unlikely]] {
      return;
    }
  }
  answer_copied(call, size, values...);
}

/// Answers with `value`, which its handler made, and which may be moved from.
template <typename Call, typename R>
void answer_with_own(Call& call, R& value) {
  if constexpr (leaves_its_handler<R> && runs_hooks<R>()) {
    answer_leaving_ahead(call, value);
  } else if constexpr (leaves_its_handler<R>) {
    const std::size_t size = encoded_size(value);
    if (size >= LentRuns::kRunBytesMin && answer_leaving(call, size, value)) [[unlikely]] {
      return;
    }
    answer_copied(call, size, value);
  } else {
    answer_with(call, value);
  }
}

/// Answers with what a handler returned; an rvalue is moved from if it is long.
template <typename Call, typename R>
void answer(Call& call, R&& value) {
  const auto with = [&call](auto& its_value) {
    if constexpr (std::is_lvalue_reference_v<R>) {
      answer_with(call, its_value);
    } else {
      answer_with_own(call, its_value);
    }
  };
  using Value = std::remove_cvref_t<R>;
  if constexpr (is_result<Value>) {
    if (!value.ok()) return call.fail(value.status());
    if constexpr (std::is_void_v<typename Value::value_type>) {
      answer_with(call);
    } else {
      with(*value);
    }
  } else {
    with(value);
  }
}

/// Bytes of the body that answer() encodes.
template <typename R>
std::size_t answer_bytes(const R& value) {
  if constexpr (!is_result<R>) {
    return encoded_size(value);
  } else if constexpr (std::is_void_v<typename R::value_type>) {
    return 0;
  } else {
    return value.ok() ? encoded_size(*value) : 0;
  }
}

}  // namespace weft::detail
