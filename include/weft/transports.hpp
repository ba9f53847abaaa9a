// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

#include <memory>

#include "weft/detail/calls/terms/transports.hpp"
#include "weft/detail/transport/carrier_policy.hpp"
#include "weft/detail/transport/shared_memory.hpp"
#include "weft/detail/transport/tcp.hpp"
#include "weft/detail/transport/tls.hpp"
#include "weft/detail/transport/tls_credentials.hpp"
#include "weft/detail/transport/ucx.hpp"
#include "weft/detail/transport/verbs.hpp"

namespace weft {

/// Carriers that may take over connections of tls:// URLs; both sides must enable them. Their data is neither
/// encrypted nor protected against modification: everyone with access to the shared memory or the network
/// must be trusted. TLS proves the identity of the peer, and that the same peer is at the other end of the
/// carrier when it is established.
///
/// These policies for listening and connecting replace those in UcxOptions and VerbsOptions; the other
/// options there still apply. These carriers use devices, workers and memory of their own, separate from
/// those of other URLs.
struct CarriersBesideTls {
  CarrierPolicy ucx = CarrierPolicy::kForbid;
  CarrierPolicy verbs = CarrierPolicy::kForbid;
};

/// Options of each transport of this build.
struct TransportOptions {
  TcpOptions tcp{};
  /// Options for tls:// URLs; `tcp` sets up their sockets. No other carrier takes such a connection over,
  /// unless `beside_tls` names it: what goes by UCX or RDMA is not encrypted. In a build without OpenSSL
  /// those URLs fail, with a status that says so.
  TlsOptions tls{};
  /// Replaces `tls` if set. Use it to reload certificates by a call or to read TlsStats.
  std::shared_ptr<TlsCredentials> tls_credentials{};
  CarriersBesideTls beside_tls{};
  /// Options for shared memory, which may take over connections of unix:// URLs.
  SharedMemoryOptions shared_memory{};
  /// Options for ucx:// URLs. In a build without UCX those fail, with a status that says so.
  UcxOptions ucx{};
  /// Options for verbs:// URLs. In a build without libibverbs those fail, with a status that says so.
  VerbsOptions verbs{};
};

/// Makes all transports of this build. Those of memory:// URLs find each other within the whole process; for
/// a network of one's own see MemoryNetwork.
Transports make_transports(TransportOptions options = {});

}  // namespace weft

#pragma GCC diagnostic pop
