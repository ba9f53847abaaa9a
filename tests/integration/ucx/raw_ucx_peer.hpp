// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "integration/raw_carrier_peer.hpp"
#include "transport/ucx/active_message.hpp"
#include "ucx/framed.hpp"
#include "weft/detail/transport/ucx.hpp"
#include "weft/detail/wire/carrier.hpp"

namespace weft::ucx_testing {

using namespace weft::detail;

/// A client of ucx:// that is made of a socket and of UCX's own functions, and says what a test wants. What
/// it posts is never cleaned up before its worker ends.
class RawUcxPeer : public carrier_testing::RawCarrierPeer {
 public:
  using Kind = MessageKind;
  static constexpr std::uint32_t kWindow = 1u << 20;
  enum class Reach : std::uint8_t { kTcp, kSharedMemory };  ///< by what, in error mode peer
  RawUcxPeer(const std::string& url, UcxErrorMode mode, Reach reach = Reach::kTcp)
      : RawCarrierPeer(url, wire::CarrierKind::kUcx), mode_(mode), reach_(reach) {}
  ~RawUcxPeer() {
    base().close();
    if (endpoint_ != nullptr && mode_ == UcxErrorMode::kPeer) close_endpoint();
    if (worker_ != nullptr) ucp_worker_destroy(worker_);
    if (context_ != nullptr) ucp_cleanup(context_);
  }

  /// Hellos. `offer` is what follows the flag byte.
  bool greet(std::optional<std::string> offer = std::nullopt) {
    const std::string usual{static_cast<char>(kMessageVersion), static_cast<char>(mode_)};
    return RawCarrierPeer::greet(offer.value_or(usual));
  }
  /// Makes the worker if there is none, so that there is an address().
  bool prepare() { return worker_ != nullptr || make_worker(); }
  /// Makes the worker, says where it is, and finds the server by the address that it answers with.
  bool open() {
    if (!prepare() || !say(wire::CarrierStep::kAddress, address())) return false;
    const auto address = hear(wire::CarrierStep::kAddress);
    if (!address || address->size() <= 12) return false;
    slot_ = weft::detail::load_le<std::uint32_t>(as_bytes(*address).data());
    key_ = weft::detail::load_le<std::uint32_t>(as_bytes(*address).data() + 4);
    const auto raw = ucx::detail::unframe(ucx::detail::Framed::kAddress, as_bytes(*address).subspan(12));
    return raw.ok() && reach(*raw);
  }
  std::string address() const {
    ucp_address_t* at = nullptr;
    std::size_t size = 0;
    if (ucp_worker_get_address(worker_, &at, &size) != UCS_OK) return {};
    const auto framed =
        ucx::detail::frame(ucx::detail::Framed::kAddress, {reinterpret_cast<const std::byte*>(at), size});
    ucp_worker_release_address(worker_, at);
    return address_with(framed);
  }
  static std::string address_with(const std::vector<std::byte>& framed) {
    std::string text(12, '\0');
    weft::detail::store_le(reinterpret_cast<std::byte*>(text.data()) + 8, kWindow);
    return text.append(as_text(framed));
  }
  /// All of it, as an honest peer does: the carrier is up afterwards.
  bool come_up() {
    if (!greet() || !open()) return false;
    send(MessageKind::kProbe);
    return progress_until([&] { return base().readable_within(std::chrono::milliseconds{0}); }) &&
           hear(wire::CarrierStep::kUp) && say(wire::CarrierStep::kUp);
  }

  ucx_carrier::ActiveMessageHeader header(MessageKind kind) {
    return {{kind, kWindow, 0, sequence_++}, slot_, key_};
  }
  void send(MessageKind kind, std::string data = {}) {
    send_header(header(kind), std::move(data), kind == MessageKind::kPart);
  }
  void send_header(const ucx_carrier::ActiveMessageHeader& its, std::string data = {},
                   bool rendezvous = false) {
    std::string text(ucx_carrier::kActiveMessageHeaderBytes, '\0');
    ucx_carrier::store_active_message_header(reinterpret_cast<std::byte*>(text.data()), its);
    send_text(std::move(text), std::move(data), rendezvous);
  }
  /// Any bytes for a header.
  void send_text(std::string header, std::string data = {}, bool rendezvous = false, unsigned id = 0) {
    kept_.push_back(std::move(header));
    const std::string& head = kept_.back();
    kept_.push_back(std::move(data));
    const std::string& body = kept_.back();
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = rendezvous ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
    const auto status =
        ucp_am_send_nbx(endpoint_, id, head.data(), head.size(), body.data(), body.size(), &params);
    if (UCS_PTR_IS_PTR(status)) ucp_request_free(status);
  }
  /// Ends this process in the middle of a message: UCX has taken its place in the receiver's queue, and asks
  /// for the bytes.
  void die_in_a_message() {
    ucp_generic_dt_ops_t calls{};
    calls.start_pack = [](void* context, const void*, std::size_t) { return context; };
    calls.packed_size = [](void*) { return std::size_t{4000}; };
    calls.pack = [](void*, std::size_t, void*, std::size_t) -> std::size_t {
      ::raise(SIGKILL);
      return 0;
    };
    calls.finish = [](void*) {};
    ucp_datatype_t datatype{};
    if (ucp_dt_create_generic(&calls, this, &datatype) != UCS_OK) return;
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_FLAGS;
    params.datatype = datatype;
    params.flags = UCP_AM_SEND_FLAG_EAGER;
    std::string head(ucx_carrier::kActiveMessageHeaderBytes, '\0');
    static_cast<void>(ucp_am_send_nbx(endpoint_, 0, head.data(), head.size(), nullptr, 1, &params));
    progress_until([] { return false; });  // it may have to wait for its turn
  }
  std::uint32_t sequence() const { return sequence_; }
  bool hear_place() {
    return progress_until([this] { return places_ > 0; });
  }

  template <typename Condition>
  bool progress_until(Condition condition) {
    return turn_until_here(condition, [this] {
      if (worker_ != nullptr) ucp_worker_progress(worker_);
    });
  }
  /// The server has ended the connection.
  bool dismissed() {
    return progress_until([this] { return stream_has_ended(); });
  }

 private:
  void close_endpoint() {
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = UCP_EP_CLOSE_FLAG_FORCE;
    const auto closing = ucp_ep_close_nbx(endpoint_, &params);
    if (!UCS_PTR_IS_PTR(closing)) return;
    progress_until([&] { return ucp_request_check_status(closing) != UCS_INPROGRESS; });
    ucp_request_free(closing);
  }
  bool make_worker() {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM;
    ucp_config_t* config = nullptr;
    if (ucp_config_read(nullptr, nullptr, &config) != UCS_OK) return false;
    const bool over_tcp = mode_ == UcxErrorMode::kPeer && reach_ == Reach::kTcp;
    if (over_tcp) ucp_config_modify(config, "TLS", "tcp,self");
    if (mode_ == UcxErrorMode::kPeer && !over_tcp) {
      ucp_config_modify(config, "TLS", "posix,cma,self");
      ucp_config_modify(config, "MM_ERROR_HANDLING", "y");
    }
    // Both ends of a queue in shared memory must take it to have elements of the same size.
    if (!over_tcp) ucp_config_modify(config, "MM_FIFO_ELEM_SIZE", "512");
    const ucs_status_t made = ucp_init(&params, config, &context_);
    ucp_config_release(config);
    if (made != UCS_OK) return false;
    ucp_worker_params_t its{};
    its.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_FLAGS;
    its.thread_mode = UCS_THREAD_MODE_SINGLE;
    its.flags = UCP_WORKER_FLAG_IGNORE_REQUEST_LEAK;
    if (ucp_worker_create(context_, &its, &worker_) != UCS_OK) return false;
    ucp_am_handler_param_t handler{};
    handler.field_mask =
        UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.arg = this;
    handler.cb = [](void* peer, const void* head, std::size_t size, void*, std::size_t,
                    const ucp_am_recv_param_t*) {
      const auto header =
          ucx_carrier::load_active_message_header({static_cast<const std::byte*>(head), size});
      const bool place = header && header->message.kind == MessageKind::kPlace;
      static_cast<RawUcxPeer*>(peer)->places_ += place ? 1 : 0;
      return UCS_OK;
    };
    return ucp_worker_set_am_recv_handler(worker_, &handler) == UCS_OK;
  }
  bool reach(Bytes raw) {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(raw.data());
    params.err_mode = mode_ == UcxErrorMode::kPeer ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
    params.err_handler.cb = [](void*, ucp_ep_h, ucs_status_t) {};
    return ucp_ep_create(worker_, &params, &endpoint_) == UCS_OK;
  }

  const UcxErrorMode mode_;
  const Reach reach_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  std::uint32_t slot_ = 0;
  std::uint32_t key_ = 0;
  std::uint32_t sequence_ = 0;
  int places_ = 0;
  std::deque<std::string> kept_;
};

}  // namespace weft::ucx_testing
