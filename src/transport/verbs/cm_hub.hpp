// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

#include "transport/verbs/cm_address.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/fd_watch.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/verbs/cm_driver.hpp"

namespace weft::detail::verbs_carrier {

class CmHub;

/// A communication identifier: one side of a connection that rdma_cm makes. Ends it when it ends. Thread: its
/// hub's loop's.
class CmConnection {
 public:
  CmConnection() noexcept = default;
  CmConnection(std::shared_ptr<CmHub> hub, verbs::CmId* id) noexcept : hub_(std::move(hub)), id_(id) {}
  CmConnection(CmConnection&& other) noexcept
      : hub_(std::move(other.hub_)), id_(std::exchange(other.id_, nullptr)) {}
  CmConnection& operator=(CmConnection&& other) noexcept;
  ~CmConnection() { end(); }

  explicit operator bool() const noexcept { return id_ != nullptr; }
  verbs::CmId* id() const noexcept { return id_; }
  verbs::CmDriver& driver() const noexcept;
  void end() noexcept;

 private:
  std::shared_ptr<CmHub> hub_;
  verbs::CmId* id_ = nullptr;
};

/// Callbacks of a hub. Called in turns of its loop; they may end anything, the hub too.
class CmHandler {
 public:
  /// An event has come of an id that was made for it or handed to it.
  virtual void on_cm_event(const verbs::CmEvent& event) = 0;
  /// The request with its token has come, the only one.
  virtual void on_cm_request(CmConnection connection, const verbs::CmEvent& event) = 0;

 protected:
  ~CmHandler() = default;
};

/// Shares rdma_cm among the connections of one loop: the event channel and, once a connection awaits a
/// request, a listener on all addresses. Requests without an awaited token are rejected immediately, from
/// every source address. Destroyed with its last connection. Thread: the loop's.
class CmHub final : private FdWatch, public std::enable_shared_from_this<CmHub> {
  struct Private {
    explicit Private() = default;
  };

 public:
  /// Errors: the system has no connection manager.
  static Result<std::shared_ptr<CmHub>> make(Loop& loop, verbs::CmDriver& driver);
  CmHub(Private, Loop& loop, verbs::CmDriver& driver) : loop_(loop), driver_(driver) {}
  ~CmHub();

  verbs::CmDriver& driver() const noexcept { return driver_; }
  /// Its events are `handler`'s, until it ends.
  Result<CmConnection> create(CmHandler& handler);
  /// Lets `handler` await a request with the token that this returns, until it has come, or forget().
  Result<CmListening> await_request(CmHandler& handler);
  void forget(const CmToken& token) noexcept { awaited_.erase(token); }
  void destroy(verbs::CmId* id) noexcept;

 private:
  struct Rest final : Ready {
    explicit Rest(CmHub& its) noexcept
        : Ready([](Ready* node) noexcept { static_cast<Rest*>(node)->hub.take_events(); }), hub(its) {}
    CmHub& hub;
  };
  struct TokenHash {
    std::size_t operator()(const CmToken& token) const noexcept {
      std::size_t random = 0;  // as the token is
      std::memcpy(&random, token.data(), sizeof random);
      return random;
    }
  };

  Status listen();
  Status listen_on(int family);
  void on_ready(Readiness readiness) override;
  void take_events();
  void dispatch(const verbs::CmEvent& event);
  void on_request(const verbs::CmEvent& event);

  Loop& loop_;
  verbs::CmDriver& driver_;
  verbs::CmChannel* channel_ = nullptr;
  verbs::CmId* listener_ = nullptr;
  std::uint16_t port_ = 0;
  std::unordered_map<verbs::CmId*, CmHandler*> handlers_;
  std::unordered_map<CmToken, CmHandler*, TokenHash> awaited_;
  Rest rest_{*this};
};

}  // namespace weft::detail::verbs_carrier
