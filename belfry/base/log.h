// Lines for people to read, on stderr:
//
//   [1115 19:38:01] info                      log_info(fmt::format("loaded {} tensors", n));
//   [1115 19:38:01 warning] something is odd
//
// Any thread may log; a line is written whole. The lowest level shown comes from the environment variable
// BELFRY_LOG_LEVEL (debug, info, warning, error or off; default info), read when the first line is logged. Logging
// never throws because of where the line goes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#pragma GCC visibility push(default)
namespace belfry {

enum class LogLevel : std::uint8_t { debug, info, warning, error, off };

void log(LogLevel level, std::string_view text);
inline void log_debug(std::string_view text) { log(LogLevel::debug, text); }
inline void log_info(std::string_view text) { log(LogLevel::info, text); }
inline void log_warning(std::string_view text) { log(LogLevel::warning, text); }
inline void log_error(std::string_view text) { log(LogLevel::error, text); }

// Whether a line of this level would go anywhere: for lines that are costly to make.
bool log_enabled(LogLevel level);

// While it lives, what this thread logs below `error` goes nowhere: for work that is only tried out.
class LogMute {
 public:
  LogMute();
  ~LogMute();
  LogMute(const LogMute&) = delete;
  LogMute& operator=(const LogMute&) = delete;
};

std::string_view name_of(LogLevel level);
std::optional<LogLevel> log_level_from_name(std::string_view name);  // nullopt if there is no such level

// While it lives, every line of `lowest` or above goes to the callback instead of stderr (and lower ones nowhere), from
// all threads, one at a time; once the destructor has returned the callback is not called again. The latest redirect
// wins. What the callback itself logs goes to stderr; an exception from it is reported there and ends there.
class LogRedirect {
 public:
  using Callback = std::function<void(LogLevel, std::string_view)>;

  explicit LogRedirect(Callback callback, LogLevel lowest = LogLevel::debug);
  ~LogRedirect();
  LogRedirect(const LogRedirect&) = delete;
  LogRedirect& operator=(const LogRedirect&) = delete;

  LogLevel lowest() const { return lowest_; }
  void deliver(LogLevel level, std::string_view text) const { callback_(level, text); }

 private:
  Callback callback_;
  LogLevel lowest_;
};

}  // namespace belfry
#pragma GCC visibility pop
