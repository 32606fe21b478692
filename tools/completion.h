// belfry completion bash: what the Tab key knows about the command.
#pragma once

#include <string>
#include <vector>

namespace belfry::tools {

// A command as its definitions have it.
struct CommandShape {
  struct Option {
    std::vector<std::string> names{};  // with their dashes; none: a positional argument
    bool takes_value = false;
    std::string value{};                 // as --help names it: "FILE", "RUN" (a directory), ...
    std::vector<std::string> choices{};  // the only values, if there are any
  };
  std::string name{};
  std::vector<Option> options{};
  std::vector<CommandShape> subcommands{};
};

// A script for bash to source. It needs nothing but bash.
std::string bash_completion(const CommandShape& command);

}  // namespace belfry::tools
