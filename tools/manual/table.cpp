// SPDX-License-Identifier: Apache-2.0
#include "manual/table.hpp"

#include <CLI/CLI.hpp>

namespace weft::manual {

namespace {

OptionRow option_row(const CLI::Option& option) {
  OptionRow row{.names = {}, .value = {}, .description = option.get_description()};
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  if (option.get_items_expected_max() > 0 && option.get_type_size_max() > 0) {
    row.value = option.get_type_name().empty() ? "VALUE" : option.get_type_name();
  }
  return row;
}

void append(const CLI::App& app, const std::string& path, std::vector<CommandRow>& table) {
  CommandRow row{.path = path,
                 .description = app.get_description(),
                 .footer = app.get_footer(),
                 .options = {},
                 .arguments = {},
                 .commands = {}};
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_positional()) {
      row.arguments.push_back({option->get_name(true), option->get_description(), option->get_required()});
    } else {
      row.options.push_back(option_row(*option));
    }
  }
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* const command : commands) row.commands.push_back(command->get_name());
  table.push_back(std::move(row));
  for (const CLI::App* const command : commands) {
    append(*command, path.empty() ? command->get_name() : path + " " + command->get_name(), table);
  }
}

}  // namespace

std::vector<CommandRow> table_of(const CLI::App& app) {
  std::vector<CommandRow> table;
  append(app, {}, table);
  return table;
}

}  // namespace weft::manual
