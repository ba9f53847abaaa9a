// SPDX-License-Identifier: Apache-2.0
#include "manual/man_page.hpp"

#include <algorithm>
#include <string_view>

namespace weft::manual {

namespace {

/// `text` without the letters that roff reads as its own: hyphens stay hyphens, and no line is a request.
std::string escaped(std::string_view text) {
  std::string out;
  bool begins_line = true;
  for (const char letter : text) {
    if (begins_line && (letter == '.' || letter == '\'')) out += "\\&";
    begins_line = letter == '\n';
    if (letter == '\\') {
      out += "\\e";
    } else if (letter == '-') {
      out += "\\-";
    } else {
      out += letter;
    }
  }
  return out;
}

std::string section(std::string_view title) {
  return ".SH " + std::string{title} + "\n";
}

std::string as_written(std::string_view text) {
  return ".nf\n" + escaped(text) + "\n.fi\n";
}

}  // namespace

std::string page_name(const CommandRow& command) {
  std::string name = command.path.empty() ? "weft" : "weft-" + command.path;
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string man_page(const CommandRow& command, const std::string& version) {
  const std::string words = command.path.empty() ? "weft" : "weft " + command.path;
  std::string page = ".TH " + escaped(page_name(command)) + " 1 \"\" \"weft " + escaped(version) + "\"\n";
  page += section("NAME") + escaped(page_name(command)) + " \\- " + escaped(command.description) + "\n";
  page += section("SYNOPSIS") + ".B " + escaped(words) + "\n";
  if (!command.commands.empty()) page += ".I COMMAND\n";
  for (const ArgumentRow& argument : command.arguments) {
    page += argument.required ? ".I " + escaped(argument.name) + "\n"
                              : "[\\fI" + escaped(argument.name) + "\\fR]\n";
  }
  page += "[\\fIOPTION\\fR ...]\n";
  if (!command.commands.empty()) {
    page += section("COMMANDS");
    for (const std::string& name : command.commands) {
      const std::string of_command = page_name(command).append("-").append(name);
      page.append(".TP\n.BR ").append(escaped(of_command)).append(" (1)\n");
      page.append(escaped(words)).append(" ").append(escaped(name)).append("\n");
    }
  }
  if (!command.arguments.empty()) page += section("ARGUMENTS");
  for (const ArgumentRow& argument : command.arguments) {
    page += ".TP\n.I " + escaped(argument.name) + "\n" + escaped(argument.description) + "\n";
  }
  page += section("OPTIONS");
  for (const OptionRow& option : command.options) {
    std::string names;
    for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + name;
    page += ".TP\n\\fB" + escaped(names) + "\\fR";
    if (!option.value.empty()) page += " \\fI" + escaped(option.value) + "\\fR";
    page += "\n" + escaped(option.description) + "\n";
  }
  if (!command.footer.empty()) page += section("NOTES") + as_written(command.footer);
  page += section("EXIT STATUS") +
          "0 for success, 1 for a failure, with its reason on standard error, 2 for a wrong command line.\n";
  if (!command.path.empty()) page += section("SEE ALSO") + ".BR weft (1)\n";
  return page;
}

}  // namespace weft::manual
