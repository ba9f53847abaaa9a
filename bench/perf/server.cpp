// SPDX-License-Identifier: Apache-2.0
#include "perf/server.hpp"

#include "load/carrier_options.hpp"
#include "perf/handlers.hpp"
#include "perf/limits.hpp"

namespace weft::perf {

Result<std::unique_ptr<Server>> start_server(const load::ServerOptions& options) {
  ServerOptions server_options;
  server_options.listen = {options.listen};
  server_options.threads = options.threads;
  server_options.cpus = options.cpus;
  server_options.loop_options.mode = wait_mode(options.mode);
  server_options.limits = generous_limits();
  TransportOptions transports;
  transports.tcp.congestion = options.congestion;
  transports.ucx = load::ucx_options(options.ucx);
  transports.verbs = load::verbs_options(options.rdma);
  transports.tls = load::tls_server_options(options.tls);
  transports.beside_tls = load::carriers_beside_tls(options.tls);

  auto server = std::make_unique<Server>(std::move(server_options), std::move(transports));
  server->register_handler<method<&perf_echo, "perf/echo">>();
  server->register_handler<method<&perf_generate, "perf/generate">>();
  server->register_handler<method<&perf_echo_attachment, "perf/echo_attachment">>();
  server->register_handler<method<&perf_timer_lateness, "perf/timer_lateness">>();
  server->register_handler<method<&perf_send_items, "perf/send_items">>();
  server->register_handler<method<&perf_take_items, "perf/take_items">>();
  server->register_handler<method<&perf_echo_items, "perf/echo_items">>();
  server->register_handler<method<&perf_send_attachments, "perf/send_attachments">>();
  server->register_handler<method<&perf_take_attachments, "perf/take_attachments">>();
  const Server* const registrar = options.rdma.register_memory ? server.get() : nullptr;
  server->register_handler("perf/generate_attachment",
                           [registrar](CallContext& context, std::uint64_t answer_bytes) {
                             return perf_generate_attachment(context, answer_bytes, registrar);
                           });
  if (auto started = server->start(); !started.ok()) return std::move(started).status();
  return server;
}

}  // namespace weft::perf
