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
#include "weft/detail/describe/error_json.hpp"

namespace weft::services {
namespace {

const char* unreachable_hint(const Status& failure) {
  const bool unreachable = failure.code() == StatusCode::kUnavailable && failure.layer() == Layer::kTransport;
  return unreachable ? "Check that the server runs, and that it listens at this URL.\n" : "";
}

void print_line(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  if (!text.empty() && !text.ends_with('\n')) std::fputc('\n', stdout);
}

int answer(const char* command, Question question, const Options& options) {
  const Result<std::string> text = blocking_ask(question, options);
  if (text.ok()) {
    print_line(*text);
    return 0;
  }
  if (options.as_json) {
    print_line(detail::error_json(text.status()));
    return 1;
  }
  std::fprintf(stderr, "weft %s: %s\n", command, text.status().to_string().c_str());
  std::fputs(load::token_hint(text.status(), options.token), stderr);
  std::fputs(unreachable_hint(text.status()), stderr);
  return 1;
}

/// Adds one of the commands, with the arguments of all.
CLI::App* add(CLI::App& app, const char* name, const char* description, Question question,
              const std::shared_ptr<Options>& options, int& exit_code) {
  CLI::App* command = app.add_subcommand(name, description);
  command->add_option("URL", options->url, "Where the server is, such as tcp://127.0.0.1:9000")->required();
  command
      ->add_option(
          "--timeout", options->seconds,
          "How long connecting and each call may take (default 10), and a stream (default: without end)")
      ->check(load::seconds_between(0.01, 3'600))
      ->type_name("SECONDS");
  command->add_flag("--json", options->as_json,
                    "Print JSON; a failure too, as an object with code, message, retry and unprocessed");
  load::add_tls_client_flags(*command, options->tls);
  load::add_beside_tls_flag(*command, options->tls);
  load::add_token_flags(*command, options->token);
  command->callback([name, question, options, &exit_code] { exit_code = answer(name, question, *options); });
  return command;
}

void add_call(CLI::App& app, const std::shared_ptr<Options>& options, int& exit_code) {
  CLI::App* call = add(app, "call", "Call a function, or a method of a service of protobuf, in JSON",
                       Question::kCall, options, exit_code);
  call->add_option(
          "NAME", options->name,
          "Name of a function as `weft list` prints it, or of a method: demo.Echo/Say or demo.Echo.Say")
      ->required();
  call->add_option("JSON", options->json,
                   "Arguments of a function: an array, or an object by places (default []); request of a "
                   "method: an object (default {}); - reads it from standard input");
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
      "The server describes its functions and services to this command. The answer goes to standard output, "
      "a\n"
      "failure to standard error, with exit code 1; with --json both go to standard output.\n"
      "A function or a method that streams its requests takes them from standard input, one JSON in each "
      "line.\n"
      "One that streams its answers prints them in the same way, as they come. A stream has no timeout "
      "unless\n"
      "one is given; Ctrl-C cancels it.\n"
      "\n"
      "Examples:\n"
      "  weft call tcp://127.0.0.1:9000 centre '[[[0,0],[6,0],[0,3]]]'\n"
      "  weft call tcp://127.0.0.1:9000 shop::price '{\"0\": \"tea\"}' --json\n"
      "  weft call tcp://127.0.0.1:9000 sum < numbers.jsonl\n"
      "  weft call tcp://127.0.0.1:9000 demo.Echo.Say '{\"message\": \"hi\"}'\n"
      "  weft call tcp://127.0.0.1:9000 demo.Echo/Say --metadata tenant=blue --metadata trace=17\n"
      "  weft call unix:///run/demo.sock demo.Echo/Say - < request.json");
}

}  // namespace

void add_commands(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* list = add(app, "list", "List the functions and the services of protobuf that a server has",
                       Question::kList, options, exit_code);
  list->add_flag("--names", options->names_only, "Print names only, without types");
  list->footer(
      "Functions come with the types of their arguments and results, services with their methods that "
      "stream.\n"
      "A server that has rights for callers lists only functions and methods that you may call.\n"
      "\n"
      "Examples:\n"
      "  weft list tcp://127.0.0.1:9000\n"
      "  weft list tcp://127.0.0.1:9000 --json");

  CLI::App* describe =
      add(app, "describe", "Describe a function, a service, a message or an enum of a server",
          Question::kDescribe, options, exit_code);
  describe->add_option("NAME", options->name, "Its full name, such as demo.Echo; without it all are listed");
  describe->footer(
      "A function is described by its types with the names of fields, a service as a .proto would define "
      "it.\n"
      "\n"
      "Examples:\n"
      "  weft describe tcp://127.0.0.1:9000 centre\n"
      "  weft describe tcp://127.0.0.1:9000 demo.Echo");

  add_call(app, options, exit_code);

  CLI::App* ping = add(app, "ping", "Measure the time to connect to a server, and of round trips",
                       Question::kPing, options, exit_code);
  ping->add_option("--count", options->count, "Number of round trips (default 5)")
      ->check(CLI::Range(1, 100'000))
      ->type_name("NUMBER");
  ping->footer("Example:\n  weft ping tcp://127.0.0.1:9000 --count 100");

  add(app, "health", "Tell whether a server answers calls: exit code 0 if it does, 1 if not",
      Question::kHealth, options, exit_code)
      ->footer(
          "It connects and makes one call. A server that may not be called, for want of a right, is "
          "healthy.\n"
          "\n"
          "Example:\n"
          "  weft health tcp://127.0.0.1:9000 --timeout 1 || restart_it");
}

}  // namespace weft::services
