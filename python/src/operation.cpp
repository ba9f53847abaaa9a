// SPDX-License-Identifier: Apache-2.0
#include "operation.hpp"

#include <cmath>
#include <limits>
#include <new>
#include <string>
#include <utility>

namespace weft::python {

namespace {

constexpr FixedFailure kClosed{StatusCode::kCancelled, Layer::kRpc, Retry::kNever, "the stream was closed"};
constexpr FixedFailure kInUse{StatusCode::kFailedPrecondition, Layer::kUser, Retry::kNever,
                              "one task at a time reads from a stream, and one writes to it"};
constexpr FixedFailure kNoMemory{StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
                                 "out of memory"};

nb::object buffer_object(Buffer buffer) {
  return nb::cast(std::move(buffer));
}

[[noreturn]] void throw_type_error(const char* text) {
  PyErr_SetString(PyExc_TypeError, text);
  throw nb::python_error();
}

std::string_view text_of(nb::handle value) {
  if (PyBytes_Check(value.ptr())) {
    return {PyBytes_AS_STRING(value.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(value.ptr()))};
  }
  if (!PyUnicode_Check(value.ptr())) {
    PyErr_Format(PyExc_TypeError, "metadata: a str is expected, not %s", Py_TYPE(value.ptr())->tp_name);
    throw nb::python_error();
  }
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (text == nullptr) throw nb::python_error();
  return {text, static_cast<std::size_t>(size)};
}

Metadata metadata_of(nb::handle pairs) {
  if (!PyDict_Check(pairs.ptr())) throw_type_error("metadata: a dict of str is expected");
  Metadata metadata;
  for (const auto& [key, value] : nb::borrow<nb::dict>(pairs)) {
    const Result<void> set = metadata.set(text_of(key), text_of(value));
    if (!set.ok()) raise(set.status().with_context("metadata"));
  }
  return metadata;
}

}  // namespace

Duration duration_of(double seconds) {
  if (std::isnan(seconds)) {
    PyErr_SetString(PyExc_ValueError, "timeout: a number of seconds is expected, not NaN");
    throw nb::python_error();
  }
  // Zero means the client's own timeout in CallOptions.
  if (seconds <= 0) return Duration{-1};
  const double nanoseconds = seconds * 1e9;
  if (nanoseconds >= static_cast<double>(std::numeric_limits<Duration::rep>::max())) return kNoTimeout;
  return std::max(Duration{1}, Duration{static_cast<Duration::rep>(nanoseconds)});
}

CopiedOptions::CopiedOptions(nb::handle timeout, nb::handle metadata) {
  if (!timeout.is_none()) {
    const double seconds = PyFloat_AsDouble(timeout.ptr());
    if (seconds == -1.0 && PyErr_Occurred() != nullptr) throw nb::python_error();
    options_.timeout = duration_of(seconds);
  }
  if (!metadata.is_none()) options_.metadata = metadata_.emplace(metadata_of(metadata));
}

HeldOptions::HeldOptions(nb::handle timeout, nb::handle metadata, nb::handle attachment, nb::handle into)
    : CopiedOptions(timeout, metadata) {
  if (!attachment.is_none()) {
    if (!attachment_.get(attachment.ptr(), PyBUF_SIMPLE)) {
      throw_type_error("attachment: an object with contiguous memory (the buffer protocol) is expected");
    }
    options_.attachment = attachment_.bytes();
  }
  if (!into.is_none()) {
    if (!landing_.get(into.ptr(), PyBUF_WRITABLE)) {
      throw_type_error("into: an object with writable, contiguous memory (the buffer protocol) is expected");
    }
    options_.landing = landing_.mutable_bytes();
  }
}

void Operation::begin(Client& client, Streams& streams, OperationOwner& owner) noexcept {
  owner_ = &owner;
  try {
    task_ = run(client, streams);
  } catch (const std::bad_alloc&) {
    failure_ = Status::of<kNoMemory>();
    return owner.ended(*this);
  }
  detail::start(task_, &scope_, *this);
}

void Operation::task_ended(Completion& self, detail::TaskPromiseBase&) noexcept {
  Operation& operation = static_cast<Operation&>(self);
  try {
    detail::take_result(operation.task_);
  } catch (...) {
    operation.failure_ = Status::of<kNoMemory>();
  }
  operation.owner_->ended(operation);
}

Task<void> CallOperation::run(Client& client, Streams&) {
  const CallOptions& options = options_->options();
  if (with_attachment_) {
    Result<Answer<Buffer>> answer =
        co_await untyped_call(client, method_->untyped(), request_, options).with_attachment();
    if (answer.ok()) {
      answer_ = *std::move(answer);
    } else {
      fail(std::move(answer).status());
    }
  } else {
    Result<Buffer> answer = co_await untyped_call(client, method_->untyped(), request_, options);
    if (answer.ok()) {
      answer_.value = *std::move(answer);
    } else {
      fail(std::move(answer).status());
    }
  }
}

nb::object CallOperation::result() {
  check();
  nb::object value = method_->result(answer_.value.bytes());
  if (!with_attachment_) return value;
  const std::size_t size = answer_.attachment_bytes;
  return nb::make_tuple(value, buffer_object(std::move(answer_.attachment)), size);
}

Task<void> OpenOperation::run(Client& client, Streams& streams) {
  streams.add(number_, std::make_unique<OpenStream>(options_, client, method_->untyped(), Bytes{request_},
                                                    options_->options()));
  co_return;
}

Task<void> NextOperation::run(Client&, Streams& streams) {
  OpenStream* stream = streams.find(number_);
  if (stream == nullptr || stream->reading) {
    fail(stream == nullptr ? Status::of<kClosed>() : Status::of<kInUse>());
    co_return;
  }
  stream->reading = true;
  item_ = co_await stream->stream.next();
  stream = streams.find(number_);
  if (stream == nullptr) {
    item_.reset();
    fail(Status::of<kClosed>());
    co_return;
  }
  stream->reading = false;
  if (item_) {
    attachment_ = stream->stream.take_attachment();
  } else {
    fail(stream->stream.status());
  }
}

nb::object NextOperation::result() {
  check();
  if (!item_) return nb::none();
  nb::object value = method_->item_out(item_->bytes());
  return nb::make_tuple(value, buffer_object(std::move(attachment_)));
}

Task<void> WriteOperation::run(Client&, Streams& streams) {
  OpenStream* stream = streams.find(number_);
  if (stream == nullptr || stream->writing) {
    fail(stream == nullptr ? Status::of<kClosed>() : Status::of<kInUse>());
    co_return;
  }
  stream->writing = true;
  const Bytes item{item_};
  written_ = co_await stream->stream.write(item);
  stream = streams.find(number_);
  if (stream != nullptr) stream->writing = false;
}

Task<void> FinishOperation::run(Client&, Streams& streams) {
  OpenStream* stream = streams.find(number_);
  if (stream == nullptr || stream->writing || (finishes_ && stream->reading)) {
    fail(stream == nullptr ? Status::of<kClosed>() : Status::of<kInUse>());
    co_return;
  }
  if (!finishes_) {
    stream->stream.end_writing();
    co_return;
  }
  stream->reading = stream->writing = true;
  Result<Buffer> answer = co_await stream->stream.finish();
  stream = streams.find(number_);
  if (stream != nullptr) stream->reading = stream->writing = false;
  if (answer.ok()) {
    answer_ = *std::move(answer);
  } else {
    fail(std::move(answer).status());
  }
}

nb::object FinishOperation::result() {
  check();
  if (!finishes_) return nb::none();
  return method_->result(answer_.bytes());
}

}  // namespace weft::python
