#include "belfry/loop/internal/run_record.h"

#include <errno.h>  // program_invocation_short_name
#include <fmt/chrono.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/log.h"
#include "belfry/engine/backend.h"
#include "belfry/graph/graph.h"
#include "belfry/loop/trainer.h"

namespace belfry {
namespace {

using nlohmann::ordered_json;
constexpr int kFormat = 1;

std::string path_of(const std::string& directory) { return directory + "/run.json"; }

std::string now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

std::string host_name() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return host;
}

// The kernel keeps them apart with zero bytes.
std::vector<std::string> command_line() try {
  std::vector<std::string> out;
  const std::string all = read_file("/proc/self/cmdline");
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find('\0', begin), all.size());
    out.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
} catch (const FileError&) {
  return {program_invocation_name};
}

std::string quoted(const std::string& word) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("-_./=:,+@%", c);
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Nothing if there is no such file; throws FileError if it is not one of ours.
ordered_json read_runs(const std::string& path) {
  if (!std::filesystem::exists(path)) return ordered_json::array();
  const ordered_json in = ordered_json::parse(read_file(path), nullptr, false);
  const bool valid =
      in.is_object() && in.value("format", ordered_json()) == kFormat && in.contains("runs") && in["runs"].is_array();
  BELFRY_CHECK_AS(FileError, valid,
                  "[run directory] '{}': expected the record of the runs in this directory, got something else. Move "
                  "it away.",
                  path);
  return in["runs"];
}

}  // namespace

struct RunRecord::State {
  ordered_json earlier, run;
};

RunRecord::RunRecord(const Trainer& trainer, const std::string& directory, bool auto_resume)
    : trainer_(trainer), path_(path_of(directory)), state_(std::make_unique<State>()) {
  try {
    state_->earlier = read_runs(path_);
  } catch (const FileError& error) {
    log_warning(error.what());
    path_.clear();
    return;
  }
  std::error_code error;
  ordered_json& run = state_->run;
  run = {{"program", program_invocation_short_name},
         {"command", command_line()},
         {"directory", std::filesystem::current_path(error).string()},
         {"versions", backend_versions()},
         {"devices", trainer.session().device_texts()},
         {"seed", trainer.graph().seed()},
         {"host", host_name()},
         {"process", ::getpid()},
         {"began", now()},
         {"auto_resume", auto_resume}};
  if (trainer.is_continued())
    run["from"] = {{"checkpoint", std::filesystem::path(trainer.continued_checkpoint()).filename().string()},
                   {"step", trainer.global_step()}};
  run["state"] = "running";
  write();
}

RunRecord::~RunRecord() = default;

void RunRecord::end(const std::string& state, const std::string& reason, int signal) {
  if (path_.empty()) return;
  state_->run["state"] = state;
  state_->run["reason"] = reason;
  state_->run["exit"] = signal != 0 ? 128 + signal : state == "failed" ? 1 : 0;
  if (signal != 0) state_->run["signal"] = signal;
  state_->run["ended"] = now();
  write();
}

void RunRecord::write() {
  state_->run["epoch"] = trainer_.epoch_num();
  state_->run["step"] = trainer_.global_step();
  ordered_json runs = state_->earlier;
  runs.push_back(state_->run);
  constexpr auto kReplace = ordered_json::error_handler_t::replace;  // arguments may be any bytes
  try {
    write_file_atomically(path_,
                          ordered_json{{"format", kFormat}, {"runs", runs}}.dump(1, ' ', false, kReplace) + "\n");
  } catch (const FileError& error) {
    log_warning(error.what());
  }
}

void check_same_program(const std::string& directory) {
  const ordered_json runs = read_runs(path_of(directory));
  if (runs.empty() || !runs.back().is_object()) return;
  const std::string program = runs.back().value("program", std::string());
  BELFRY_CHECK(program.empty() || program == program_invocation_short_name,
               "[auto_resume] expected '{}' to hold a run of '{}', got one of '{}'. Choose another run_dir, or begin "
               "anew without auto_resume.",
               directory, program_invocation_short_name, program);
}

std::string command_line_text() {
  std::string out;
  for (const std::string& word : command_line()) out += (out.empty() ? "" : " ") + quoted(word);
  return out;
}

}  // namespace belfry
