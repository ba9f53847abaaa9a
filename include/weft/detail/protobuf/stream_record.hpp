// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/stream/stream_side.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/protobuf/message.hpp"
#include "weft/detail/protobuf/stream.hpp"
#include "weft/detail/protobuf/unary_record.hpp"

namespace weft::protobuf::detail {

/// Fails the call if its body, which is `message`, cannot be read.
bool read_request(const weft::detail::MethodEntry& method, weft::detail::ServedCall& call,
                  google::protobuf::Message& message);

/// A member function that serves a method that streams.
template <typename F>
struct StreamHandler;
template <typename C, typename Request, typename Response>
struct StreamHandler<Task<Result<void>> (C::*)(CallContext&, const Request&, Writer<Response>&)> {
  using Object = C;
  struct Messages {
    explicit Messages(weft::detail::StreamSide& side) : writer(side) {}
    bool read(const weft::detail::MethodEntry& method, weft::detail::ServedCall& call) {
      return read_request(method, call, request);
    }
    const google::protobuf::Message* result() const { return nullptr; }
    template <typename Handler>
    Task<Result<void>> run(Handler handler, C& object, CallContext& context) {
      return (object.*handler)(context, request, writer);
    }
    Request request;
    Writer<Response> writer;
  };
};
template <typename C, typename Request, typename Response>
struct StreamHandler<Task<Result<void>> (C::*)(CallContext&, Reader<Request>&, Response&)> {
  using Object = C;
  struct Messages {
    explicit Messages(weft::detail::StreamSide& side) : reader(side) {}
    bool read(const weft::detail::MethodEntry&, weft::detail::ServedCall&) { return true; }
    const google::protobuf::Message* result() const { return &response; }
    template <typename Handler>
    Task<Result<void>> run(Handler handler, C& object, CallContext& context) {
      return (object.*handler)(context, reader, response);
    }
    Reader<Request> reader;
    Response response;
  };
};
template <typename C, typename Request, typename Response>
struct StreamHandler<Task<Result<void>> (C::*)(CallContext&, Reader<Request>&, Writer<Response>&)> {
  using Object = C;
  struct Messages {
    explicit Messages(weft::detail::StreamSide& side) : reader(side), writer(side) {}
    bool read(const weft::detail::MethodEntry&, weft::detail::ServedCall&) { return true; }
    const google::protobuf::Message* result() const { return nullptr; }
    template <typename Handler>
    Task<Result<void>> run(Handler handler, C& object, CallContext& context) {
      return (object.*handler)(context, reader, writer);
    }
    Reader<Request> reader;
    Writer<Response> writer;
  };
};

template <typename F>
concept StreamsMessages = requires { typename StreamHandler<F>::Object; };

/// Answers `call` with `response`, or with nothing for null, as soon as there is room. Both outlive it.
Task<void> answer_stream(weft::detail::ServedCall* call, const google::protobuf::Message* response);
Task<void> fail_stream(weft::detail::ServedCall* call, Status failure);

/// MethodEntry::serve_coroutine of a method that streams: one coroutine around the handler's, which a call
/// of one message is spared.
template <auto Handler>
Task<void> serve_stream(const weft::detail::MethodEntry* method, weft::detail::ServedCall* call) {
  using Traits = StreamHandler<decltype(Handler)>;
  Status failure;
  try {
    typename Traits::Messages messages{*call->stream()};
    if (!messages.read(*method, *call)) co_return;
    auto& object = *static_cast<typename Traits::Object*>(method->object);
    const Result<void> outcome = co_await messages.run(Handler, object, call->context());
    failure = outcome.status();
    if (failure.ok()) {
      co_await answer_stream(call, messages.result());
      co_return;
    }
  } catch (...) {
    failure = weft::detail::status_of_exception(*method);
  }
  co_await fail_stream(call, std::move(failure));
}

}  // namespace weft::protobuf::detail
