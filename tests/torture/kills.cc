#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <string>

#include "belfry/base/error.h"
#include "belfry/base/log.h"
#include "belfry/base/random.h"
#include "belfry/session/checkpoint.h"
#include "tests/torture/campaigns.h"
#include "tests/torture/checkpoints.h"

namespace belfry::torture {
namespace {

const std::string kBest = "min-error";

SaverOptions latest_options(const std::string& directory) {
  return {.directory = directory, .keep = 3, .shard_bytes = 40'000};
}
SaverOptions best_options(const std::string& directory) {
  return {.directory = directory, .prefix = kBest, .keep = 1, .index = kBest + std::string(kCheckpointIndexExtension)};
}

// What the process that saves tells the one that kills it.
struct Saved {
  std::int64_t latest = 0, best = 0;
};

// Saves without end. Every other checkpoint is in shards: its values are more than the limit.
[[noreturn]] void save_on(const std::string& directory, std::int64_t step, int news) {
  const LogRedirect silent([](LogLevel, std::string_view) {}, LogLevel::error);
  CheckpointWriter latest(latest_options(directory)), best(best_options(directory));
  Saved saved;
  for (;; ++step) {
    const auto values = values_of(step, step % 2 == 0 ? 20'000 : 5'000);
    latest.write(step, values, {});
    saved.latest = step;
    if (::write(news, &saved, sizeof saved) != sizeof saved) _exit(3);
    if (step % 3 != 0) continue;
    best.write(step, values, {});
    saved.best = step;
    if (::write(news, &saved, sizeof saved) != sizeof saved) _exit(3);
  }
}

// A process that saves, until it is killed this long after its start.
Saved kill_after(std::int64_t microseconds, const std::string& directory, std::int64_t step) {
  int ends[2];
  if (::pipe(ends) != 0) throw Error("[torture] expected a pipe, got none.");
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    try {
      save_on(directory, step, ends[1]);
    } catch (const std::exception& error) {
      report(error.what());
      _exit(4);
    }
  }
  ::close(ends[1]);
  const timespec time{.tv_sec = microseconds / 1'000'000, .tv_nsec = microseconds % 1'000'000 * 1000};
  ::nanosleep(&time, nullptr);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFSIGNALED(status)) throw Error("[torture] expected the saving process to run until it was killed.");
  Saved last, next;
  while (::read(ends[0], &next, sizeof next) == sizeof next) {
    last.latest = std::max(last.latest, next.latest);
    last.best = std::max(last.best, next.best);
  }
  ::close(ends[0]);
  return last;
}

std::string rests_in(const std::string& directory) {
  const LogRedirect silent([](LogLevel, std::string_view) {}, LogLevel::error);
  const CheckpointWriter latest(latest_options(directory)), best(best_options(directory));
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().filename().string().find(".tmp-") != std::string::npos)
      return fmt::format("'{}' is left", entry.path().string());
  return "";
}

}  // namespace

Outcome kills(std::int64_t count, std::uint64_t seed) {
  constexpr std::uint64_t kLongest = 25'000;  // microseconds: a few saves
  const FastDirectory directory;              // a process that is killed loses nothing that the system has
  RandomStream random(seed);
  Outcome out;
  Saved all;
  for (; out.tries < count; ++out.tries) {
    const Saved now = kill_after(static_cast<std::int64_t>(random.below(kLongest)), directory.path(), all.latest + 1);
    all = {.latest = std::max(all.latest, now.latest), .best = std::max(all.best, now.best)};
    for (const std::string& wrong :
         {loss_in(directory.path(), std::string(kCheckpointIndex), all.latest),
          loss_in(directory.path(), kBest + std::string(kCheckpointIndexExtension), all.best),
          rests_in(directory.path()), loss_in(directory.path(), std::string(kCheckpointIndex), all.latest),
          loss_in(directory.path(), kBest + std::string(kCheckpointIndexExtension), all.best)}) {
      if (wrong.empty()) continue;
      ++out.bad;
      report(fmt::format("kills: after {} kills: {}", out.tries + 1, wrong));
      break;
    }
  }
  if (count > 20 && all.latest == 0) throw Error("[torture] expected saves between the kills, got none.");
  return out;
}

}  // namespace belfry::torture
