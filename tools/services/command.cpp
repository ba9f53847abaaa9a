// SPDX-License-Identifier: Apache-2.0
#include "services/command.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "load/flags.hpp"
#include "load/seconds.hpp"
#include "load/token.hpp"
#include "services/ask.hpp"

namespace weft::services {
namespace {

int answer(const char* command, Question question, const Options& options) {
  const Result<std::string> text = blocking_ask(question, options);
  if (!text.ok()) {
    std::fprintf(stderr, "weft %s: %s\n", command, text.status().to_string().c_str());
    std::fputs(load::token_hint(text.status(), options.token), stderr);
    return 1;
  }
  std::fputs(text->c_str(), stdout);
  if (!text->empty() && !text->ends_with('\n')) std::fputc('\n', stdout);
  return 0;
}

/// One of the commands, with what all of them have.
CLI::App* add(CLI::App& app, const char* name, const char* what, Question question,
              const std::shared_ptr<Options>& options, int& exit_code) {
  CLI::App* command = app.add_subcommand(name, what);
  command->add_option("URL", options->url, "Where the server is, such as tcp://127.0.0.1:9000")->required();
  command
      ->add_option(
          "--timeout", options->seconds,
          "How long connecting and each call may take (default 10), and a stream (default: without end)")
      ->check(load::seconds_between(0.01, 3'600))
      ->type_name("SECONDS");
  load::add_tls_client_flags(*command, options->tls);
  load::add_beside_tls_flag(*command, options->tls);
  load::add_token_flags(*command, options->token);
  command->callback([name, question, options, &exit_code] { exit_code = answer(name, question, *options); });
  return command;
}

}  // namespace

void add_commands(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  add(app, "list", "The services of protobuf that a server has, and which of their methods stream",
      Question::kList, options, exit_code)
      ->footer("Example:\n  weft list tcp://127.0.0.1:9000");

  CLI::App* describe =
      add(app, "describe", "A service, a message or an enum of a server, as a .proto would define it",
          Question::kDescribe, options, exit_code);
  describe->add_option("NAME", options->name, "Its full name, such as demo.Echo")->required();
  describe->footer("Example:\n  weft describe tcp://127.0.0.1:9000 demo.Echo");

  CLI::App* call = add(app, "call", "Calls a method of a service of protobuf, in JSON", Question::kCall,
                       options, exit_code);
  call->add_option("METHOD", options->name, "Its full name, such as demo.Echo/Say")->required();
  call->add_option("JSON", options->json, "The request (default {}); - reads it from standard input");
  call->add_option("-m,--metadata", options->metadata,
                   "Travels beside the request; may be given several times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->check([](const std::string& pair) {
        const std::size_t equals = pair.find('=');
        const bool good = equals != 0 && equals != std::string::npos;
        return good ? std::string{} : "'" + pair + "' is no KEY=VALUE";
      });
  call->footer(
      "The server describes its services to these commands itself (reflection), unless that was switched\n"
      "off there. The answer goes to standard output, a failure to standard error, with exit code 1.\n"
      "A method that streams its requests takes them from standard input, and one that streams its answers\n"
      "prints them, each in one line, as they come. It has no timeout unless one is given; Ctrl-C cancels "
      "it.\n"
      "\n"
      "Examples:\n"
      "  weft call tcp://127.0.0.1:9000 demo.Echo/Say '{\"message\": \"hi\"}'\n"
      "  weft call tcp://127.0.0.1:9000 demo.Echo/Say --metadata tenant=blue --metadata trace=17\n"
      "  weft call unix:///run/demo.sock demo.Echo/Say - < request.json\n"
      "  weft call tcp://127.0.0.1:9000 demo.Words/SayAll < lines.json");
}

}  // namespace weft::services
