#include "belfry/launch/stop_on_signal.h"

#include <signal.h>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/launch/internal/signal_watch.h"
#include "belfry/loop/trainer.h"

namespace belfry {
namespace {

void on_signal(Trainer& trainer, int signal) {
  if (signal == SIGUSR1) {
    trainer.request_save();
    return log_info("[signals] SIGUSR1: a checkpoint is saved after the running step, and training goes on.");
  }
  trainer.set_signal(signal);
  log_warning(
      fmt::format("[signals] SIG{}: training ends, and what is not saved yet is saved. It waits for {}. A second "
                  "signal ends the program at once.",
                  ::sigabbrev_np(signal), trainer.activity()));
  trainer.request_stop(fmt::format("signal {}", signal), true);
}

std::string way_on(const Trainer& trainer) {
  return trainer.auto_resume() ? "\nTo go on from there: " + trainer.command_line() : "";
}

std::string end_of(const Trainer& trainer) {
  const RunPosition at = trainer.position();
  if (at.epoch < trainer.starting_epoch() || (at.epoch == trainer.starting_epoch() && at.steps_done == 0))
    return "before any step was done: nothing was saved.";
  const std::string& checkpoint = trainer.last_checkpoint();
  return fmt::format("after {} of {} steps of epoch {} (global_step {}). {}", at.steps_done, at.steps_per_epoch,
                     at.epoch, trainer.global_step(),
                     checkpoint.empty() ? "There was no ModelSaver to save it."
                                        : fmt::format("The latest checkpoint is '{}'.{}", checkpoint, way_on(trainer)));
}

}  // namespace

Interrupted::Interrupted(int signal, const Trainer& trainer)
    : Error(fmt::format("[training] ended by signal {} {}", signal, end_of(trainer))), signal_(signal) {}

StopOnSignal::StopOnSignal(Trainer& trainer)
    : trainer_(trainer),
      watch_(std::make_unique<SignalWatch>([&trainer](int signal) { on_signal(trainer, signal); })) {}

StopOnSignal::~StopOnSignal() = default;

void StopOnSignal::throw_if_interrupted() const {
  if (watch_->caught() != 0) throw Interrupted(watch_->caught(), trainer_);
}

}  // namespace belfry
