// SPDX-License-Identifier: Apache-2.0
#include "manual/command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "manual/completion.hpp"
#include "manual/man_page.hpp"
#include "manual/table.hpp"

namespace weft::manual {

namespace {

struct Options {
  std::string shell;
  std::vector<std::string> command;
  std::string directory;
  bool as_json = false;
};

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

int write_pages(const std::vector<CommandRow>& table, const std::string& directory) {
  for (const CommandRow& command : table) {
    const std::string path = directory + "/" + page_name(command) + ".1";
    std::ofstream file{path};
    file << man_page(command, WEFT_VERSION);
    file.close();
    if (!file) {
      std::fprintf(stderr, "weft man: cannot write %s; does the directory exist?\n", path.c_str());
      return 1;
    }
  }
  return 0;
}

int print_page(const CLI::App& app, const Options& options) {
  const std::vector<CommandRow> table = table_of(app);
  if (!options.directory.empty()) return write_pages(table, options.directory);
  std::string path;
  for (const std::string& word : options.command) path += (path.empty() ? "" : " ") + word;
  const auto found =
      std::ranges::find_if(table, [&](const CommandRow& command) { return command.path == path; });
  if (found == table.end()) {
    std::fprintf(stderr, "weft man: there is no command \"%s\". Run `weft --help` for all commands.\n",
                 path.c_str());
    return 1;
  }
  print(man_page(*found, WEFT_VERSION));
  return 0;
}

void print_version(bool as_json) {
  const char* const protobuf = WEFT_HAVE_PROTOBUF != 0 ? "true" : "false";
  const char* const ucx = WEFT_HAVE_UCX != 0 ? "true" : "false";
  if (as_json) {
    std::printf("{\"version\":\"%s\",\"protobuf\":%s,\"ucx\":%s}\n", WEFT_VERSION, protobuf, ucx);
  } else {
    std::printf("weft %s\n", WEFT_VERSION);
  }
}

}  // namespace

void add_commands(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* version = app.add_subcommand("version", "Print the version of this program");
  version->add_flag("--json", options->as_json, "Print JSON, also with the optional parts of this build");
  version->callback([options, &exit_code] {
    print_version(options->as_json);
    exit_code = 0;
  });

  CLI::App* completion = app.add_subcommand("completion", "Print a script that completes command lines");
  completion->add_option("SHELL", options->shell, "bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}))
      ->type_name("");
  completion->footer(
      "The script completes commands, options, and names of functions and services, which it asks the "
      "server\n"
      "for. An installed weft has both scripts where the shells look for them.\n"
      "\n"
      "Examples:\n"
      "  source <(weft completion bash)\n"
      "  source <(weft completion zsh)");
  completion->callback([&app, options, &exit_code] {
    const std::vector<CommandRow> table = table_of(app);
    print(options->shell == "bash" ? bash_completion(table) : zsh_completion(table));
    exit_code = 0;
  });

  CLI::App* man = app.add_subcommand("man", "Print the page of the manual about a command");
  man->add_option("COMMAND", options->command, "The command's words; without them the page of weft itself");
  man->add_option("--directory", options->directory, "Write the pages of all commands into this directory")
      ->type_name("DIR");
  man->footer(
      "An installed weft has the pages where man looks for them: man weft-call\n"
      "\n"
      "Examples:\n"
      "  weft man call | man -l -\n"
      "  weft man perf client | man -l -");
  man->callback([&app, options, &exit_code] { exit_code = print_page(app, *options); });
}

}  // namespace weft::manual
