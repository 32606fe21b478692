// Which threads handle signals.
#include "belfry/base/signal_mask.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>

#include "belfry/base/internal/start_thread.h"
#include "belfry/base/parallel.h"

namespace belfry {
namespace {

bool blocked(int signal) {
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

bool has_alternate_stack() {
  stack_t stack{};
  ::sigaltstack(nullptr, &stack);
  return (stack.ss_flags & SS_DISABLE) == 0;
}

// A parallel region that is not ours: oneDNN's, or the program's own. Gives how many threads but the leader take
// SIGINT.
int workers_that_take_signals(int threads) {
  using Parallel = void(void (*)(void*), void*, unsigned, unsigned);
  const auto parallel = reinterpret_cast<Parallel*>(::dlsym(RTLD_DEFAULT, "GOMP_parallel"));
  EXPECT_NE(parallel, nullptr);
  static std::atomic<pthread_t> leader;  // atomic: the thread sanitizer does not see the order that libgomp keeps
  static std::atomic<int> unblocked;
  leader = ::pthread_self();
  unblocked = 0;
  const auto look = [](void*) {
    if (::pthread_equal(leader, ::pthread_self()) == 0 && !blocked(SIGINT)) ++unblocked;
  };
  parallel(look, nullptr, static_cast<unsigned>(threads), 0);
  return unblocked;
}

TEST(SignalMaskTest, BlocksAllButFaultsUntilTheEndOfTheOutermostScope) {
  EXPECT_FALSE(blocked(SIGINT));
  {
    const SignalsBlocked outer;
    {
      const SignalsBlocked inner;
    }
    for (const int signal : {SIGINT, SIGTERM, SIGPROF, SIGALRM, SIGUSR1}) EXPECT_TRUE(blocked(signal)) << signal;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) EXPECT_FALSE(blocked(signal)) << signal;
  }
  EXPECT_FALSE(blocked(SIGINT));
}

TEST(SignalMaskTest, WhatTheProgramHasBlockedStaysBlocked) {
  sigset_t mine, before;
  sigemptyset(&mine);
  sigaddset(&mine, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &mine, &before);
  {
    const SignalsBlocked scope;
  }
  EXPECT_TRUE(blocked(SIGUSR2));
  EXPECT_FALSE(blocked(SIGUSR1));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(SignalMaskTest, AThreadOfOursTakesNoneAndHasAnAlternateStack) {
  bool none = false, stack = false;
  start_thread([&] {
    {
      const SignalsBlocked scope;
    }
    none = blocked(SIGINT) && !blocked(SIGSEGV);
    stack = has_alternate_stack();
  }).join();
  EXPECT_TRUE(none);
  EXPECT_TRUE(stack);
  EXPECT_FALSE(blocked(SIGINT));
}

TEST(SignalMaskTest, ATeamTakesNone) {
  std::thread([] {  // a thread of the program's: its team begins here
    const TeamScope team(3);
    EXPECT_TRUE(blocked(SIGINT));
    std::atomic<int> unblocked = 0, without_stack = 0;
    parallel_parts(3, [&](int part, int) {
      if (!blocked(SIGINT)) ++unblocked;
      if (part > 0 && !has_alternate_stack()) ++without_stack;
    });
    EXPECT_EQ(unblocked, 0);
    EXPECT_EQ(without_stack, 0);
  })
      .join();
  std::thread([] {
    parallel_for(1000, 1, [](std::int64_t, std::int64_t) {});  // outside of a scope
    EXPECT_FALSE(blocked(SIGINT));
    EXPECT_EQ(workers_that_take_signals(team_size()), 0);
  }).join();
}

TEST(SignalMaskTest, ATeamThatTheProgramHadBeforeIsSilenced) {
  std::thread([] {
    EXPECT_EQ(workers_that_take_signals(3), 2);
    {
      const TeamScope team(3);
      silence_team();
    }
    EXPECT_EQ(workers_that_take_signals(3), 0);
    EXPECT_FALSE(blocked(SIGINT));  // the program's thread still does
  }).join();
}

}  // namespace
}  // namespace belfry
