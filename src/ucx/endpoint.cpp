// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/ucx/endpoint.hpp"

#include "ucx/framed.hpp"
#include "ucx/printed.hpp"
#include "weft/detail/ucx/library.hpp"
#include "weft/detail/ucx/listener.hpp"

namespace weft::ucx {

namespace detail {

std::string_view Close::advice(ucs_status_t status) noexcept {
  if (status != UCS_ERR_INVALID_PARAM) return {};
  return "UCX closes nothing by force in ErrorMode::kNone: close by CloseMode::kFlush, or end the worker "
         "when "
         "the peer is gone";
}

EndpointCore::EndpointCore(Worker& owner, EndpointOptions& options) noexcept
    : weft::detail::Ready(&EndpointCore::tell),
      worker(&owner),
      mode(options.error_mode),
      on_error(std::move(options.on_error)) {
  owner.endpoints_.push_back(*this);
}

ucs_status_ptr_t EndpointCore::close(CloseMode how, Operation& operation) noexcept {
  if (how == CloseMode::kForce && mode == ErrorMode::kNone) {
    return reinterpret_cast<ucs_status_ptr_t>(static_cast<std::intptr_t>(UCS_ERR_INVALID_PARAM));
  }
  ucp_request_param_t params = params_for(operation, {});
  params.cb.send = &Operation::sent;
  if (how == CloseMode::kForce) {
    params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  }
  const ucs_status_ptr_t answer = detail::library.ucp_ep_close_nbx(endpoint.handle, &params);
  endpoint = {};
  closing = answer != nullptr && !is_error(answer);
  return answer;
}

void EndpointCore::let_go() noexcept {
  kept = false;
  close_by_force();
  end_if_unused();
}

void EndpointCore::keep_until_closed(Operation& operation) noexcept {
  operation.kind = {};
  operation.on_given_back = &EndpointCore::close_ended;
  operation.given_back_argument = this;
}

// If UCX allows it; does not wait for the end.
void EndpointCore::close_by_force() noexcept {
  OperationPool* pool = endpoint.operations;
  if (pool == nullptr || mode != ErrorMode::kPeer) return;
  Operation* operation = pool->peek_surely();
  if (operation == nullptr) return;
  const ucs_status_ptr_t answer = close(CloseMode::kForce, *operation);
  if (!closing) return;
  pool->take(*operation, answer);
  keep_until_closed(*operation);
  operation->drop();
}

void EndpointCore::close_all(weft::detail::IntrusiveList<EndpointCore, EndpointTag>& endpoints,
                             Worker& worker) noexcept {
  endpoints.for_each([](EndpointCore& core) { core.close_by_force(); });
  // The rest of a close, and copies between processes, are local work.
  constexpr int kCallsMax = 1024;
  for (int calls = 0; worker.operations_out() > 0 && calls < kCallsMax; ++calls) {
    if (detail::library.ucp_worker_progress(worker.handle()) == 0) break;
  }
}

void EndpointCore::close_ended(void* core) noexcept {
  auto& self = *static_cast<EndpointCore*>(core);
  self.closing = false;
  self.end_if_unused();
}

// With a handle UCX may still call failed(): the core stays until the worker ends.
void EndpointCore::end_if_unused() noexcept {
  if (!kept && !closing && endpoint.handle == nullptr) delete this;
}

void EndpointCore::failed(void* core, ucp_ep_h /*handle*/, ucs_status_t status) {
  auto& self = *static_cast<EndpointCore*>(core);
  if (self.error != UCS_OK) return;
  self.error = status;
  if (self.kept && self.on_error) self.worker->loop().schedule(self);
}

// The callback may destroy the endpoint, and with it the core.
void EndpointCore::tell(weft::detail::Ready* node) noexcept {
  auto& self = *static_cast<EndpointCore*>(node);
  if (!self.kept) return;
  const auto callback = std::move(self.on_error);
  const Status status = to_status(self.error, "a UCX endpoint");
  const_cast<weft::detail::UniqueFunction<void(const Status&)>&>(callback)(status);
}

void EndpointCore::worker_ended(weft::detail::IntrusiveList<EndpointCore, EndpointTag>& endpoints) noexcept {
  while (!endpoints.empty()) {
    EndpointCore& core = endpoints.pop_front();
    core.endpoint = {};
    core.worker = nullptr;
    core.end_if_unused();
  }
}

}  // namespace detail

Result<Endpoint> Endpoint::create(Worker& worker, ucp_ep_params_t params, EndpointOptions options,
                                  const char* what) {
  auto core = std::make_unique<detail::EndpointCore>(worker, options);
  params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.err_mode = core->mode == ErrorMode::kPeer ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
  params.err_handler.cb = &detail::EndpointCore::failed;
  params.err_handler.arg = core.get();
  ucp_ep_h handle = nullptr;
  if (const ucs_status_t status = detail::library.ucp_ep_create(worker.handle(), &params, &handle);
      status != UCS_OK) {
    return to_status(status, what);
  }
  core->endpoint = {.handle = handle, .operations = &worker.operations()};
  return Endpoint{core.release()};
}

Status Endpoint::check_address(Bytes address) {
  return detail::unframe(detail::Framed::kAddress, address).status();
}

Result<Endpoint> Endpoint::connect(Worker& worker, Bytes address, EndpointOptions options) {
  const auto raw = detail::unframe(detail::Framed::kAddress, address);
  if (!raw.ok()) return raw.status();
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  params.address = reinterpret_cast<const ucp_address_t*>(raw->data());
  return create(worker, params, std::move(options), "connecting to a worker's address");
}

Result<Endpoint> Endpoint::connect(Worker& worker, const sockaddr* address, socklen_t size,
                                   EndpointOptions options) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS;
  params.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
  params.sockaddr = {.addr = address, .addrlen = size};
  return create(worker, params, std::move(options), "connecting to a listener");
}

Result<Endpoint> Endpoint::accept(Worker& worker, ConnectionRequest request, EndpointOptions options) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST;
  params.conn_request = request.release();
  return create(worker, params, std::move(options), "accepting a connection");
}

Status Endpoint::error() const {
  if (core_ == nullptr || core_->error == UCS_OK) return {};
  return to_status(core_->error, "a UCX endpoint");
}

detail::Posted<detail::Flush> Endpoint::flush() const noexcept {
  const EndpointRef self = *this;
  const auto call = [&](detail::Operation& record) {
    ucp_request_param_t params = detail::params_for(record, {});
    params.cb.send = &detail::Operation::sent;
    return detail::library.ucp_ep_flush_nbx(self.handle, &params);
  };
  return detail::post<detail::Flush>(self.operations, call,
                                     [](detail::Operation& record) { record.kind = {}; });
}

detail::Posted<detail::Close> Endpoint::close(CloseMode mode) noexcept {
  detail::OperationPool* pool = core_ != nullptr ? core_->endpoint.operations : nullptr;
  if (pool == nullptr) return detail::Posted<detail::Close>{UCS_ERR_NOT_CONNECTED};
  return detail::post_with<detail::Close>(
      pool->peek_surely(), *pool, [&](detail::Operation& record) { return core_->close(mode, record); },
      [&](detail::Operation& record) { core_->keep_until_closed(record); });
}

std::string Endpoint::description() const {
  if (handle() == nullptr) return {};
  return detail::printed([&](std::FILE* stream) { detail::library.ucp_ep_print_info(handle(), stream); });
}

}  // namespace weft::ucx
