// SPDX-License-Identifier: Apache-2.0
#include "certs/command.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "certs/authority.hpp"

namespace weft::certs {
namespace {

int make(const Options& options) {
  const auto made = blocking_make(options);
  if (!made.ok()) {
    std::fprintf(stderr, "weft certs: %s\n", made.status().to_string().c_str());
    return 1;
  }
  for (const std::string& file : *made) std::printf("%s\n", file.c_str());
  std::fputs("These are for tests and demos: the key of the CA lies beside them, without a password.\n",
             stderr);
  return 0;
}

}  // namespace

void add_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* certs =
      app.add_subcommand("certs", "Make a small CA and certificates of it, for tests and demos");
  certs->add_option("FOLDER", options->folder, "Where the files go; made when it is not there")->required();
  certs
      ->add_option("--host", options->hosts,
                   "A name or IP address of the server; may be given several times (default those that its "
                   "certificate has, else localhost, 127.0.0.1 and ::1)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  certs
      ->add_option(
          "--client", options->clients,
          "A client; may be given several times, and each gets a certificate (default client, and none "
          "with --revoke)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  certs
      ->add_option("--spiffe", options->spiffe_domain,
                   "Clients have the id spiffe://DOMAIN/NAME in their certificates")
      ->type_name("DOMAIN");
  certs
      ->add_option("--revoke", options->revoked,
                   "A client whose certificate, which is there, goes into ca.crl; may be given several times")
      ->type_name("NAME")
      ->allow_extra_args(false);
  certs->add_option("--days", options->days, "How long the certificates are good (default 30)")
      ->check(CLI::Range(1U, 3650U).description(""))
      ->type_name("N");
  certs->footer(
      "FOLDER then has ca.pem, ca.key and ca.crl, server.pem and server.key, and a .pem and a .key for each\n"
      "client. A CA that is there stays, so that a second run renews the certificates of the first. Those "
      "that\n"
      "are to be revoked are not renewed; all that ca.crl had stays in it.\n"
      "\n"
      "Examples:\n"
      "  weft certs demo\n"
      "  weft certs demo --host api.example --client billing --client search\n"
      "  weft certs demo --revoke billing");
  certs->callback([options, &exit_code] { exit_code = make(*options); });
}

}  // namespace weft::certs
