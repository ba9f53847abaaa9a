// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/ucx/worker.hpp"

#include <utility>

#include "ucx/framed.hpp"
#include "weft/detail/ucx/endpoint.hpp"
#include "weft/detail/ucx/library.hpp"
#include "weft/detail/ucx/tag_probe.hpp"

namespace weft::ucx {

Result<std::unique_ptr<Worker>> Worker::create(Loop& loop, std::shared_ptr<Context> context,
                                               const WorkerOptions& options) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_FLAGS;
  params.thread_mode = UCS_THREAD_MODE_SINGLE;
  // The worker's destructor reclaims unfinished operations, so a warning is not needed.
  params.flags = UCP_WORKER_FLAG_IGNORE_REQUEST_LEAK;
  if (options.am_alignment != 0) {
    params.field_mask |= UCP_WORKER_PARAM_FIELD_AM_ALIGNMENT;
    params.am_alignment = options.am_alignment;
  }
  ucp_worker_h handle = nullptr;
  if (const ucs_status_t status = detail::library.ucp_worker_create(context->handle(), &params, &handle);
      status != UCS_OK) {
    return to_setup_status(status, "making a UCX worker", context->environment_prefix());
  }
  auto worker = std::make_unique<Worker>(Private{}, loop, std::move(context), handle, options);
  if (auto started = worker->start(); !started.ok()) return std::move(started).status();
  return worker;
}

Worker::Worker(Private, Loop& loop, std::shared_ptr<Context> context, ucp_worker_h handle,
               const WorkerOptions& options)
    : loop_(loop),
      context_(std::move(context)),
      handle_(handle),
      progress_max_(options.progress_max > 0 ? options.progress_max : 1),
      progress_before_suspending_max_(
          loop.mode() == WaitMode::kWait ? 0 : options.progress_before_suspending_max),
      operations_(new detail::OperationPool(loop, handle, options.operations_max)) {}

Result<void> Worker::start() {
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
  if (const ucs_status_t status = detail::library.ucp_worker_query(handle_, &attributes); status != UCS_OK) {
    return to_status(status, "a worker's limits");
  }
  operations_->set_am_header_bytes_max(attributes.max_am_header);
  if (context_->features().wakeup) {
    const ucs_status_t status = detail::library.ucp_worker_get_efd(handle_, &descriptor_);
    if (status != UCS_OK) return to_status(status, "a worker's descriptor");
  }
  auto added = loop_.add_poller(*this);
  added_ = added.ok();
  return added;
}

void Worker::rest() noexcept {
  if (std::exchange(added_, false)) loop_.remove_poller(*this);
}

Worker::~Worker() {
  WEFT_ASSERT(dependents_ == 0,
              "a ucx::Worker ended before an AmReceiver, AmMessage or Listener of it: they end first");
  rest();
  detail::TagProbeAwaiter::close(probes_);
  detail::EndpointCore::close_all(endpoints_, *this);
  operations_->end_keys();
  detail::library.ucp_worker_destroy(handle_);
  detail::EndpointCore::worker_ended(endpoints_);
  operations_->close();
}

Result<std::vector<std::byte>> Worker::address() const {
  ucp_address_t* address = nullptr;
  std::size_t size = 0;
  if (const ucs_status_t status = detail::library.ucp_worker_get_address(handle_, &address, &size);
      status != UCS_OK) {
    return to_status(status, "a worker's address");
  }
  auto framed = detail::frame(detail::Framed::kAddress, {reinterpret_cast<const std::byte*>(address), size});
  detail::library.ucp_worker_release_address(handle_, address);
  return framed;
}

detail::Posted<detail::Flush> Worker::flush() noexcept {
  const auto call = [&](detail::Operation& record) {
    ucp_request_param_t params = detail::params_for(record, {});
    params.cb.send = &detail::Operation::sent;
    return detail::library.ucp_worker_flush_nbx(handle_, &params);
  };
  return detail::post<detail::Flush>(operations_, call, [](detail::Operation& record) { record.kind = {}; });
}

Result<void> Worker::fence() noexcept {
  if (const ucs_status_t status = detail::library.ucp_worker_fence(handle_); status != UCS_OK) {
    return to_status(status, "a fence");
  }
  return {};
}

std::size_t Worker::poll() {
  std::size_t events = 0;
  operations_->allow_calls(0);
  for (unsigned calls = 0; calls < progress_max_; ++calls) {
    events = detail::library.ucp_worker_progress(handle_);
    if (events != 0 || loop_.has_ready()) break;
  }
  events == 0 ? quiet_.goes_on() : quiet_.broken();
  if (!hooks_.empty()) events += run_hooks();
  if (!probes_.waiting.empty()) detail::TagProbeAwaiter::look(probes_);
  operations_->allow_calls(progress_before_suspending_max_);
  return events;
}

// One batch: a hook that queues itself again waits for the next progress.
std::size_t Worker::run_hooks() {
  weft::detail::IntrusiveList<AfterProgress, AfterProgressTag> batch;
  batch.splice_back(hooks_);
  std::size_t ran = 0;
  for (; !batch.empty(); ++ran) batch.pop_front().on_progress();
  return ran;
}

// The loop is notified of edges of its descriptor, so UCX is polled until it is idle: data announced by an
// earlier edge and not yet fetched would not be announced again.
bool Worker::arm() {
  if (operations_->take_brought()) quiet_.broken();
  if (descriptor_ < 0 || !quiet_.holds() || !hooks_.empty()) return false;
  const ucs_status_t status = detail::library.ucp_worker_arm(handle_);
  if (status != UCS_OK) return status == UCS_ERR_BUSY && quiet_.refused(loop_.now());
  quiet_.armed();
  return true;
}

}  // namespace weft::ucx
