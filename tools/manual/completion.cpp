// SPDX-License-Identifier: Apache-2.0
#include "manual/completion.hpp"

#include <set>
#include <string_view>

namespace weft::manual {

namespace {

/// `text` as one word of a shell.
std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      out += "'\\''";
    } else {
      out += letter == '\n' ? ' ' : letter;
    }
  }
  return out + "'";
}

bool takes_file(const OptionRow& option) {
  return option.value.find("FILE") != std::string::npos || option.value.find("DIR") != std::string::npos;
}

/// The names of all options that have a value which `wanted` accepts, as a pattern of `case`.
template <typename Wanted>
std::string pattern_of(const std::vector<CommandRow>& table, Wanted wanted) {
  std::set<std::string> names;
  for (const CommandRow& command : table) {
    for (const OptionRow& option : command.options) {
      if (!option.value.empty() && wanted(option)) names.insert(option.names.begin(), option.names.end());
    }
  }
  std::string pattern;
  for (const std::string& name : names) pattern.append(pattern.empty() ? "" : "|").append(name);
  return pattern.empty() ? "''" : pattern;
}

std::string command_pattern(const std::vector<CommandRow>& table) {
  std::string pattern;
  for (const CommandRow& command : table) {
    if (!command.path.empty()) pattern += (pattern.empty() ? "" : "|") + shell_word(" " + command.path);
  }
  return pattern;
}

/// The loop over the words before the current one, which finds the command in `place`, the number of its
/// arguments in `given`, and its first argument in `url`. `first` is the index of the first word behind the
/// program, and `last` the condition to go on.
std::string walk(const std::vector<CommandRow>& table, const std::string& first, const std::string& last) {
  return "  for ((i = " + first + "; " + last + "; i++)); do\n" + "    case \"${words[i]}\" in\n" + "      " +
         pattern_of(table, [](const OptionRow&) { return true; }) + ") ((i++)); continue ;;\n" +
         "      -*) continue ;;\n" + "    esac\n" + "    case \"$place ${words[i]}\" in\n" + "      " +
         command_pattern(table) + ") place+=\" ${words[i]}\" ;;\n" +
         "      *) ((given == 0)) && url=\"${words[i]}\"; ((given += 1)) ;;\n" + "    esac\n" + "  done\n";
}

/// Lists the names that the server at $url tells. A name that a shell would read in another way is left out.
constexpr std::string_view kNames =
    "list \"$url\" --names --timeout 1 2>/dev/null | grep -v '[^A-Za-z0-9_:./]'";

}  // namespace

std::string bash_completion(const std::vector<CommandRow>& table) {
  std::string script =
      "# Completion of command lines of weft in bash. `weft completion bash` writes it.\n"
      "_weft() {\n"
      "  local line=\"${COMP_LINE:0:COMP_POINT}\" words current previous place='' url='' choices='' given=0 "
      "i\n"
      "  read -ra words <<< \"$line\"\n"
      "  [[ \"$line\" == *' ' ]] && words+=('')\n"
      "  current=\"${words[${#words[@]}-1]}\"\n"
      "  previous=\"${words[${#words[@]}-2]}\"\n"
      "  COMPREPLY=()\n";
  script += walk(table, "1", "i < ${#words[@]} - 1");
  script += "  case \"$previous\" in\n    " + pattern_of(table, takes_file) +
            ") mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;\n    " +
            pattern_of(table, [](const OptionRow& option) { return !takes_file(option); }) +
            ") return ;;\n  esac\n";
  script += "  case \"$place\" in\n";
  for (const CommandRow& command : table) {
    std::string words;
    for (const std::string& name : command.commands) words.append(name).append("\n");
    std::string options;
    for (const OptionRow& option : command.options) {
      for (const std::string& name : option.names) options.append(name).append("\n");
    }
    const std::string place = command.path.empty() ? "" : " " + command.path;
    script.append("    '").append(place).append("')\n      if [[ \"$current\" == -* ]]; then choices='");
    script.append(options).append("'; else choices='").append(words).append("'; fi ;;\n");
  }
  script +=
      "  esac\n"
      "  case \"$place\" in\n"
      "    ' call'|' describe')\n"
      "      if [[ \"$current\" != -* ]] && ((given == 1)); then\n"
      "        choices=$(\"${words[0]}\" ";
  script += kNames;
  script +=
      ")\n"
      "      fi ;;\n"
      "  esac\n"
      "  local IFS=$'\\n'\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$choices\" -- \"$current\")\n"
      "  # Bash splits words at colons, and inserts only what stands behind the last one.\n"
      "  if [[ \"$current\" == *:* && \"$COMP_WORDBREAKS\" == *:* ]]; then\n"
      "    COMPREPLY=(\"${COMPREPLY[@]#\"${current%\"${current##*:}\"}\"}\")\n"
      "  fi\n"
      "}\n"
      "complete -o default -F _weft weft\n";
  return script;
}

std::string zsh_completion(const std::vector<CommandRow>& table) {
  const auto described = [](std::string_view name, std::string_view description) {
    std::string text;
    for (const char letter : name) {
      if (letter == ':') text += '\\';
      text += letter;
    }
    return shell_word(text + ":" + std::string{description.substr(0, description.find('\n'))});
  };
  std::string script =
      "#compdef weft\n"
      "# Completion of command lines of weft in zsh. `weft completion zsh` writes it.\n"
      "_weft() {\n"
      "  local place='' url='' given=0 i\n"
      "  local -a choices names\n";
  script += walk(table, "2", "i < CURRENT");
  script += "  case \"${words[CURRENT-1]}\" in\n    " + pattern_of(table, takes_file) +
            ") _files; return ;;\n    " +
            pattern_of(table, [](const OptionRow& option) { return !takes_file(option); }) +
            ") return ;;\n  esac\n";
  script += "  case \"$place\" in\n";
  for (const CommandRow& command : table) {
    std::string words;
    for (const CommandRow& other : table) {
      const std::size_t space = other.path.rfind(' ');
      const std::string parent = space == std::string::npos ? "" : other.path.substr(0, space);
      if (other.path.empty() || parent != command.path) continue;
      const std::string last = other.path.substr(space == std::string::npos ? 0 : space + 1);
      words.append(" ").append(described(last, other.description));
    }
    std::string options;
    for (const OptionRow& option : command.options) {
      for (const std::string& name : option.names) {
        options.append(" ").append(described(name, option.description));
      }
    }
    const std::string place = command.path.empty() ? "" : " " + command.path;
    script.append("    '").append(place).append(
        "')\n      if [[ \"${words[CURRENT]}\" == -* ]]; then choices=(");
    script.append(options).append("); else choices=(").append(words).append("); fi ;;\n");
  }
  script +=
      "  esac\n"
      "  case \"$place\" in\n"
      "    ' call'|' describe')\n"
      "      if [[ \"${words[CURRENT]}\" != -* ]] && ((given == 1)); then\n"
      "        names=(${(f)\"$(\"${words[1]}\" ";
  script += kNames;
  script +=
      ")\"})\n"
      "        compadd -a names\n"
      "        return\n"
      "      fi ;;\n"
      "  esac\n"
      "  if ((${#choices})); then _describe 'weft' choices; else _files; fi\n"
      "}\n"
      "if [[ \"$0\" == _weft && -n \"${CURRENT-}\" ]]; then _weft \"$@\"; else compdef _weft weft; fi\n";
  return script;
}

}  // namespace weft::manual
