// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "load/options.hpp"

namespace CLI {
class App;
}

namespace weft::load {

/// Adds the flags that `weft raw server` and `weft perf server` share. `options` must outlive `command`.
void add_server_flags(CLI::App& command, ServerOptions& options);

/// Adds the flags that `weft raw client` and `weft perf client` share. `options` must outlive `command`.
void add_client_flags(CLI::App& command, ClientOptions& options);

/// Adds --rdma-device and --rdma-gid-index, which every command that takes verbs:// URLs shares. `flags` must
/// outlive `command`.
/// `--streams` of a client. `all`: it knows those that a client writes, too.
void add_streams_flag(CLI::App& command, Streams& streams, bool all);

void add_ucx_flags(CLI::App& command, UcxFlags& flags);
void add_rdma_flags(CLI::App& command, RdmaFlags& flags);
/// Adds --ca, --cert and --key of tls:// URLs to a command that connects, and --insecure, which says on
/// standard error what it does. `flags` must outlive `command`.
void add_tls_client_flags(CLI::App& command, TlsFlags& flags);
/// The same for one that listens.
void add_tls_server_flags(CLI::App& command, TlsFlags& flags);
/// Adds --beside-tls to a command that may have other carriers than the base carrier. `flags` must outlive
/// `command`.
void add_beside_tls_flag(CLI::App& command, TlsFlags& flags);
/// Adds, for clients, what they may use with URLs that do not ask for it.
void add_prefer_flags(CLI::App& command, UcxFlags& ucx, RdmaFlags& rdma);
/// Adds, for clients, the transfers that run beside the calls.
void add_beside_flags(CLI::App& command, std::optional<BesideFlags>& beside);

}  // namespace weft::load
