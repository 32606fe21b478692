#include "belfry/base/internal/spin_control.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string>
#include <system_error>

#include "belfry/base/internal/descriptor.h"
#include "belfry/base/internal/start_thread.h"
#include "belfry/base/log.h"
#include "belfry/base/mutex.h"
#include "belfry/base/parallel.h"

namespace belfry {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kLook = 10 * kMillisecond;  // between looks, while spins are long
// While they are short, a look may make them long again; if that was wrong, it is tried less and less often.
constexpr std::int64_t kFirstHold = 500 * kMillisecond, kLongestHold = 16'000 * kMillisecond;
constexpr std::int64_t kLeastWork = 5 * kMillisecond;  // to judge by
constexpr double kBusy = 0.1, kCalm = 0.02;            // shares of its time that the thread waited for a core

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Threads of OpenMP's that sleep as long as this lives.
class ParkedThreads {
 public:
  explicit ParkedThreads(int count) : thread_(start_thread([this, count] { park(count); })) {
    const MutexLock lock(mutex_);
    while (!parked_) changed_.wait(mutex_);
  }
  ~ParkedThreads() {
    {
      const MutexLock lock(mutex_);
      leave_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  // A thread that led a parallel region keeps its team, asleep, until it ends.
  void park(int count) {
    {
      const TeamScope scope(count);
      parallel_parts(count, [](int, int) {});
    }
    const MutexLock lock(mutex_);
    parked_ = true;
    changed_.notify_all();
    while (!leave_) changed_.wait(mutex_);
  }

  Mutex mutex_;
  Condition changed_;
  bool parked_ BELFRY_GUARDED_BY(mutex_) = false;
  bool leave_ BELFRY_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // the last member: it uses the others
};

// Of the calling thread, from /proc: "<ran> <waited> <times>".
class OwnTimes {
 public:
  std::optional<CoreTimes> read() {
    const pid_t self = ::gettid();
    if (self != thread_) {
      thread_ = self;
      file_ = Descriptor(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
    }
    std::array<char, 100> text{};
    const ssize_t size = file_.is_open() ? ::pread(file_.get(), text.data(), text.size(), 0) : -1;
    if (size <= 0) return std::nullopt;
    const char* const end = text.data() + size;
    CoreTimes times;
    const auto first = std::from_chars(text.data(), end, times.ran);
    if (first.ec != std::errc() || first.ptr == end) return std::nullopt;
    if (std::from_chars(first.ptr + 1, end, times.waited).ec != std::errc()) return std::nullopt;
    return times;
  }

 private:
  pid_t thread_ = -1;
  Descriptor file_;
};

bool user_decided() { return std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr; }

}  // namespace

bool SpinDecision::short_spins(std::int64_t now, const CoreTimes& times) {
  const CoreTimes before = before_.value_or(times);
  const std::int64_t ran = times.ran - before.ran, waited = times.waited - before.waited;
  const bool another_thread = ran < 0 || waited < 0;
  if (before_ && !another_thread) {
    if (ran + waited < kLeastWork) {
      next_look_ = now + kLook;
      return short_;
    }
    judge(now, static_cast<double>(waited) / static_cast<double>(ran + waited));
  }
  before_ = times;
  next_look_ = now + (short_ ? hold_ : kLook);
  return short_;
}

void SpinDecision::judge(std::int64_t now, double share) {
  if (!short_ && share > kBusy) {
    const bool too_soon = released_ && now - *released_ < hold_;  // the release was wrong
    hold_ = too_soon ? std::min(2 * hold_, kLongestHold) : kFirstHold;
    short_ = true;
  } else if (short_ && share < kCalm) {
    short_ = false;
    released_ = now;
  }
}

struct SpinControl::Impl {
  int extra = 0;  // OpenMP threads needed besides the team's to have more threads than cores
  OwnTimes times;
  SpinDecision decision;
  std::unique_ptr<ParkedThreads> parked;
  bool failed = false;

  void set(bool short_spins) {
    if (short_spins == (parked != nullptr)) return;
    if (!short_spins) return parked.reset();
    try {
      parked = std::make_unique<ParkedThreads>(extra + 1);  // the one that leads them does not count
    } catch (const std::system_error& e) {
      failed = true;  // no threads to be had: things stay as they are
      log_debug(std::string("[spin control] no thread for short spins: ") + e.what());
    }
  }
};

SpinControl::SpinControl(int threads) {
  if (threads <= 1 || user_decided()) return;
  impl_ = std::make_unique<Impl>();
  impl_->extra = std::max(1, hardware_threads() - threads + 1);
  if (!impl_->times.read()) impl_.reset();
}
SpinControl::~SpinControl() = default;

bool SpinControl::short_spins() const { return impl_ && impl_->parked != nullptr; }

void SpinControl::observe() {
  if (!impl_ || impl_->failed) return;
  const std::int64_t time = now();
  if (!impl_->decision.due(time)) return;
  if (const auto times = impl_->times.read()) impl_->set(impl_->decision.short_spins(time, *times));
}

}  // namespace belfry
