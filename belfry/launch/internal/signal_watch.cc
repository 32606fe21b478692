#include "belfry/launch/internal/signal_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/base/internal/alternate_stack.h"
#include "belfry/base/internal/start_thread.h"

namespace belfry {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGUSR1};

// What a signal handler may touch: lock-free atomics, and write() to a pipe. A handler may still run on another thread
// after its watch has ended, so the pipe that it writes to is never closed.
std::atomic<int> pipe_end = -1;  // written to by the handler
std::atomic<::pid_t> watching_process = 0;
constexpr int kNone = 0, kNobodyWatches = -1;
std::atomic<int> first_signal = kNobodyWatches;
std::atomic<bool> watched = false;
static_assert(std::atomic<int>::is_always_lock_free);

constexpr char kSignalled = 's', kAsked = 'a', kOver = 'o';

extern "C" void belfry_on_signal(int signal) {
  const int before = errno;
  int first = kNone;
  const bool forked = watching_process != ::getpid();  // a child has the handler, but no watch
  if (signal == SIGUSR1 && !forked && first_signal != kNobodyWatches) {
    if (::write(pipe_end, &kAsked, 1) < 0) errno = before;  // a full pipe has enough of them
  } else if (!forked && first_signal.compare_exchange_strong(first, signal)) {
    if (::write(pipe_end, &kSignalled, 1) < 0) first_signal = kNone;
  } else {
    // A second signal has its default effect. One that comes after the watch goes to the earlier handler.
    if (forked || first != kNobodyWatches) ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
  errno = before;
}

// For the life of the process: a forked child makes its own. Only the current watch calls it.
const std::array<int, 2>& signal_pipe() {
  static std::array<int, 2> ends{-1, -1};
  static ::pid_t owner = 0;
  if (owner != ::getpid()) {
    std::array<int, 2> made{};
    BELFRY_CHECK(::pipe2(made.data(), O_CLOEXEC) == 0, "[signals] expected a pipe, got: {}.", std::strerror(errno));
    ends = made;
    owner = ::getpid();
    pipe_end = ends[1];
    watching_process = owner;
  }
  return ends;
}

// Waits for the next byte of a pipe; 0 if no more will come. It waits in poll(), where the thread sanitizer lets a
// handler run: during read() it holds signals back until the call returns.
char next_byte(int pipe) {
  char byte = 0;
  ::pollfd ready{.fd = pipe, .events = POLLIN, .revents = 0};
  while (::poll(&ready, 1, -1) < 0 || ::read(pipe, &byte, 1) < 0)
    if (errno != EINTR) return 0;
  return byte;
}

// The only thread of ours that handles signals. A byte left over from an earlier watch comes without a signal, and is
// skipped.
void watch(int pipe, const std::function<void(int)>& ask) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : kSignals) sigaddset(&wanted, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &wanted, nullptr);
  bool asked = false;
  for (char byte = next_byte(pipe); byte != kOver && byte != 0; byte = next_byte(pipe)) {
    if (byte == kAsked)
      ask(SIGUSR1);
    else if (first_signal != kNone && !std::exchange(asked, true))
      ask(first_signal);
  }
}

// While it lives, no other watch begins.
class OnlyWatch {
 public:
  OnlyWatch() {
    if (watched.exchange(true))
      fail(
          "[signals] expected one training that handles signals at a time, got a second one. Set "
          "TrainConfig::handle_signals = false in all but one.");
  }
  ~OnlyWatch() { watched = false; }
  OnlyWatch(const OnlyWatch&) = delete;
  OnlyWatch& operator=(const OnlyWatch&) = delete;
};

}  // namespace

struct SignalWatch::Impl {
  OnlyWatch only;        // destroyed last
  AlternateStack stack;  // for the handler: a callback may use oneDNN by itself
  std::function<void(int)> ask;
  std::array<int, 2> ends = signal_pipe();
  std::array<struct sigaction, kSignals.size()> before{};
  std::thread thread;
  bool reported = false;  // caught() has returned the signal
  const int exceptions = std::uncaught_exceptions();

  // Signals that the program's parent has set to be ignored, as for a job in the background, stay ignored.
  void install() {
    struct sigaction action{};
    action.sa_handler = belfry_on_signal;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      ::sigaction(kSignals[i], nullptr, &before[i]);
      if (before[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
    }
  }
  void restore() {
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      if (before[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &before[i], nullptr);
  }
};

SignalWatch::SignalWatch(std::function<void(int)> ask) : impl_(std::make_unique<Impl>()) {
  impl_->ask = std::move(ask);
  first_signal = kNone;
  impl_->thread = start_thread([impl = impl_.get()] { watch(impl->ends[0], impl->ask); });
  impl_->install();
}

SignalWatch::~SignalWatch() {
  impl_->restore();
  while (::write(impl_->ends[1], &kOver, 1) < 0 && errno == EINTR) {
  }
  impl_->thread.join();
  const int signal = first_signal.exchange(kNobodyWatches);
  const bool failed = std::uncaught_exceptions() > impl_->exceptions;  // the exception says more
  if (signal != kNone && !impl_->reported && !failed) ::raise(signal);
}

int SignalWatch::caught() {
  const int signal = first_signal;
  if (signal != kNone) impl_->reported = true;
  return signal;
}

}  // namespace belfry
