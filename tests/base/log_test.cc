#include "belfry/base/log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace belfry {
namespace {

// Before the first line is logged: these tests mean the default, whatever the caller's environment says.
[[maybe_unused]] const int kCleanEnvironment = unsetenv("BELFRY_LOG_LEVEL");

using Lines = std::vector<std::pair<LogLevel, std::string>>;

LogRedirect::Callback into(Lines& lines) {
  return [&lines](LogLevel level, std::string_view text) { lines.emplace_back(level, text); };
}

TEST(Log, ARedirectTakesEveryLineWithItsLevel) {
  Lines lines;
  {
    LogRedirect redirect(into(lines));
    log_debug("a");
    log_info("b");
    log_warning("c");
    log_error("d");
  }
  const Lines expected{{LogLevel::debug, "a"}, {LogLevel::info, "b"}, {LogLevel::warning, "c"}, {LogLevel::error, "d"}};
  EXPECT_EQ(lines, expected);
}

TEST(Log, ARedirectKeepsOnlyItsLevelAndAbove) {
  Lines lines;
  LogRedirect redirect(into(lines), LogLevel::warning);
  EXPECT_FALSE(log_enabled(LogLevel::info));
  EXPECT_TRUE(log_enabled(LogLevel::warning));
  log_info("below");
  log_error("above");
  EXPECT_EQ(lines, (Lines{{LogLevel::error, "above"}}));
}

TEST(Log, TheLatestRedirectWinsUntilItEnds) {
  Lines outer, inner;
  LogRedirect first(into(outer));
  {
    LogRedirect second(into(inner));
    log_info("inner");
  }
  log_info("outer");
  EXPECT_EQ(inner, (Lines{{LogLevel::info, "inner"}}));
  EXPECT_EQ(outer, (Lines{{LogLevel::info, "outer"}}));
}

TEST(Log, RedirectsMayEndInAnyOrder) {
  Lines a, b;
  std::optional<LogRedirect> first, second;
  first.emplace(into(a));
  second.emplace(into(b));
  first.reset();
  log_info("x");
  EXPECT_TRUE(a.empty());
  EXPECT_EQ(b.size(), 1u);
}

TEST(Log, LinesFromManyThreadsAllArriveOneAtATime) {
  Lines lines;
  {
    LogRedirect redirect(into(lines));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([] {
        for (int i = 0; i < 250; ++i) log_info("line");
      });
    for (std::thread& t : threads) t.join();
  }
  EXPECT_EQ(lines.size(), 1000u);
}

TEST(Log, WithoutARedirectALineGoesToStderrWithTimeAndLevel) {
  testing::internal::CaptureStderr();
  log_warning("the disk is nearly full");
  log_info("plain");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(testing::internal::RE::FullMatch(
      text, "\\[[0-9]{4} [0-9:]{8} warning\\] the disk is nearly full\n\\[[0-9]{4} [0-9:]{8}\\] plain\n"))
      << text;
}

TEST(Log, ACallbackThatLogsOrThrowsLosesNothing) {
  testing::internal::CaptureStderr();
  {
    LogRedirect redirect([](LogLevel, std::string_view) {
      log_warning("from inside");
      throw std::runtime_error("sink broke");
    });
    EXPECT_NO_THROW(log_info("precious"));
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("warning] from inside\n"), std::string::npos) << text;
  EXPECT_NE(text.find("error] [log] a redirected line was lost: sink broke. The line: precious\n"), std::string::npos)
      << text;
}

TEST(Log, LevelNamesRoundTripAndUnknownOnesAreRefused) {
  for (LogLevel level : {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error, LogLevel::off})
    EXPECT_EQ(log_level_from_name(name_of(level)), level);
  EXPECT_EQ(log_level_from_name("loud"), std::nullopt);
}

// The environment is read once in a process, so each case runs in a fresh one.
class LogLevelFromEnvironment : public testing::Test {
 protected:
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }

  [[noreturn]] static void log_all(const char* level) {
    setenv("BELFRY_LOG_LEVEL", level, 1);
    log_debug("d");
    log_info("i");
    log_warning("w");
    log_error("e");
    std::exit(0);
  }
};

TEST_F(LogLevelFromEnvironment, DebugShowsAll) {
  EXPECT_EXIT(log_all("debug"), testing::ExitedWithCode(0), "debug\\] d\n.*\\] i\n.*warning\\] w\n.*error\\] e\n");
}

TEST_F(LogLevelFromEnvironment, ErrorHidesTheRest) {
  EXPECT_EXIT(log_all("error"), testing::ExitedWithCode(0), "^\\[[0-9]{4} [0-9:]{8} error\\] e\n$");
}

TEST_F(LogLevelFromEnvironment, OffIsSilent) { EXPECT_EXIT(log_all("off"), testing::ExitedWithCode(0), "^$"); }

TEST_F(LogLevelFromEnvironment, AnUnknownLevelIsSaidOnceAndMeansInfo) {
  EXPECT_EXIT(log_all("loud"), testing::ExitedWithCode(0),
              "^[^\n]*expected BELFRY_LOG_LEVEL to be debug, info, warning, error or off, got 'loud'[^\n]*\n"
              "[^\n]*\\] i\n[^\n]*\\] w\n[^\n]*\\] e\n$");
}

}  // namespace
}  // namespace belfry
