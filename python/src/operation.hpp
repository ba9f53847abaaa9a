// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "method.hpp"
#include "references.hpp"
#include "streams.hpp"
#include "types.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/untyped.hpp"
#include "weft/weft.hpp"

namespace weft::python {

class Operation;

/// Told, inside a turn of the loop and perhaps without the GIL, that an operation has ended.
class OperationOwner {
 public:
  virtual void ended(Operation& operation) noexcept = 0;

 protected:
  ~OperationOwner() = default;
};

/// Something that a client does for Python, from its beginning in the loop until its end. It owns whatever
/// the loop uses meanwhile, objects of Python too, so it must not be destroyed between begin() and ended().
/// It is made and destroyed with the GIL; between these, the loop's thread calls begin() and cancel() in
/// turns of the loop, with or without the GIL, and they touch no Python object.
class Operation : private detail::Completion {
 public:
  Operation() : Completion{&task_ended} {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;

  void begin(Client& client, Streams& streams, OperationOwner& owner) noexcept;
  void cancel() noexcept { scope_.cancel(CancelReason::kRequested); }
  /// Returns the value for Python, after the end. Throws nb::python_error.
  virtual nb::object result() = 0;

  /// The number that its owner gave it.
  std::uint64_t id = 0;

 protected:
  virtual Task<void> run(Client& client, Streams& streams) = 0;
  void fail(Status why) noexcept { failure_ = std::move(why); }
  void check() const {
    if (!failure_.ok()) raise(failure_);
  }

 private:
  static void task_ended(Completion& self, detail::TaskPromiseBase&) noexcept;

  OperationOwner* owner_ = nullptr;
  CancelScope scope_;
  Task<void> task_;
  Status failure_;
};

/// A time in seconds as Python has it. Throws nb::python_error for no number.
Duration duration_of(double seconds);

/// Options of a call, with the memory that they refer to. They hold no Python object, so their destructor
/// does not need the GIL.
class CopiedOptions {
 public:
  /// `timeout` is a number of seconds, or None for the client's own. `metadata` is a dict, or None. Throws
  /// nb::python_error. With the GIL.
  CopiedOptions(nb::handle timeout, nb::handle metadata);
  CopiedOptions(const CopiedOptions&) = delete;
  CopiedOptions& operator=(const CopiedOptions&) = delete;

  const CallOptions& options() const noexcept { return options_; }

 protected:
  CallOptions options_;

 private:
  std::optional<Metadata> metadata_;
};

/// The same with memory of Python objects, which stays in place until this ends. With the GIL.
class HeldOptions final : public CopiedOptions {
 public:
  /// `attachment` is sent, and an attachment lands in `into`; None: none. Throws nb::python_error.
  HeldOptions(nb::handle timeout, nb::handle metadata, nb::handle attachment, nb::handle into);

 private:
  BufferView attachment_;
  BufferView landing_;
};

class CallOperation final : public Operation {
 public:
  CallOperation(std::shared_ptr<const Method> method, std::vector<std::byte> request,
                std::unique_ptr<HeldOptions> options, bool with_attachment)
      : method_(std::move(method)),
        request_(std::move(request)),
        options_(std::move(options)),
        with_attachment_(with_attachment) {}

  /// The value of the result; with an attachment a tuple of value, Buffer and the attachment's size.
  nb::object result() override;

 private:
  Task<void> run(Client& client, Streams& streams) override;

  const std::shared_ptr<const Method> method_;
  const std::vector<std::byte> request_;
  const std::unique_ptr<HeldOptions> options_;
  const bool with_attachment_;
  Answer<Buffer> answer_;
};

/// Opens a stream under a number.
class OpenOperation final : public Operation {
 public:
  OpenOperation(std::uint64_t number, std::shared_ptr<const Method> method, std::vector<std::byte> request,
                std::shared_ptr<CopiedOptions> options)
      : number_(number),
        method_(std::move(method)),
        request_(std::move(request)),
        options_(std::move(options)) {}
  nb::object result() override {
    check();
    return nb::none();
  }

 private:
  Task<void> run(Client& client, Streams& streams) override;

  const std::uint64_t number_;
  const std::shared_ptr<const Method> method_;
  const std::vector<std::byte> request_;
  const std::shared_ptr<CopiedOptions> options_;
};

/// Reads the next item: a tuple of its value and its attachment, or None behind the last one.
class NextOperation final : public Operation {
 public:
  NextOperation(std::uint64_t number, std::shared_ptr<const Method> method)
      : number_(number), method_(std::move(method)) {}
  nb::object result() override;

 private:
  Task<void> run(Client& client, Streams& streams) override;

  const std::uint64_t number_;
  const std::shared_ptr<const Method> method_;
  std::optional<Buffer> item_;
  Buffer attachment_;
};

/// Writes an item; False when the handler takes no more.
class WriteOperation final : public Operation {
 public:
  WriteOperation(std::uint64_t number, std::vector<std::byte> item)
      : number_(number), item_(std::move(item)) {}
  nb::object result() override {
    check();
    return nb::bool_(written_);
  }

 private:
  Task<void> run(Client& client, Streams& streams) override;

  const std::uint64_t number_;
  const std::vector<std::byte> item_;
  bool written_ = false;
};

/// Ends writing; with `finishes` also drops unread items and waits for the result.
class FinishOperation final : public Operation {
 public:
  FinishOperation(std::uint64_t number, std::shared_ptr<const Method> method, bool finishes)
      : number_(number), method_(std::move(method)), finishes_(finishes) {}
  nb::object result() override;

 private:
  Task<void> run(Client& client, Streams& streams) override;

  const std::uint64_t number_;
  const std::shared_ptr<const Method> method_;
  const bool finishes_;
  Buffer answer_;
};

}  // namespace weft::python
