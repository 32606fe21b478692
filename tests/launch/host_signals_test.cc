// Signals that the program handles itself, while a training runs in it.
#include <sys/time.h>
#include <ucontext.h>

#include <atomic>

#include "belfry/callbacks/inference_runner.h"
#include "belfry/loop/run_op.h"
#include "tests/launch/own_process.h"
#include "tests/launch/wide_net.h"

namespace belfry {
namespace {

using testing_support::OwnProcess;

std::atomic<int> handled = 0, strange = 0;
pthread_t main_thread;
char *stack_begin, *stack_end;

// Strange: on a thread of the library's, or one whose stack pointer is not in its stack.
void on_tick(int, siginfo_t*, void* context) {
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  auto* const stack = reinterpret_cast<char*>(registers[REG_RSP]);
  ++handled;
  if (::pthread_equal(main_thread, ::pthread_self()) == 0 || stack < stack_begin || stack >= stack_end) ++strange;
}

// A profiler: a thousand signals a second (as many of them as the system sends), handled on an alternate stack.
void start_profiler() {
  main_thread = ::pthread_self();
  pthread_attr_t attributes;
  void* begin = nullptr;
  std::size_t size = 0;
  ::pthread_getattr_np(main_thread, &attributes);
  ::pthread_attr_getstack(&attributes, &begin, &size);
  ::pthread_attr_destroy(&attributes);
  stack_begin = static_cast<char*>(begin);
  stack_end = stack_begin + size;

  static char memory[256 << 10];
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = sizeof memory;
  ::sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_sigaction = on_tick;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  ::sigaction(SIGPROF, &action, nullptr);
  const itimerval millisecond{{0, 1000}, {0, 1000}};
  ::setitimer(ITIMER_PROF, &millisecond, nullptr);
}

constexpr int kStrange = 5;

int train_while_profiled(const std::string& directory) {
  start_profiler();
  SimpleTrainer trainer;
  const auto end = [](Trainer& t) {
    if (handled > 200) t.request_stop("profiled");
  };
  launch_train_with_config({.model = model<testing_support::WideNet>(),
                            .dataflow = testing_support::wide_data(10),
                            .callbacks = {InferenceRunner(testing_support::wide_data(20), {ScalarStats("cost")}),
                                          CallbackFactory({.trigger_epoch = end})},
                            .session_config = {.devices = {{2}}},
                            .max_epoch = 1'000'000'000,
                            .run_dir = directory,
                            .handle_signals = false},
                           trainer);
  return strange == 0 ? 0 : kStrange;
}

[[maybe_unused]] const auto* const profiled =
    testing::AddGlobalTestEnvironment(new testing_support::Role("profiled", train_while_profiled));

TEST(HostSignalsTest, AProfilerInterruptsNoComputation) {
  const testing_support::TempDir dir;
  EXPECT_EQ(OwnProcess("profiled", dir.path()).wait().status, 0);
}

}  // namespace
}  // namespace belfry
