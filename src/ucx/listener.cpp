// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/ucx/listener.hpp"

#include "weft/detail/ucx/library.hpp"

namespace weft::ucx {

void ConnectionRequest::refuse() noexcept {
  if (handle_ != nullptr) static_cast<void>(detail::library.ucp_listener_reject(listener_, release()));
}

Result<sockaddr_storage> ConnectionRequest::peer() const {
  ucp_conn_request_attr_t attributes{};
  attributes.field_mask = UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR;
  if (const ucs_status_t status = detail::library.ucp_conn_request_query(handle_, &attributes);
      status != UCS_OK) {
    return to_status(status, "the address of a peer");
  }
  return attributes.client_address;
}

Result<std::unique_ptr<Listener>> Listener::create(Worker& worker, const sockaddr* address, socklen_t size,
                                                   const ListenerOptions& options) {
  std::unique_ptr<Listener> listener{new Listener(worker, options)};
  ucp_listener_params_t params{};
  params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
  params.sockaddr = {.addr = address, .addrlen = size};
  params.conn_handler = {.cb = &Listener::arrived, .arg = listener.get()};
  const ucs_status_t status =
      detail::library.ucp_listener_create(worker.handle(), &params, &listener->handle_);
  if (status != UCS_OK) {
    listener->handle_ = nullptr;
    return to_status(status, "listening with UCX");
  }
  return listener;
}

Listener::Listener(Worker& worker, const ListenerOptions& options)
    : worker_(worker), requests_(options.backlog) {
  worker.add_dependent();
}

// Requests that wait are refused first, which needs the listener.
Listener::~Listener() {
  requests_.close();
  while (requests_.try_pop()) {
  }
  if (handle_ != nullptr) detail::library.ucp_listener_destroy(handle_);
  worker_.remove_dependent();
}

Result<sockaddr_storage> Listener::address() const {
  ucp_listener_attr_t attributes{};
  attributes.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
  if (const ucs_status_t status = detail::library.ucp_listener_query(handle_, &attributes);
      status != UCS_OK) {
    return to_status(status, "the address of a listener");
  }
  return attributes.sockaddr;
}

void Listener::arrived(ucp_conn_request_h request, void* listener) {
  auto& self = *static_cast<Listener*>(listener);
  ConnectionRequest arrival{self.handle_, request};
  if (!self.requests_.try_push(std::move(arrival))) ++self.refused_;
}

}  // namespace weft::ucx
