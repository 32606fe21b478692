#include "tools/completion.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace belfry::tools {
namespace {

TEST(Completion, KnowsSubcommandsOptionsAndValues) {
  const CommandShape ls{.name = "ls",
                        .options = {{.takes_value = true, .value = "FILE"},
                                    {.names = {"--sort"}, .takes_value = true, .choices = {"name", "bytes"}},
                                    {.names = {"-o", "--output"}, .takes_value = true, .value = "FILE"},
                                    {.names = {"--match"}, .takes_value = true, .value = "REGEX"},
                                    {.names = {"--json"}}}};
  const std::string script = bash_completion({.name = "belfry", .subcommands = {ls}});
  EXPECT_TRUE(contains(script, "complete -F _belfry belfry\n"));
  EXPECT_TRUE(contains(script, "      ' ls') path+="));
  EXPECT_TRUE(contains(script, "    '') mapfile -t COMPREPLY < <(compgen -W 'ls' -- \"$word\") ;;\n"));
  EXPECT_TRUE(contains(
      script, "    ' ls --sort') mapfile -t COMPREPLY < <(compgen -W 'name bytes' -- \"$word\"); return ;;\n"));
  EXPECT_TRUE(contains(script, "    ' ls -o'|' ls --output') _belfry_files -f; return ;;\n"));
  EXPECT_TRUE(contains(script, "    ' ls --match') :; return ;;\n"));
  EXPECT_TRUE(contains(script, "    ' ls') _belfry_files -f ;;\n"));
  EXPECT_TRUE(contains(script, "-W '--sort -o --output --match --json'"));
}

}  // namespace
}  // namespace belfry::tools
