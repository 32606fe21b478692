#include "belfry/launch/stop_on_signal.h"

#include <signal.h>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/launch/internal/signal_watch.h"
#include "belfry/loop/trainer.h"

namespace belfry {
namespace {

void stop(Trainer& trainer, int signal) {
  log_warning(fmt::format(
      "[signals] SIG{}: training ends, and what is not saved yet is saved. It waits for {}. A second signal ends the "
      "program at once.",
      ::sigabbrev_np(signal), trainer.activity()));
  trainer.request_stop(fmt::format("signal {}", signal), true);
}

}  // namespace

Interrupted::Interrupted(int signal)
    : Error(fmt::format("[training] ended by signal {}: the step was finished and everything was closed", signal)),
      signal_(signal) {}

StopOnSignal::StopOnSignal(Trainer& trainer)
    : watch_(std::make_unique<SignalWatch>([&trainer](int signal) { stop(trainer, signal); })) {}

StopOnSignal::~StopOnSignal() = default;

void StopOnSignal::throw_if_interrupted() const {
  if (watch_->caught() != 0) throw Interrupted(watch_->caught());
}

}  // namespace belfry
