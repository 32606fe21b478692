#include "belfry/engine/cpu/isa.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "belfry/base/error.h"

namespace belfry {
namespace {

// What a new process with BELFRY_ISA = wish says: exits with the vector width, or prints the error and exits with 1.
[[noreturn]] void say(const char* wish) {
  setenv("BELFRY_ISA", wish, 1);
  try {
    std::exit(vector_width(cpu_isa()));
  } catch (const Error& e) {
    std::fputs(e.what(), stderr);
    std::exit(1);
  }
}

TEST(Isa, TheBestOneIsChosenUnlessTheEnvironmentNamesAnother) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the choice is made once a process
  EXPECT_EXIT(say(""), ::testing::ExitedWithCode(cpu_supports(Isa::avx512) ? 16 : 8), "");
  EXPECT_EXIT(say("avx2"), ::testing::ExitedWithCode(8), "");
  EXPECT_EXIT(say("sse2"), ::testing::ExitedWithCode(1),
              "\\[BELFRY_ISA\\] expected avx2 or avx512, got 'sse2'. Unset the variable to use the best one.");
}

}  // namespace
}  // namespace belfry
