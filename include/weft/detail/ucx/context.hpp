// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"

namespace weft::ucx {

/// Features that a context is used for. UCX sets up only what was asked for; the rest fails with
/// kInvalidArgument.
struct Features {
  bool tag = false;
  bool stream = false;
  bool active_messages = false;
  bool remote_memory = false;
  bool atomics_32 = false;
  bool atomics_64 = false;
  /// Lets a loop sleep until something arrives. Without it a loop with a worker never sleeps.
  bool wakeup = true;
};

/// Everything a context can be told. UCX's own variables (`UCX_TLS` and so on) are read first; what stands
/// here wins over them, but for the three that have a default of ours, as their comments say.
struct ContextOptions {
  Features features{};
  /// Workers of several threads share the context. Each worker still belongs to one loop.
  bool several_threads = true;
  /// Transports by UCX's names: "tcp", "posix", "sysv", "cma", "rc" ...; also "shm", "all", "^tcp". Empty:
  /// UCX chooses.
  std::vector<std::string> transports{};
  /// Network devices by UCX's names: "lo", "eth0", "mlx5_0:1". Empty: all.
  std::vector<std::string> devices{};
  /// Lets UCX use shared memory for endpoints in ErrorMode::kPeer too (its setting MM_ERROR_HANDLING).
  /// Without it UCX 1.13 falls back to TCP within a host for such endpoints. It says nothing about how fast a
  /// dead peer is noticed there: see docs/guide/ucx.md. `UCX_MM_ERROR_HANDLING` in the environment wins over
  /// it.
  bool shared_memory_in_peer_mode = true;
  /// Messages of up to about this size go through shared memory without a buffer of their own (UCX's setting
  /// MM_FIFO_ELEM_SIZE), which is a third of a microsecond less; 64 times as much memory for each worker. 0
  /// for UCX's own, 128. `UCX_MM_FIFO_ELEM_SIZE` in the environment wins over it.
  std::size_t shared_memory_element_bytes = 0;
  /// Parts in which UCX copies over TCP what it cannot send from where it lies, such as lists of runs: each
  /// is a system call (its setting TCP_TX_SEG_SIZE). At most TCP_RX_SEG_SIZE of the peer, 64 KiB. 0 for UCX's
  /// own, 8 KiB. `UCX_TCP_TX_SEG_SIZE` in the environment wins over it, and `UCX_TCP_RX_SEG_SIZE` leaves it
  /// out, as either does in `settings`.
  std::size_t tcp_segment_bytes = 0;
  /// Keeps the handlers that UCX installs for SIGSEGV, SIGBUS, SIGILL and SIGFPE when it is loaded, which the
  /// first context of the process does. They are the process's, so a library has no business with them; false
  /// puts back what was there before.
  bool signal_handlers = false;
  /// Lets UCX rewrite mmap, munmap and the like in the process's code to hear of memory that is given back.
  /// Needed only where registrations are cached, which is InfiniBand and the like.
  bool memory_hooks = true;
  /// UCX's settings by name without "UCX_": {"RNDV_THRESH", "8k"}. `ucx_info -f` lists them.
  std::vector<std::pair<std::string, std::string>> settings{};
  /// Another prefix of environment variables that is read before "UCX_": "APP" for APP_UCX_TLS.
  std::string environment_prefix{};
  /// Number of endpoints that there will be; 0 when unknown. UCX chooses scalable transports for many.
  std::size_t expected_endpoints = 0;
};

/// UCX's context: the transports, devices and settings that its workers use. Shared by the workers, memory
/// regions and keys made from it, which keep it alive. Thread: any, if options.several_threads.
class Context : public std::enable_shared_from_this<Context> {
  struct Private {
    explicit Private() = default;
  };

 public:
  /// Errors: kInvalidArgument for a setting that UCX does not know or a value that it refuses, also for a
  /// transport that it opens later (the text names both), kFailedPrecondition when no device carries the
  /// transports.
  static Result<std::shared_ptr<Context>> create(const ContextOptions& options);
  Context(Private, ucp_context_h handle, const ContextOptions& options, std::string configuration);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  ucp_context_h handle() const noexcept { return handle_; }
  const Features& features() const noexcept { return features_; }
  const std::string& environment_prefix() const noexcept { return environment_prefix_; }
  /// The settings in effect, one "UCX_NAME=value" a line, as UCX prints them: its own, and of its transports
  /// those that ContextOptions gave a value, which UCX 1.13 prints without "UCX_".
  const std::string& configuration() const noexcept { return configuration_; }
  /// The settings that choose transports and devices: "UCX_TLS=tcp and UCX_NET_DEVICES=all".
  std::string choice() const;
  /// The devices and transports that UCX opened, as UCX prints them.
  std::string description() const;

 private:
  const ucp_context_h handle_;
  const Features features_;
  const std::string environment_prefix_;
  const std::string configuration_;
};

/// Returns the settings that a context begins with: every setting of UCX and of the transports that are
/// installed, one "UCX_NAME=value" a line, as the environment has it. Thread: any, while nobody changes the
/// environment.
std::string settings_before_contexts();

}  // namespace weft::ucx
