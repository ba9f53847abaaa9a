// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace weft::manual {

/// An option of a command: "--ca", with its short name "-m" if it has one.
struct OptionRow {
  std::vector<std::string> names;
  /// "FILE", "SECONDS"; empty for a flag.
  std::string value;
  std::string description;
};

struct ArgumentRow {
  std::string name;
  std::string description;
  bool required = false;
};

/// A command, or the program itself.
struct CommandRow {
  /// The words behind `weft`: "perf client"; empty for the program.
  std::string path;
  std::string description;
  std::string footer;
  std::vector<OptionRow> options;
  std::vector<ArgumentRow> arguments;
  /// Last words of the commands within it.
  std::vector<std::string> commands;
};

/// Returns all commands of `app`, the program first, each before the commands within it.
std::vector<CommandRow> table_of(const CLI::App& app);

}  // namespace weft::manual
