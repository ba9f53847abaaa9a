// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/protobuf/message.hpp"
#include "weft/detail/protobuf/record_cache.hpp"

namespace weft::protobuf::detail {

/// A member function that serves a method.
template <typename F>
struct HandlerTraits;
template <typename C, typename Request, typename Response>
struct HandlerTraits<Task<Result<void>> (C::*)(CallContext&, const Request&, Response&)> {
  using Object = C;
  using In = Request;
  using Out = Response;
};

/// Encodes `response` as the answer of `call`, or fails it. On the call's loop.
template <typename Response>
void answer_with_message(weft::detail::ServedCall& call, const Response& response) {
  if (!response.IsInitialized()) [[unlikely]] {
    const Status lacks = incomplete(response);
    return call.fail({StatusCode::kInternal, Layer::kCodec,
                      "the handler's answer is not whole: " + std::string{lacks.message()}});
  }
  const std::size_t bytes = response.ByteSizeLong();
  if (std::byte* body = call.begin_answer(bytes <= kMessageBytesMax ? bytes : weft::detail::kUnencodable)) {
    write_message(response, body);
    call.end_answer();
  }
}

/// The messages of one call and the coroutine that serves it; the only one: there is none around it. Messages
/// of ordinary calls are kept for the next ones, cleared, so that their strings and lists have memory
/// already.
///
///   serve() parses and starts the handler --its end--> answer, at once or when there is room --> kept
///
/// Thread: the call's loop.
template <auto Handler>
class UnaryRecord final : public CachedRecord<UnaryRecord<Handler>>,
                          private weft::detail::Completion,
                          private weft::detail::Ready,
                          private weft::detail::RoomWaiter {
  using Traits = HandlerTraits<decltype(Handler)>;

 public:
  UnaryRecord()
      : Completion{[](Completion& self, weft::detail::TaskPromiseBase&) noexcept {
          static_cast<UnaryRecord&>(self).handler_ended();
        }},
        weft::detail::Ready(
            [](weft::detail::Ready* self) noexcept { static_cast<UnaryRecord*>(self)->answer(); }),
        weft::detail::RoomWaiter(static_cast<weft::detail::Ready&>(*this)) {}

  /// MethodEntry::serve_record of a coroutine's method.
  static void serve(const weft::detail::MethodEntry& method, weft::detail::ServedCall& call) {
    UnaryRecord& record = *RecordCache<UnaryRecord>::take();
    Status failure;
    read_message(record.request_, call.body(), failure);
    if (!failure.ok()) [[unlikely]] {
      call.refuse_arguments(failure.with_context(method.key.name));
      return RecordCache<UnaryRecord>::give_back(record, false);
    }
    record.request_bytes_ = call.body().size();
    record.start(static_cast<typename Traits::Object*>(method.object), call);
  }

 private:
  void start(typename Traits::Object* object, weft::detail::ServedCall& call) {
    try {
      task_ = (object->*Handler)(call.context(), request_, response_);
    } catch (...) {
      call.fail(weft::detail::status_of_exception(call.method()));
      return RecordCache<UnaryRecord>::give_back(*this, false);
    }
    call_ = &call;
    call.hold();
    weft::detail::start(task_, &call.scope(), *this);
  }

  void handler_ended() noexcept {
    if (call_->has_room()) [[likely]] {
      answer();
    } else if (Status failure = failure_of_handler(); !failure.ok()) {
      fail_late(std::move(failure));
    } else if (const Status kept = call_->keep_answer(bytes_to_keep()); kept.ok()) {
      call_->when_room(*this);
    } else {
      end_without_memory(kept);
    }
  }

  /// An answer with nothing in it is kept however much others hold.
  std::size_t bytes_to_keep() const noexcept {
    return response_.ByteSizeLong() == 0 ? 0 : response_.SpaceUsedLong();
  }
  /// The handler's failure; success has moved nothing.
  Status failure_of_handler() noexcept {
    try {
      return weft::detail::take_result(task_).status();
    } catch (...) {
      return weft::detail::status_of_exception(call_->method());
    }
  }
  void fail_late(Status failure) noexcept {
    weft::detail::ServedCall& call = *call_;
    task_.reset();
    RecordCache<UnaryRecord>::give_back(*this, false);
    call.fail_late(std::move(failure));
  }
  void end_without_memory(const Status& failure) noexcept {
    weft::detail::ServedCall& call = *call_;
    call.fail(failure);
    task_.reset();
    RecordCache<UnaryRecord>::give_back(*this, false);
    call.let_go();
  }

  void answer() noexcept {
    weft::detail::ServedCall& call = *call_;
    bool small = false;
    try {
      const Result<void> outcome = weft::detail::take_result(task_);
      if (outcome.ok()) [[likely]] {
        answer_with_message(call, response_);
        const auto response_bytes = static_cast<std::size_t>(response_.GetCachedSize());
        small = request_bytes_ <= kSmallBytes && response_bytes <= kSmallBytes && !holds_much(response_bytes);
      } else {
        call.fail(outcome.status());
      }
    } catch (...) {
      call.fail(weft::detail::status_of_exception(call.method()));
    }
    task_.reset();
    RecordCache<UnaryRecord>::give_back(*this, small);
    call.let_go();
  }

  friend class RecordCache<UnaryRecord>;
  /// Measures only once per number of bytes, because measuring costs more than a call.
  bool holds_much(std::size_t response_bytes) {
    unmeasured_bytes_ += request_bytes_ + response_bytes;
    if (unmeasured_bytes_ < kBytesPerMeasure) [[likely]] {
      return false;
    }
    unmeasured_bytes_ = 0;
    return request_.SpaceUsedLong() + response_.SpaceUsedLong() > kKeptBytesMax;
  }
  // The request is cleared when it is parsed into.
  void clear() noexcept { response_.Clear(); }

  weft::detail::ServedCall* call_ = nullptr;
  Task<Result<void>> task_;
  std::size_t request_bytes_ = 0;
  std::size_t unmeasured_bytes_ = 0;
  typename Traits::In request_;
  typename Traits::Out response_;
};

}  // namespace weft::protobuf::detail
