#include "tools/completion.h"

#include <fmt/format.h>

#include <algorithm>

namespace belfry::tools {
namespace {

// What the script is made of: branches of its case statements. A path is " data inspect", that of the program "".
struct Branches {
  std::string paths, values, options, arguments;
};

std::string words_reply(const std::vector<std::string>& words) {
  return fmt::format("mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$word\")", fmt::join(words, " "));
}

std::string value_reply(const CommandShape::Option& option) {
  if (!option.choices.empty()) return words_reply(option.choices);
  if (option.value.starts_with("FILE")) return "_belfry_files -f";
  if (option.value.starts_with("RUN")) return "_belfry_files -d";
  return ":";
}

void add_branches(Branches& out, const CommandShape& command, const std::string& path) {
  std::vector<std::string> names, subcommands;
  std::string arguments;
  for (const auto& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
    if (option.names.empty() && arguments.empty()) arguments = value_reply(option);
    if (!option.takes_value || option.names.empty()) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) patterns.push_back(fmt::format("'{} {}'", path, name));
    out.values += fmt::format("    {}) {}; return ;;\n", fmt::join(patterns, "|"), value_reply(option));
  }
  for (const CommandShape& sub : command.subcommands) subcommands.push_back(sub.name);
  if (!subcommands.empty()) arguments = words_reply(subcommands);
  out.options += fmt::format("      '{}') {} ;;\n", path, words_reply(names));
  if (!arguments.empty()) out.arguments += fmt::format("    '{}') {} ;;\n", path, arguments);
  for (const CommandShape& sub : command.subcommands) {
    const std::string below = path + " " + sub.name;
    out.paths += fmt::format("{}'{}'", out.paths.empty() ? "" : "|", below);
    add_branches(out, sub, below);
  }
}

}  // namespace

std::string bash_completion(const CommandShape& command) {
  Branches branches;
  add_branches(branches, command, "");
  return fmt::format(R"(# Completion of {0} for bash. In ~/.bashrc: source <({0} completion bash)
_belfry_files() {{  # -f: files and directories; -d: directories
  compopt -o filenames 2>/dev/null || true
  mapfile -t COMPREPLY < <(compgen "$1" -- "$word")
}}

_belfry() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} path= i
  COMPREPLY=()
  # bash splits --option=value at the sign.
  if [[ $before == '=' ]]; then before=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
  if [[ $word == '=' ]]; then word=; fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$path ${{COMP_WORDS[i]}}" in
      {1}) path+=" ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$path $before" in
{2}  esac
  if [[ $word == -* ]]; then
    case "$path" in
{3}    esac
    return
  fi
  case "$path" in
{4}  esac
}}
complete -F _belfry {0}
)",
                     command.name, branches.paths, branches.values, branches.options, branches.arguments);
}

}  // namespace belfry::tools
