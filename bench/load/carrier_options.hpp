// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/options.hpp"
#include "weft/detail/transport/tls.hpp"
#include "weft/detail/transport/ucx.hpp"
#include "weft/detail/transport/verbs.hpp"
#include "weft/transports.hpp"

namespace weft::load {

/// UcxOptions as a command line makes them.
inline UcxOptions ucx_options(const UcxFlags& flags) {
  UcxOptions options;
  if (flags.prefer) options.connecting = CarrierPolicy::kPrefer;
  options.transports = flags.transports;
  options.devices = flags.devices;
  options.trusted_network = flags.trusted_network;
  if (flags.mode_none) options.error_mode = UcxErrorMode::kNone;
  return options;
}

/// TlsOptions of a client as a command line makes them.
inline TlsOptions tls_options(const TlsFlags& flags) {
  TlsOptions options;
  options.ca_file = flags.ca;
  if (!flags.cert.empty()) options.certificates = {{.chain_file = flags.cert, .key_file = flags.key}};
  options.insecure = flags.insecure;
  return options;
}

/// The same of a server: one that is given a CA wants a certificate of it from each client.
inline TlsOptions tls_server_options(const TlsFlags& flags) {
  TlsOptions options = tls_options(flags);
  if (!flags.ca.empty()) options.clients = TlsClients::kRequired;
  return options;
}

/// The carriers beside tls:// that a command line names.
inline CarriersBesideTls carriers_beside_tls(const TlsFlags& flags) {
  const auto policy_of = [&](std::string_view carrier) {
    return flags.has_beside(carrier) ? CarrierPolicy::kPrefer : CarrierPolicy::kForbid;
  };
  return {.ucx = policy_of("ucx"), .verbs = policy_of("rdma")};
}

/// VerbsOptions as a command line makes them.
inline VerbsOptions verbs_options(const RdmaFlags& flags) {
  VerbsOptions options;
  if (flags.prefer) options.connecting = CarrierPolicy::kPrefer;
  if (!flags.device.empty()) options.devices = {flags.device};
  options.gid_index = flags.gid_index;
  if (flags.by_rdma_cm) options.connect_by = VerbsConnect::kRdmaCm;
  return options;
}

}  // namespace weft::load
