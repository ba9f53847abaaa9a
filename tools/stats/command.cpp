// SPDX-License-Identifier: Apache-2.0
#include "stats/command.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "load/flags.hpp"
#include "load/seconds.hpp"
#include "load/token.hpp"
#include "stats/pages.hpp"
#include "stats/table.hpp"
#include "weft/detail/describe/error_json.hpp"

namespace weft::stats {

namespace {

Result<std::string> text_of(const Options& options) {
  const Result<Pages> pages = blocking_pages(options);
  if (!pages.ok()) return pages.status();
  if (options.as_json) return json_of(*pages);
  return table_of(*pages);
}

int run(const Options& options) {
  const Result<std::string> text = text_of(options);
  if (text.ok()) {
    std::fputs(text->c_str(), stdout);
    return 0;
  }
  if (options.as_json) {
    std::printf("%s\n", detail::error_json(text.status()).c_str());
    return 1;
  }
  std::fprintf(stderr, "weft stats: %s\n", text.status().to_string().c_str());
  std::fputs(load::token_hint(text.status(), options.token), stderr);
  return 1;
}

}  // namespace

void add_command(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("stats", "Show the counters of a server that speaks HTTP");
  command
      ->add_option("URL", options->url, "Where the server is: tcp://127.0.0.1:9000, tls://... or unix://...")
      ->required();
  command
      ->add_option("--timeout", options->seconds, "How long connecting and each page may take (default 10)")
      ->check(load::seconds_between(0.01, 3'600))
      ->type_name("SECONDS");
  command->add_flag(
      "--json", options->as_json,
      "Print the pages in one object of JSON; a failure too, as an object with code, message, retry "
      "and unprocessed");
  load::add_tls_client_flags(*command, options->tls);
  load::add_token_flags(*command, options->token);
  command->footer(
      "It reads the pages /health, /methods, /connections, /loops and /memory, which a server with\n"
      "weft::http() shows to its own host. Durations are since the server was started.\n"
      "\n"
      "Examples:\n"
      "  weft stats tcp://127.0.0.1:9000\n"
      "  weft stats tcp://127.0.0.1:9000 --json | jq .methods.methods[0]");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace weft::stats
