// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "transport/ucx/bring_up_room.hpp"
#include "transport/ucx/shared_worker.hpp"
#include "weft/detail/transport/carrier_provider.hpp"
#include "weft/detail/transport/ucx.hpp"
#include "weft/detail/ucx/context.hpp"

namespace weft::detail::ucx_carrier {

/// The context that carriers of these options use. It has no sockets; workers of it may. Errors: those of
/// ucx::Context::create().
Result<std::shared_ptr<ucx::Context>> make_context(const UcxOptions& options);

/// Creates the carriers of one UCX context. The context is created by require(), or for the first carrier: a
/// client that only prefers UCX and never meets a UCX peer pays nothing for it. Thread: any.
class Provider final : public CarrierProvider {
 public:
  explicit Provider(UcxOptions options) : options_(std::move(options)) {}

  wire::CarrierKind kind() const override { return wire::CarrierKind::kUcx; }
  std::string offer() const override;
  Result<std::unique_ptr<CarrierEnd>> open(Loop& loop, CarrierEndOwner& owner,
                                           std::string_view peer_offer) const override;

  /// Creates the context if it does not exist yet, so that options refused by UCX are reported before a peer
  /// connects. Errors: see make_context().
  Status require() const override;
  /// The same, and that a worker can be made too, which is when UCX looks at its transports' settings: one
  /// with its shared memory only, which listens on no socket. Takes milliseconds.
  Status try_out() const override;

  const UcxOptions& options() const noexcept { return options_; }
  /// The worker of another carrier of `loop`, whose thread is the calling one. Errors: those of
  /// ucx::Context::create() and ucx::Worker::create().
  Result<std::shared_ptr<SharedWorker>> worker_for(Loop& loop) const;
  /// Room in which peers are brought up on `loop`; null when they share a worker, and cost little.
  std::shared_ptr<BringUpRoom> room_for(Loop& loop) const;

 private:
  Result<std::shared_ptr<ucx::Context>> context() const;

  const UcxOptions options_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<ucx::Context> context_;
  mutable std::map<Loop*, std::weak_ptr<SharedWorker>> workers_;
  mutable std::map<Loop*, std::weak_ptr<BringUpRoom>> rooms_;
};

}  // namespace weft::detail::ucx_carrier
