// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "client.hpp"

namespace weft::python {

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
  to_begin_.push_back(number);
  wake();
  return number;
}

void DrivenClient::cancel(std::uint64_t operation) {
  if (made_in_.in_child() || !running_.contains(operation)) return;
  to_cancel_.push_back(operation);
  wake();
}

void DrivenClient::drop_stream(std::uint64_t stream) {
  if (made_in_.in_child() || closed_) return;
  to_drop_.push_back(stream);
  wake();
}

// One post for all that Python asks for between two turns.
void DrivenClient::wake() {
  if (std::exchange(posted_, true)) return;
  loop_->post([this] { begin_all(); });
}

void DrivenClient::begin_all() {
  posted_ = false;
  for (const std::uint64_t number : std::exchange(to_begin_, {})) {
    const auto found = running_.find(number);
    if (found == running_.end()) continue;
    found->second.begun = true;
    ++unfinished_;
    found->second.operation->begin(*client_, streams_, *this);
  }
  for (const std::uint64_t number : std::exchange(to_cancel_, {})) {
    const auto found = running_.find(number);
    if (found != running_.end()) found->second.operation->cancel();
  }
  for (const std::uint64_t number : std::exchange(to_drop_, {})) streams_.drop(number);
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
  }
  const Reference set{PyObject_CallMethod(future.ptr(), setter, "(O)", outcome.get())};
  // The future was cancelled, or its loop is closed: nobody waits.
  if (!set) PyErr_Clear();
}

void DrivenClient::end_all() noexcept {
  if (loop_ == nullptr || client_ == nullptr) return;
  posted_ = true;
  loop_->post([this] {
    begin_all();
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
