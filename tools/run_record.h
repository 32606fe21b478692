// What a run directory's run.json says about the runs it has seen.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belfry::tools {

struct RunRecord {
  // How it ended; killed: it says that it is running, but its process is gone.
  enum class State : std::uint8_t { running, finished, stopped, interrupted, failed, killed, unknown };

  std::string program{};
  std::vector<std::string> command{};  // with its arguments
  std::string directory{};             // where it was started
  std::map<std::string, std::string> versions{};
  std::vector<std::string> devices{};
  std::optional<std::uint64_t> seed{};
  std::string host{};
  std::int64_t process = 0;
  std::string began{}, ended{};  // UTC; ended: "" if it did not say
  bool auto_resume = false;
  std::string from_checkpoint{};  // what it continued; "": it began anew
  std::optional<std::int64_t> from_step{};
  State state = State::unknown;
  std::string reason{};
  int signal = 0;  // 0: none
  std::optional<std::int64_t> epoch{}, step{};
};

std::string name_of(RunRecord::State state);

// The runs in `directory`, the newest last; nothing if there is no run.json. Unknown fields are ignored. Throws
// FileError if the file is damaged.
std::vector<RunRecord> read_run_records(const std::string& directory);

}  // namespace belfry::tools
