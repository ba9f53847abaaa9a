// SPDX-License-Identifier: Apache-2.0
#include "protobuf/generic_record.hpp"

#include <algorithm>
#include <utility>

#include "protobuf/run_on.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/protobuf/running_call.hpp"
#include "weft/detail/protobuf/unary_record.hpp"

namespace weft::protobuf::detail {

GenericRecord::GenericRecord(const GenericMethod& method, weft::detail::ServedCall& call)
    : weft::detail::Ready(
          [](weft::detail::Ready* self) noexcept { static_cast<GenericRecord*>(self)->answer(); }),
      weft::detail::RoomWaiter(static_cast<weft::detail::Ready&>(*this)),
      call_(call),
      loop_(call.loop()),
      controller_(*this),
      request_(method.service.GetRequestPrototype(&method.descriptor).New()),
      response_(method.service.GetResponsePrototype(&method.descriptor).New()) {}

void GenericRecord::serve(const weft::detail::MethodEntry& method, weft::detail::ServedCall& call) {
  const auto& its = *static_cast<const GenericMethod*>(method.object);
  GenericRecord* record = nullptr;
  try {
    record = new GenericRecord(its, call);
    Status failure;
    read_message(*record->request_, call.body(), failure);
    if (!failure.ok()) {
      call.unless_answered(failure.with_context(its.described.name), true);
      return record->let_go();
    }
  } catch (...) {
    if (record != nullptr) record->let_go();
    return call.unless_answered(weft::detail::status_of_exception(call.method()));
  }
  call.hold();
  record->call_service(its);
}

// The service may be done, and the call answered, before it returns or throws.
void GenericRecord::call_service(const GenericMethod& its) {
  hold();
  try {
    its.service.CallMethod(&its.descriptor, &controller_, request_.get(), response_.get(), this);
  } catch (...) {
    if (!done_.exchange(true)) {
      controller_.fail(weft::detail::status_of_exception(call_.method()));
      answer_soon();
    }
  }
  let_go();
}

void GenericRecord::Run() {
  const bool again = done_.exchange(true);
  WEFT_ASSERT(!again, "a service runs `done` once, and not when it has thrown");
  answer_soon();
}

void GenericRecord::answer_soon() {
  run_on(loop_, [this] { answer_when_room(); });
}

void GenericRecord::answer_when_room() {
  if (call_.has_room()) return answer();
  if (controller_.Failed()) {
    controller_.fail(weft::detail::keep_failure(call_, controller_.status()));
  } else if (Status kept = call_.keep_answer(response_->SpaceUsedLong()); !kept.ok()) {
    controller_.fail(std::move(kept));
  }
  call_.when_room(*this);
}

void GenericRecord::answer() noexcept {
  try {
    if (controller_.Failed()) {
      call_.fail(controller_.status());
    } else {
      answer_with_message<google::protobuf::Message>(call_, *response_);
    }
  } catch (...) {
    call_.fail(weft::detail::status_of_exception(call_.method()));
  }
  was_cancelled_ = call_.cancelled_anywhere();
  ended_ = true;
  stop_listening();
  call_.let_go();
  run_callback();
  let_go();
}

void GenericRecord::notify_on_cancel(google::protobuf::Closure* callback) {
  {
    const std::lock_guard lock(mutex_);
    WEFT_ASSERT(callback_ == nullptr, "NotifyOnCancel() is called once for a call");
    callback_ = callback;
  }
  listen_soon();
}

void GenericRecord::cancel_with_it(const std::shared_ptr<RunningCall>& nested) {
  {
    const std::lock_guard lock(mutex_);
    if (nested_.size() >= nested_pruned_at_) {
      std::erase_if(nested_, [](const auto& each) { return each.expired(); });
      nested_pruned_at_ = std::max(kNestedPrunedAtMin, 2 * nested_.size());
    }
    nested_.push_back(nested);
  }
  listen_soon();
}

void GenericRecord::listen_soon() {
  hold();
  run_on(loop_, [this] {
    listen();
    let_go();
  });
}

void GenericRecord::listen() {
  if (ended_ || is_listening()) return;
  if (!call_.scope().cancelled()) return call_.scope().add(*this);
  on_cancel(call_.scope().reason());
}

void GenericRecord::on_cancel(CancelReason) noexcept {
  if (cancel_node_.is_scheduled()) return;
  hold();
  loop_.schedule(cancel_node_);
}

void GenericRecord::tell_cancelled() noexcept {
  std::vector<std::weak_ptr<RunningCall>> nested;
  {
    const std::lock_guard lock(mutex_);
    nested.swap(nested_);
  }
  for (const auto& each : nested) {
    if (const auto call = each.lock()) call->cancel_soon();
  }
  run_callback();
  let_go();
}

void GenericRecord::run_callback() {
  google::protobuf::Closure* callback = nullptr;
  {
    const std::lock_guard lock(mutex_);
    callback = std::exchange(callback_, nullptr);
  }
  if (callback != nullptr) callback->Run();
}

}  // namespace weft::protobuf::detail
