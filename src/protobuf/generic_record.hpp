// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/service.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "protobuf/described_method.hpp"
#include "protobuf/protobuf_json.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/protobuf/controller.hpp"

namespace weft::protobuf::detail {

class RunningCall;

/// A method of a service that protoc itself generated; what MethodEntry::object points to. The server keeps
/// it.
struct GenericMethod {
  GenericMethod(google::protobuf::Service& its_service, const google::protobuf::MethodDescriptor& its)
      : service(its_service), descriptor(its), described(its), json(its) {}
  google::protobuf::Service& service;
  const google::protobuf::MethodDescriptor& descriptor;
  const DescribedMethod described;
  const ProtobufJson json;
};

/// One call of such a method, and its `done`. No coroutine is made for it.
///
///   serve() parses, calls the service --done--> answer, at once or when there is room --> gone
///
/// Thread: done and notify_on_cancel() any; the rest is the call's loop, but for serve() of a blocking
/// method.
class GenericRecord final : public google::protobuf::Closure,
                            private weft::detail::Ready,
                            private weft::detail::RoomWaiter,
                            private CancelListener {
 public:
  /// MethodEntry::serve_record, of a delayed method.
  static void serve(const weft::detail::MethodEntry& method, weft::detail::ServedCall& call);

  /// The service is done. Once.
  void Run() override;

  /// Returns the call, until the service is done.
  weft::detail::ServedCall& call() { return call_; }
  /// True once the call is cancelled. Valid also inside the closure of notify_on_cancel(), which may run
  /// after the call has ended.
  bool is_cancelled() const { return ended_ ? was_cancelled_ : call_.cancelled_anywhere(); }
  void notify_on_cancel(google::protobuf::Closure* callback);
  /// `nested` is made for this call and cancelled with it. Any thread.
  void cancel_with_it(const std::shared_ptr<RunningCall>& nested);

 private:
  static constexpr std::size_t kNestedPrunedAtMin = 16;

  /// Runs what waits for a cancel: from the loop's queue, because a scope's listener may not.
  struct CancelNode : weft::detail::Ready {
    explicit CancelNode(GenericRecord& its)
        : weft::detail::Ready([](weft::detail::Ready* self) noexcept {
            static_cast<CancelNode*>(self)->record.tell_cancelled();
          }),
          record(its) {}
    GenericRecord& record;
  };

  GenericRecord(const GenericMethod& method, weft::detail::ServedCall& call);
  ~GenericRecord() override = default;

  void call_service(const GenericMethod& its);
  void answer_soon();
  void on_cancel(CancelReason reason) noexcept override;
  void listen_soon();
  void listen();
  void tell_cancelled() noexcept;
  void run_callback();
  void answer_when_room();
  void answer() noexcept;
  void hold() { holders_.fetch_add(1, std::memory_order_relaxed); }
  void let_go() {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  weft::detail::ServedCall& call_;
  Loop& loop_;
  Controller controller_;
  std::unique_ptr<google::protobuf::Message> request_;
  std::unique_ptr<google::protobuf::Message> response_;
  CancelNode cancel_node_{*this};
  std::atomic<unsigned> holders_ = 1;
  std::atomic<bool> done_ = false;
  /// The call is answered and no longer ours.
  bool ended_ = false;
  bool was_cancelled_ = false;
  std::mutex mutex_;
  google::protobuf::Closure* callback_ = nullptr;
  /// Calls that this one made. Ended ones are taken out when there are `nested_pruned_at_`, which is then
  /// set to twice the number that is left: a service that makes calls again and again keeps few, and pays
  /// little for each.
  std::vector<std::weak_ptr<RunningCall>> nested_;
  std::size_t nested_pruned_at_ = kNestedPrunedAtMin;
};

}  // namespace weft::protobuf::detail
