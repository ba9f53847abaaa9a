// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/ucx/am_receive.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>

#include "weft/detail/ucx/library.hpp"

namespace weft::ucx {

namespace {

using detail::AmRecord;

// Most headers and many messages are this short, and memcpy() of a size that is not known is a call.
[[gnu::always_inline]] inline void copy_bytes(std::byte* to, const void* from, std::size_t size) noexcept {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const auto* bytes = static_cast<const std::byte*>(from);
  if (size > 2 * kWord) {
    std::memcpy(to, bytes, size);
  } else if (size >= kWord) {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::memcpy(&first, bytes, kWord);
    std::memcpy(&last, bytes + size - kWord, kWord);
    std::memcpy(to, &first, kWord);
    std::memcpy(to + size - kWord, &last, kWord);
  } else {
    for (std::size_t i = 0; i < size; ++i) to[i] = bytes[i];
  }
}

AmRecord::Data kind_of(const ucp_am_recv_param_t& param) noexcept {
  using Data = AmRecord::Data;
  if ((param.recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return Data::kRendezvous;
  return (param.recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0 ? Data::kHeld : Data::kCopied;
}

// Null when memory is exhausted.
std::byte* copy_outside(Memory& to, const void* from, std::size_t size) noexcept {
  try {
    to = Memory::copy_of({static_cast<const std::byte*>(from), size});
    return to.data();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// Data too large for the record gets memory of its own. Returns false when memory is exhausted.
[[gnu::noinline]] bool keep_outside(AmRecord& record, const void* header) noexcept {
  record.on_heap = true;
  if (record.header_size > record.inline_header.size()) {
    record.header = copy_outside(record.long_header, header, record.header_size);
  }
  if (record.kind == AmRecord::Data::kCopied && record.size > record.inline_data.size()) {
    record.data = copy_outside(record.copy, record.data, record.size);
  }
  return record.header != nullptr && record.data != nullptr;
}

// False when memory is exhausted.
[[gnu::always_inline]] inline bool fill(AmRecord& record, const void* header, std::size_t header_size,
                                        void* data, std::size_t size,
                                        const ucp_am_recv_param_t& param) noexcept {
  record.reply = (param.recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0 ? param.reply_ep : nullptr;
  const AmRecord::Data kind = kind_of(param);
  record.kind = kind;
  record.size = size;
  record.data = data;
  record.header_size = header_size;
  record.header = record.inline_header.data();
  const bool copied = kind == AmRecord::Data::kCopied;
  bool fits = true;
  if (header_size <= record.inline_header.size()) [[likely]] {
    copy_bytes(record.inline_header.data(), header, header_size);
  } else {
    fits = false;
  }
  if (copied && size <= record.inline_data.size()) [[likely]] {
    copy_bytes(record.inline_data.data(), data, size);
    record.data = record.inline_data.data();
  } else {
    fits = fits && !copied;
  }
  return fits || keep_outside(record, header);
}

}  // namespace

namespace detail {

AmStore::AmStore(Worker& owner, std::size_t limit) noexcept
    : owner_(owner), worker_(owner.handle()), operations_(owner.operations()), limit_(limit > 0 ? limit : 1) {
  owner.add_dependent();
}

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

void AmStore::free_parts(AmRecord& record) noexcept {
  record.copy.reset();
  record.long_header.reset();
  record.on_heap = false;
}

void AmStore::close() noexcept {
  closed_ = true;
  if (out_ == 0) delete this;
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
          [&] {
            return std::to_string(lost) + " active messages of id " + std::to_string(receiver_.id_) +
                   " were dropped (raise AmReceiverOptions::messages_max, or let messages go sooner)";
          },
          UCS_ERR_NO_RESOURCE};
}

}  // namespace detail

detail::Posted<detail::AmDataReceive> AmMessage::receive_into(const Memory& memory) && noexcept {
  using detail::Operation;
  WEFT_ASSERT(record_ != nullptr, "a message is received once");
  AmMessage message{std::move(*this)};
  detail::OperationPool& pool = message.record_->store->operations();
  const auto call = [&](Operation& operation) { return message.fetch(operation, memory); };
  return detail::post_receive<detail::AmDataReceive>(
      pool.peek_surely(), pool, call, [&](Operation& operation) { detail::keep(operation, memory); });
}

ucs_status_ptr_t AmMessage::fetch(detail::Operation& operation, const Memory& memory) noexcept {
  const std::size_t size = record_->size;
  if (memory.size() < size) {
    return reinterpret_cast<ucs_status_ptr_t>(static_cast<std::intptr_t>(UCS_ERR_MESSAGE_TRUNCATED));
  }
  operation.outcome.length = size;
  if (size == 0) return nullptr;
  if (!rendezvous()) {
    std::memcpy(memory.data(), record_->data, size);
    return nullptr;
  }
  ucp_request_param_t params = detail::params_for(operation, memory);
  params.cb.recv_am = &detail::Operation::received_bytes;
  const ucs_status_ptr_t answer = detail::library.ucp_am_recv_data_nbx(
      record_->store->worker(), record_->data, memory.data(), size, &params);
  // The descriptor is UCX's again, also when this failed.
  record_->kind = AmRecord::Data::kCopied;
  return answer;
}

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
  const ucs_status_t status = detail::library.ucp_worker_set_am_recv_handler(worker.handle(), &params);
  WEFT_ASSERT(status == UCS_OK, "the context of an AmReceiver has Features::active_messages");
}

AmReceiver::~AmReceiver() {
  WEFT_ASSERT(!waiting_, "an AmReceiver outlives who waits on it");
  ucp_am_handler_param_t params{};
  params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB;
  params.id = id_;
  static_cast<void>(detail::library.ucp_worker_set_am_recv_handler(worker_.handle(), &params));
  while (first_ != nullptr) pop();
  store_->close();
}

// Runs inside UCX: stores the message and wakes the waiter, nothing else. UCS_INPROGRESS keeps UCX's buffer.
ucs_status_t AmReceiver::arrived(void* receiver, const void* header, std::size_t header_size, void* data,
                                 std::size_t size, const ucp_am_recv_param_t* param) {
  auto& self = *static_cast<AmReceiver*>(receiver);
  AmRecord* record = self.store_->take();
  if (record == nullptr || !fill(*record, header, header_size, data, size, *param)) [[unlikely]] {
    return self.lose(record);
  }
  self.push(*record);
  return record->kind == AmRecord::Data::kCopied ? UCS_OK : UCS_INPROGRESS;
}

// There is no room for a message; `record` is null, or where it was to go.
ucs_status_t AmReceiver::lose(AmRecord* record) noexcept {
  if (record != nullptr) store_->recycle(*record);
  ++dropped_;
  wake();
  return UCS_OK;
}

void AmReceiver::on_cancel(CancelReason reason) noexcept {
  reason_ = reason;
  wake();
}

}  // namespace weft::ucx
