#include "tools/resume.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "belfry/base/check.h"
#include "belfry/base/internal/descriptor.h"
#include "tools/json_output.h"

namespace belfry::tools {
namespace {

namespace fs = std::filesystem;

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_-./=:,+@%").find(c) != std::string::npos;
}

std::string reason_with(const std::string& text, const std::string& reason) {
  return reason.empty() ? text : fmt::format("{} ({})", text, reason);
}

// Does not return if all is well.
void execute(const RunRecord& run) {
  if (::chdir(run.directory.c_str()) != 0) fail_system("enter", run.directory, errno);
  std::vector<char*> arguments;
  for (const std::string& word : run.command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  fail("[resume] expected to start '{}' in '{}', got: {}.", run.command[0], run.directory,
       std::generic_category().message(errno));
}

RunRecord last_run(const std::string& directory) {
  BELFRY_CHECK_AS(FileError, fs::is_directory(directory), "[resume] expected the directory of a run, got '{}'.",
                  directory);
  const std::vector<RunRecord> runs = read_run_records(directory);
  BELFRY_CHECK_AS(FileError, !runs.empty(),
                  "[resume] expected a run.json in '{}', got none: nothing says which command the run was. Runs write "
                  "it when they start.",
                  directory);
  return runs.back();
}

}  // namespace

std::string shell_quoted(const std::string& word) {
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

std::string shell_command(const RunRecord& run) {
  std::string out = fmt::format("cd {} &&", shell_quoted(run.directory));
  // A directory that begins with a dash is not an option.
  if (run.directory.starts_with('-')) out.insert(3, "-- ");
  for (const std::string& word : run.command) out += " " + shell_quoted(word);
  return out;
}

std::string why_not_resumed(const RunRecord& run) {
  using enum RunRecord::State;
  if (run.state == finished) return reason_with("the run is finished", run.reason);
  if (run.state == running)
    return fmt::format("it is running now, as process {}{}", run.process,
                       run.host.empty() ? "" : fmt::format(" on {}", run.host));
  if (!run.auto_resume)
    return "it was not started with auto resume: the same command would begin anew. Start its program with "
           "--resume auto, or with TrainConfig::auto_resume";
  if (run.command.empty() || run.directory.empty()) return "run.json does not say its command and directory";
  return "";
}

int resume(const ResumeOptions& options) {
  const RunRecord run = last_run(options.run);
  const std::string why_not = why_not_resumed(run);
  if (options.json) {
    Json out{{"run", options.run}, {"state", name_of(run.state)}, {"resumable", why_not.empty()}};
    if (!why_not.empty()) out["reason"] = why_not;
    out["directory"] = run.directory;
    out["command"] = run.command;
    if (why_not.empty()) out["shell"] = shell_command(run);
    print_json(out);
    return why_not.empty() ? 0 : 1;
  }
  BELFRY_CHECK(why_not.empty(), "[resume] expected a run that can go on at '{}', but {}.", options.run, why_not);
  if (options.execute) execute(run);
  fmt::print("{}\n", shell_command(run));
  return 0;
}

}  // namespace belfry::tools
