#include "belfry/launch/stop_on_signal.h"

#include "belfry/base/check.h"
#include "belfry/launch/internal/signal_watch.h"
#include "belfry/loop/trainer.h"

namespace belfry {

Interrupted::Interrupted(int signal)
    : Error(fmt::format("[training] ended by signal {}: the step was finished and everything was closed", signal)),
      signal_(signal) {}

StopOnSignal::StopOnSignal(Trainer& trainer)
    : watch_(std::make_unique<SignalWatch>(
          [&trainer](int signal) { trainer.request_stop(fmt::format("signal {}", signal), true); })) {}

StopOnSignal::~StopOnSignal() = default;

void StopOnSignal::throw_if_interrupted() const {
  if (watch_->caught() != 0) throw Interrupted(watch_->caught());
}

}  // namespace belfry
