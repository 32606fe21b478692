#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/base/error.h"
#include "belfry/base/file.h"
#include "belfry/base/log.h"
#include "tests/torture/campaigns.h"
#include "tests/torture/checkpoints.h"
#include "tests/torture/disk_model.h"
#include "tests/torture/file_calls.h"

namespace belfry::torture {
namespace {

namespace fs = std::filesystem;

// A call, or, without a path, the moment when a save had returned.
struct Event {
  FileCall call;
  std::string data;
  std::int64_t saved = 0;
};
using Trace = std::vector<Event>;

class Recorder : public FileWatch {
 public:
  Recorder(std::string root, Trace& trace) : FileWatch(root), root_(std::move(root)), trace_(trace) {}

  void after(const FileCall& call) override {
    Event event{.call = call, .data = std::string(call.data)};
    event.call.path = call.path.substr(root_.size());
    if (!call.to.empty()) event.call.to = call.to.substr(root_.size());
    trace_.push_back(std::move(event));
  }

 private:
  std::string root_;
  Trace& trace_;
};

SaverOptions options(const std::string& directory, bool sharded) {
  return {.directory = directory, .keep = 2, .shard_bytes = sharded ? 500u : 0u};
}

// A run: each save refers to a history that grows by a line before it.
Trace record(bool sharded) {
  const FastDirectory place;
  const std::string history = place.path() + "/history";
  const LogRedirect silent([](LogLevel, std::string_view) {}, LogLevel::error);
  Trace trace;
  Recorder recorder(place.path(), trace);
  CheckpointWriter writer(options(place.path() + "/run/a", sharded));
  const int file = ::open(history.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  std::uint64_t length = 0;
  for (const std::int64_t step : {1, 2, 3, 3, 4}) {
    const std::string line = fmt::format("step {}\n", step);
    if (::write(file, line.data(), line.size()) < 0) throw FileError("[torture] expected to write a history");
    length += line.size();
    writer.write(step, values_of(step, 150), {.user = {{"history", std::to_string(length)}}}, {history});
    trace.push_back({.call = {}, .data = {}, .saved = step});
  }
  ::close(file);
  return trace;
}

void put(const Disk& disk, const std::string& root) {
  fs::remove_all(root);
  fs::create_directories(root);
  for (const auto& [path, file] : disk) {
    const std::string full = root + path;
    if (path.ends_with('/')) {
      fs::create_directories(full);
      continue;
    }
    std::ofstream(full, std::ios::binary).write(file.bytes.data(), static_cast<std::streamsize>(file.bytes.size()));
    constexpr std::int64_t kSome = 1'700'000'000;  // seconds: a time in the past
    const timespec time{.tv_sec = kSome + file.written, .tv_nsec = 0}, both[] = {time, time};
    if (::utimensat(AT_FDCWD, full.c_str(), both, 0) != 0) throw FileError("[torture] expected to set a file's time");
  }
}

// What is wrong with what a restart would find.
std::string wrong_with(const std::string& root, std::int64_t saved, bool sharded) try {
  const std::string directory = root + "/run/a";
  if (std::string loss = loss_in(directory, std::string(kCheckpointIndex), saved); !loss.empty()) return loss;
  const LogRedirect silent([](LogLevel, std::string_view) {}, LogLevel::error);
  if (const auto latest = load_latest_checkpoint(directory)) {
    const std::uint64_t needed = std::stoull(latest->state.user.at("history"));
    std::error_code error;
    const std::uint64_t there = fs::file_size(root + "/history", error);
    if (error || there < needed || read_file(root + "/history").substr(0, needed).find('\0') != std::string::npos)
      return fmt::format("the history has not the {} bytes that the checkpoint refers to", needed);
  }
  CheckpointWriter(options(directory, sharded)).write(9, values_of(9, 150), {});
  return loss_in(directory, std::string(kCheckpointIndex), 9);
} catch (const Error& error) {
  return error.what();
}

// Of all moments, and of all that the disk may hold then.
Outcome simulate(const Trace& trace, bool sharded, bool is_quiet) {
  const FastDirectory place;
  const std::string root = place.path() + "/disk";
  DiskModel model;
  std::set<std::pair<Disk, std::int64_t>> seen;
  std::int64_t saved = 0;
  Outcome out;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace[i].saved > 0) {
      saved = std::max(saved, trace[i].saved);
    } else {
      FileCall call = trace[i].call;
      call.data = trace[i].data;
      model.apply(call);
    }
    model.for_each_outcome([&](const Disk& disk) {
      if (!seen.emplace(disk, saved).second) return;
      put(disk, root);
      ++out.tries;
      const std::string wrong = wrong_with(root, saved, sharded);
      if (wrong.empty()) return;
      ++out.bad;
      if (!is_quiet)
        report(fmt::format("power: after call {} ({} '{}'): {}", i, name_of(trace[i].call.kind), trace[i].call.path,
                           wrong));
    });
    if (is_quiet && out.bad > 0) break;
  }
  return out;
}

bool is_history(const Event& event) { return event.call.path == "/history"; }

Trace without(Trace trace, Kind kind, bool of_history) {
  std::erase_if(trace, [&](const Event& event) {
    return event.saved == 0 && event.call.kind == kind && is_history(event) == of_history;
  });
  return trace;
}

// Each file is given its name before it is synced.
Trace renamed_first(const Trace& trace) {
  Trace out;
  std::vector<Event> held;
  for (const Event& event : trace) {
    const bool is_sync = event.saved == 0 && event.call.kind == Kind::sync && !is_history(event);
    if (is_sync)
      held.push_back(event);
    else
      out.push_back(event);
    if (event.saved > 0 || event.call.kind != Kind::rename) continue;
    for (Event& sync : held) {
      sync.call.path = event.call.to;
      out.push_back(std::move(sync));
    }
    held.clear();
  }
  return out;
}

}  // namespace

Outcome power_failures() {
  Outcome out;
  for (const bool sharded : {false, true}) {
    const Outcome one = simulate(record(sharded), sharded, false);
    out.tries += one.tries;
    out.bad += one.bad;
  }
  return out;
}

Outcome broken_orders() {
  const Trace good = record(false);
  const std::pair<const char*, Trace> broken[] = {
      {"files are not synced", without(good, Kind::sync, false)},
      {"files are renamed before they are synced", renamed_first(good)},
      {"directories are not synced", without(good, Kind::sync_directory, false)},
      {"the history is not synced", without(good, Kind::sync, true)}};
  Outcome out;
  for (const auto& [name, trace] : broken) {
    ++out.tries;
    if (simulate(trace, false, true).bad > 0) continue;
    ++out.bad;
    report(fmt::format("power: the simulation does not notice that {}", name));
  }
  return out;
}

}  // namespace belfry::torture
