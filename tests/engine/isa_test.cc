#include "belfry/engine/cpu/kernel/isa.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "belfry/base/error.h"
#include "belfry/engine/cpu/dnnl/dnnl_check.h"

namespace belfry {
namespace {

// A new process exits with a number, or prints the error and exits with 1.
template <class Number>
[[noreturn]] void exit_with(Number number) {
  try {
    std::exit(number());
  } catch (const Error& e) {
    std::fputs(e.what(), stderr);
    std::exit(1);
  }
}

// Says the vector width with BELFRY_ISA = wish.
[[noreturn]] void say(const char* wish) {
  setenv("BELFRY_ISA", wish, 1);
  exit_with([] { return vector_width(cpu_isa()); });
}

// The set that oneDNN may use. (Only the library is linked with oneDNN.)
int dnnl_isa() { return reinterpret_cast<dnnl_cpu_isa_t (*)()>(dlsym(RTLD_DEFAULT, "dnnl_get_effective_cpu_isa"))(); }

// Says it with BELFRY_ISA = wish, and ONEDNN_MAX_CPU_ISA = cap where the program has `used` oneDNN before Belfry does.
[[noreturn]] void say_dnnl(const char* wish, bool used = false, const char* cap = "") {
  setenv("BELFRY_ISA", wish, 1);
  setenv("ONEDNN_MAX_CPU_ISA", cap, 1);
  exit_with([used] {
    if (used) dnnl_isa();
    dnnl_cpu_engine();
    return dnnl_isa();
  });
}

TEST(Isa, TheBestOneIsChosenUnlessTheEnvironmentNamesAnother) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the choice is made once a process
  EXPECT_EXIT(say(""), ::testing::ExitedWithCode(cpu_supports(Isa::avx512) ? 16 : 8), "");
  EXPECT_EXIT(say("avx2"), ::testing::ExitedWithCode(8), "");
  EXPECT_EXIT(say("sse2"), ::testing::ExitedWithCode(1),
              "\\[BELFRY_ISA\\] expected avx2 or avx512, got 'sse2'. Unset the variable to use the best one.");
}

TEST(Isa, TheCapHoldsForOneDnnToo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(say_dnnl("avx2"), ::testing::ExitedWithCode(dnnl_cpu_isa_avx2), "");
  EXPECT_EXIT(say_dnnl("avx2", true, "AVX2"), ::testing::ExitedWithCode(dnnl_cpu_isa_avx2), "");
  if (!cpu_supports(Isa::avx512)) GTEST_SKIP() << "this machine has nothing to cap";
  EXPECT_EXIT(say_dnnl("avx512"), ::testing::ExitedWithCode(dnnl_cpu_isa_avx512_core), "");
  EXPECT_EXIT(say_dnnl("avx2", true), ::testing::ExitedWithCode(1),
              "\\[BELFRY_ISA\\] expected to limit oneDNN to avx2 before its first use, got one that the program has "
              "already used. Set ONEDNN_MAX_CPU_ISA=AVX2 too.");
}

}  // namespace
}  // namespace belfry
