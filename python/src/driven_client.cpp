// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <new>
#include <utility>

#include "client.hpp"

namespace weft::python {

namespace {

/// An exception of `kind` with `text`, or the MemoryError that Python keeps for want of memory.
Reference exception_of(PyObject* kind, const char* text) {
  Reference made{PyObject_CallFunction(kind, "s", text)};
  if (made) return made;
  PyErr_Clear();
  PyErr_NoMemory();
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const Reference its_type{type};
  const Reference its_trace{trace};
  return Reference{value};
}

}  // namespace

DrivenClient::DrivenClient(const PythonOptions& options) {
  Result<std::unique_ptr<Loop>> loop = Loop::create();
  if (!loop.ok()) raise(loop.status());
  loop_ = *std::move(loop);
  client_ = std::make_unique<Client>(*loop_, options.client(log_), options.transports());
}

// The parent of a fork still uses what the descriptors refer to.
DrivenClient::~DrivenClient() {
  if (made_in_.in_child()) {
    static_cast<void>(client_.release());
    static_cast<void>(loop_.release());
    leave_to_parent(streams_);
    leave_to_parent(running_);
    return;
  }
  end_all();
  streams_.drop_all();
  client_.reset();
}

int DrivenClient::descriptor() {
  return loop_->descriptor();
}

void DrivenClient::check_open() const {
  if (closed_) {
    PyErr_SetString(PyExc_RuntimeError, "the client is closed");
    throw nb::python_error();
  }
  if (made_in_.in_child()) {
    PyErr_SetString(PyExc_RuntimeError, "the client was made before a fork: make another one in the child");
    throw nb::python_error();
  }
}

std::uint64_t DrivenClient::start(std::unique_ptr<Operation> operation, nb::object future) {
  check_open();
  const std::uint64_t number = new_number();
  operation->id = number;
  running_.emplace(number, Running{std::move(operation), std::move(future)});
  request(Request::Kind::kBegin, number);
  return number;
}

void DrivenClient::cancel(std::uint64_t operation) {
  if (made_in_.in_child() || !running_.contains(operation)) return;
  request(Request::Kind::kCancel, operation);
}

void DrivenClient::drop_stream(std::uint64_t stream) {
  if (made_in_.in_child() || closed_) return;
  request(Request::Kind::kDropStream, stream);
}

// One post for all that Python asks for between two turns.
void DrivenClient::request(Request::Kind kind, std::uint64_t number) {
  requests_.push_back({kind, number});
  if (std::exchange(posted_, true)) return;
  loop_->post([this] { do_requests(); });
}

void DrivenClient::do_requests() {
  posted_ = false;
  for (const Request& each : std::exchange(requests_, {})) do_request(each);
}

void DrivenClient::do_request(const Request& request) {
  if (request.kind == Request::Kind::kDropStream) return streams_.drop(request.number);
  const auto found = running_.find(request.number);
  if (found == running_.end()) return;
  Running& its = found->second;
  if (request.kind == Request::Kind::kCancel) return its.operation->cancel();
  its.begun = true;
  ++unfinished_;
  its.operation->begin(*client_, streams_, *this);
}

// Inside a turn: no code of Python may run here.
void DrivenClient::ended(Operation& operation) noexcept {
  --unfinished_;
  ended_.push_back(operation.id);
}

bool DrivenClient::turn() {
  if (closed_ || made_in_.in_child()) return log_.has_lines();
  loop_->run_once(Duration::zero());
  deliver();
  return log_.has_lines();
}

// The futures may run code of Python, which may do anything with this client but end it: the caller holds it.
void DrivenClient::deliver() {
  for (const std::uint64_t number : std::exchange(ended_, {})) {
    auto node = running_.extract(number);
    if (!node.empty()) deliver(*node.mapped().operation, node.mapped().future);
  }
}

void DrivenClient::deliver(Operation& operation, nb::handle future) noexcept {
  Reference outcome;
  const char* setter = "set_result";
  try {
    outcome = Reference{operation.result().release().ptr()};
  } catch (nb::python_error& error) {
    outcome = Reference::to(error.value().ptr());
    setter = "set_exception";
  } catch (const std::bad_alloc&) {
    outcome = exception_of(PyExc_MemoryError, "out of memory for the result of a call");
    setter = "set_exception";
  } catch (const std::exception& error) {
    outcome = exception_of(PyExc_RuntimeError, error.what());
    setter = "set_exception";
  }
  const Reference set{PyObject_CallMethod(future.ptr(), setter, "(O)", outcome.get())};
  // The future was cancelled, or its loop is closed, so no task awaits the result.
  if (!set) PyErr_Clear();
}

void DrivenClient::end_all() noexcept {
  if (loop_ == nullptr || client_ == nullptr) return;
  posted_ = true;
  loop_->post([this] {
    do_requests();
    for (auto& [number, each] : running_) {
      if (each.begun) each.operation->cancel();
    }
    streams_.drop_all();
    client_->close();
  });
  // An operation whose memory a device still uses ends later.
  do {
    loop_->run_once(std::chrono::milliseconds{1});
  } while (posted_ || unfinished_ != 0);
}

void DrivenClient::close() {
  if (std::exchange(closed_, true) || made_in_.in_child()) return;
  end_all();
  deliver();
}

}  // namespace weft::python
