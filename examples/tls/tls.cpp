// SPDX-License-Identifier: Apache-2.0
// Mutual TLS, with certificates in files that change: tls FOLDER, where `weft certs FOLDER` has been.
#include <cstdio>
#include <memory>
#include <string>
#include <weft/weft.hpp>

namespace {

std::string echo(std::string_view text) {
  return std::string{text};
}

// begin: options
weft::TlsOptions of_server(const std::string& folder) {
  weft::TlsOptions tls;
  tls.certificates = {{.chain_file = folder + "/server.pem", .key_file = folder + "/server.key"}};
  tls.clients = weft::TlsClients::kRequired;
  tls.ca_file = folder + "/ca.pem";
  tls.crl_file = folder + "/ca.crl";
  return tls;
}

weft::TlsOptions of_client(const std::string& folder) {
  weft::TlsOptions tls;
  tls.certificates = {{.chain_file = folder + "/client.pem", .key_file = folder + "/client.key"}};
  tls.ca_file = folder + "/ca.pem";
  return tls;
}
// end: options

int fail(const weft::Status& status) {
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return 1;
}

// begin: shared
int serve_and_call(const std::string& folder) {
  auto credentials = std::make_shared<weft::TlsCredentials>(of_server(folder));
  weft::TransportOptions transports;
  transports.tls_credentials = credentials;
  weft::Server server{{.listen = {"tls://127.0.0.1:0"}}, std::move(transports)};
  server.register_handler<echo>();
  if (auto started = server.start(); !started.ok()) return fail(started.status());

  weft::BlockingClient client{{.connect = server.urls().front()},
                              weft::make_transports({.tls = of_client(folder)})};
  auto before = client.call<echo>("before");
  if (!before.ok()) return fail(before.status());
  // New handshakes use the new contents of the files. The client's connection stays open.
  if (weft::Status read = credentials->reload(); !read.ok()) return fail(read);
  auto after = client.call<echo>("after");
  if (!after.ok()) return fail(after.status());

  const weft::TlsStats stats = credentials->stats();
  std::printf("%s, %s; handshakes %llu, reloads %llu\n", before->c_str(), after->c_str(),
              static_cast<unsigned long long>(stats.handshakes),
              static_cast<unsigned long long>(stats.reloads));
  return 0;
}
// end: shared

}  // namespace

int main(int argc, char** argv) {
  return serve_and_call(argc > 1 ? argv[1] : "demo");
}
