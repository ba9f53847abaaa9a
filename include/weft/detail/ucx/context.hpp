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

/// Features that a context is used for. UCX sets up only the requested ones; operations of others fail with
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

/// All options of a context. UCX's own variables (`UCX_TLS` and so on) are read first; options here take
/// precedence, except for the three with a default of Weft's, as their comments state.
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
  /// Without it UCX 1.13 falls back to TCP within a host for such endpoints. It does not determine how fast a
  /// dead peer is noticed there: see docs/guide/ucx.md. `UCX_MM_ERROR_HANDLING` in the environment takes
  /// precedence.
  bool shared_memory_in_peer_mode = true;
  /// Messages of up to about this size go through shared memory without a buffer of their own (UCX's setting
  /// MM_FIFO_ELEM_SIZE), which is a third of a microsecond less; 64 times as much memory for each worker. 0
  /// for UCX's own, 128. `UCX_MM_FIFO_ELEM_SIZE` in the environment wins over it.
  std::size_t shared_memory_element_bytes = 0;
  /// Segment size in which UCX copies over TCP data that it cannot send without a copy, such as lists of
  /// runs: each segment is a system call (its setting TCP_TX_SEG_SIZE). At most TCP_RX_SEG_SIZE of the peer,
  /// 64 KiB. 0 for UCX's default, 8 KiB. `UCX_TCP_TX_SEG_SIZE` in the environment takes precedence, and with
  /// `UCX_TCP_RX_SEG_SIZE` this option is ignored; so it is when `settings` has either.
  std::size_t tcp_segment_bytes = 0;
  /// Keeps the handlers that UCX installs for SIGSEGV, SIGBUS, SIGILL and SIGFPE when it is loaded by the
  /// first context of the process. Signal handlers belong to the process, not to a library; false restores
  /// the previous ones.
  bool signal_handlers = false;
  /// Lets UCX patch mmap, munmap and similar functions in the process's code, to be notified of freed memory.
  /// Needed only where registrations are cached, as with InfiniBand.
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
  /// The settings in effect, one "UCX_NAME=value" a line, as UCX prints them: its own, and the transports'
  /// settings that ContextOptions set, which UCX 1.13 prints without "UCX_".
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

/// Returns the settings that a context begins with: every setting of UCX and of the installed transports, one
/// "UCX_NAME=value" a line, as set by the environment. Thread: any, while the environment does not change.
std::string settings_before_contexts();

}  // namespace weft::ucx
