// SPDX-License-Identifier: Apache-2.0
#include "weft/ucx/am_receive.hpp"

#include <algorithm>
#include <new>
#include <string>

namespace weft::ucx {

namespace {

bool copy(Memory& to, const void* from, std::size_t size) noexcept {
  try {
    to = Memory::copy_of({static_cast<const std::byte*>(from), size});
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

namespace detail {

AmStore::AmStore(Worker& owner, std::size_t limit) noexcept
    : worker_(owner.handle()), operations_(owner.operations()), limit_(limit > 0 ? limit : 1) {}

bool AmStore::grow() noexcept {
  if (slabs_.size() * kSlab >= limit_) return false;
  const std::size_t more = std::min(kSlab, limit_ - slabs_.size() * kSlab);
  try {
    slabs_.reserve(slabs_.size() + 1);
    slabs_.push_back(std::make_unique<AmRecord[]>(more));
  } catch (const std::bad_alloc&) {
    return false;
  }
  for (std::size_t i = more; i > 0; --i) {
    AmRecord& record = slabs_.back()[i - 1];
    record.store = this;
    record.next = free_;
    free_ = &record;
  }
  return true;
}

void AmStore::close() noexcept {
  closed_ = true;
  if (out_ == 0) delete this;
}

bool AmReceiveAwaiter::wait(std::coroutine_handle<> coroutine, CancelScope* scope) noexcept {
  WEFT_ASSERT(!receiver_.waiting_, "one coroutine at a time waits on an AmReceiver");
  if (scope != nullptr && scope->cancelled()) {
    reason_ = scope->reason();
    return false;
  }
  const auto arrived = [this] { return receiver_.has_news(); };
  if (receiver_.store_->operations().progress_until(arrived)) return false;
  receiver_.waiting_ = suspended_ = true;
  receiver_.reason_ = CancelReason::kNone;
  receiver_.resumption_.handle = coroutine;
  if (scope != nullptr) scope->add(receiver_);
  return true;
}

void AmReceiveAwaiter::leave() noexcept {
  suspended_ = receiver_.waiting_ = false;
  receiver_.stop_listening();
  receiver_.worker_.loop().unschedule(receiver_.resumption_);
  reason_ = receiver_.reason_;
}

Status AmReceiveAwaiter::failure() {
  if (reason_ != CancelReason::kNone) return weft::to_status(reason_);
  const std::size_t lost = receiver_.dropped_ - std::exchange(receiver_.dropped_told_, receiver_.dropped_);
  return {StatusCode::kResourceExhausted, Layer::kTransport,
          std::to_string(lost) + " active messages of id " + std::to_string(receiver_.id_) +
              " were dropped (raise AmReceiverOptions::messages_max, or let messages go sooner)",
          UCS_ERR_NO_RESOURCE};
}

ucs_status_ptr_t AmDataAwaiter::issue(Operation& operation) noexcept {
  AmRecord& record = *message_.record_;
  if (record.kind != AmRecord::Data::kRendezvous) {
    if (memory_.size() < record.size) {
      return reinterpret_cast<ucs_status_ptr_t>(static_cast<std::intptr_t>(UCS_ERR_MESSAGE_TRUNCATED));
    }
    if (record.size > 0) std::memcpy(memory_.data(), record.data, record.size);
    operation.outcome.length = record.size;
    return nullptr;
  }
  ucp_request_param_t params = params_for(operation, memory_);
  params.op_attr_mask |= UCP_OP_ATTR_FIELD_RECV_INFO;
  params.cb.recv_am = &Operation::received_bytes;
  params.recv_info.length = &operation.outcome.length;
  const ucs_status_ptr_t answer =
      ucp_am_recv_data_nbx(record.store->worker(), record.data, memory_.data(), memory_.size(), &params);
  // The descriptor is UCX's again, also when this failed.
  record.kind = AmRecord::Data::kCopied;
  message_ = AmMessage{};
  return answer;
}

}  // namespace detail

AmReceiver::AmReceiver(Worker& worker, std::uint16_t id, const AmReceiverOptions& options)
    : worker_(worker),
      store_(new detail::AmStore(worker, options.messages_max)),
      notify_(options.notify),
      id_(id) {
  ucp_am_handler_param_t params{};
  params.field_mask =
      UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  params.id = id;
  params.cb = &AmReceiver::arrived;
  params.arg = this;
  const ucs_status_t status = ucp_worker_set_am_recv_handler(worker.handle(), &params);
  WEFT_ASSERT(status == UCS_OK, "the context of an AmReceiver has Features::active_messages");
}

AmReceiver::~AmReceiver() {
  WEFT_ASSERT(!waiting_, "an AmReceiver outlives who waits on it");
  ucp_am_handler_param_t params{};
  params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB;
  params.id = id_;
  static_cast<void>(ucp_worker_set_am_recv_handler(worker_.handle(), &params));
  while (first_ != nullptr) pop();
  store_->close();
}

// Inside UCX: notes the message and wakes who waits, nothing else. UCS_INPROGRESS keeps UCX's buffer.
ucs_status_t AmReceiver::arrived(void* receiver, const void* header, std::size_t header_size, void* data,
                                 std::size_t size, const ucp_am_recv_param_t* param) {
  auto& self = *static_cast<AmReceiver*>(receiver);
  detail::AmRecord* record = self.store_->take();
  const bool room = record != nullptr && self.fill(*record, header, header_size, data, size, *param);
  if (!room) {
    if (record != nullptr) self.store_->recycle(*record);
    ++self.dropped_;
    self.wake();
    return UCS_OK;
  }
  self.push(*record);
  return record->kind == detail::AmRecord::Data::kCopied ? UCS_OK : UCS_INPROGRESS;
}

// False when memory is out.
bool AmReceiver::fill(detail::AmRecord& record, const void* header, std::size_t header_size, void* data,
                      std::size_t size, const ucp_am_recv_param_t& param) noexcept {
  using Data = detail::AmRecord::Data;
  record.reply = (param.recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0 ? param.reply_ep : nullptr;
  record.size = size;
  record.data = data;
  record.header_size = header_size;
  record.header = record.inline_header.data();
  if (header_size > record.inline_header.size()) {
    if (!copy(record.long_header, header, header_size)) return false;
    record.header = record.long_header.data();
  } else if (header_size > 0) {
    std::memcpy(record.inline_header.data(), header, header_size);
  }
  if ((param.recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
    record.kind = Data::kRendezvous;
  } else if ((param.recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0) {
    record.kind = Data::kHeld;
  } else {
    record.kind = Data::kCopied;
    if (size > record.inline_data.size()) {
      if (!copy(record.copy, data, size)) return false;
      record.data = record.copy.data();
    } else if (size > 0) {
      std::memcpy(record.inline_data.data(), data, size);
      record.data = record.inline_data.data();
    }
  }
  return true;
}

void AmReceiver::push(detail::AmRecord& record) noexcept {
  record.next = nullptr;
  if (first_ == nullptr) {
    first_ = &record;
  } else {
    last_->next = &record;
  }
  last_ = &record;
  if (notify_ != nullptr) worker_.after_progress(*notify_);
  wake();
}

void AmReceiver::wake() noexcept {
  if (waiting_ && !resumption_.is_scheduled()) worker_.loop().schedule(resumption_);
}

void AmReceiver::on_cancel(CancelReason reason) noexcept {
  reason_ = reason;
  wake();
}

}  // namespace weft::ucx
