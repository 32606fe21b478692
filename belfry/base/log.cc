#include "belfry/base/log.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "belfry/base/mutex.h"

namespace belfry {
namespace {

constexpr std::array<std::string_view, 5> kNames{"debug", "info", "warning", "error", "off"};

void write_line(LogLevel level, std::string_view text) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  const std::string mark = level == LogLevel::info ? "" : fmt::format(" {}", name_of(level));
  const std::string line = fmt::format("[{:02}{:02} {:02}:{:02}:{:02}{}] {}\n", local.tm_mon + 1, local.tm_mday,
                                       local.tm_hour, local.tm_min, local.tm_sec, mark, text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

// The mutex is recursive because a callback may log; `delivering` then sends the inner line to stderr.
struct Sink {
  RecursiveMutex mutex;
  std::vector<const LogRedirect*> redirects BELFRY_GUARDED_BY(mutex);  // the last one is in force
  bool delivering BELFRY_GUARDED_BY(mutex) = false;
  const LogLevel lowest;  // for stderr

  Sink() : lowest(level_from_environment()) {}

  bool shows(LogLevel level) const BELFRY_REQUIRES(mutex) {
    const bool redirected = !redirects.empty() && !delivering;
    return level != LogLevel::off && level >= (redirected ? redirects.back()->lowest() : lowest);
  }

  void write(LogLevel level, std::string_view text) BELFRY_REQUIRES(mutex) {
    if (!shows(level)) return;
    if (redirects.empty() || delivering) return write_line(level, text);
    delivering = true;
    try {
      redirects.back()->deliver(level, text);
    } catch (const std::exception& e) {
      write_line(LogLevel::error, fmt::format("[log] a redirected line was lost: {}. The line: {}", e.what(), text));
    } catch (...) {
      write_line(LogLevel::error, fmt::format("[log] a redirected line was lost. The line: {}", text));
    }
    delivering = false;
  }

  static LogLevel level_from_environment() {
    const char* name = std::getenv("BELFRY_LOG_LEVEL");
    if (name == nullptr || *name == '\0') return LogLevel::info;
    if (const auto level = log_level_from_name(name)) return *level;
    write_line(LogLevel::warning,
               fmt::format("[log] expected BELFRY_LOG_LEVEL to be debug, info, warning, error or off, got '{}'. "
                           "Showing info and above.",
                           name));
    return LogLevel::info;
  }
};

thread_local int muted = 0;  // LogMutes alive on this thread

// Never destroyed, so that destructors of static objects can still log.
Sink& sink() {
  static Sink& only = *new Sink;
  return only;
}

}  // namespace

std::string_view name_of(LogLevel level) { return kNames[static_cast<std::size_t>(level)]; }

std::optional<LogLevel> log_level_from_name(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<LogLevel>(found - kNames.begin());
}

void log(LogLevel level, std::string_view text) {
  if (muted > 0 && level < LogLevel::error) return;
  Sink& to = sink();
  const MutexLock lock(to.mutex);
  to.write(level, text);
}

bool log_enabled(LogLevel level) {
  if (muted > 0 && level < LogLevel::error) return false;
  Sink& to = sink();
  const MutexLock lock(to.mutex);
  return to.shows(level);
}

LogMute::LogMute() { ++muted; }
LogMute::~LogMute() { --muted; }

LogRedirect::LogRedirect(Callback callback, LogLevel lowest) : callback_(std::move(callback)), lowest_(lowest) {
  Sink& to = sink();
  const MutexLock lock(to.mutex);
  to.redirects.push_back(this);
}

LogRedirect::~LogRedirect() {
  Sink& to = sink();
  const MutexLock lock(to.mutex);
  std::erase(to.redirects, this);
}

}  // namespace belfry
