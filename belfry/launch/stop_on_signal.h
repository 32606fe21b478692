// Ctrl-C, SIGTERM and SIGUSR1, for trainings that are not launched with a TrainConfig (launch_train_with_config() does
// this by itself):
//
//   const StopOnSignal signals(trainer);
//   trainer.train_with_defaults({...});
//   signals.throw_if_interrupted();
#pragma once

#include <memory>

#include "belfry/base/error.h"

#pragma GCC visibility push(default)
namespace belfry {

class SignalWatch;
class Trainer;

// Thrown after a signal has ended a training: after_train() of all callbacks has run.
class Interrupted : public Error {
 public:
  Interrupted(int signal, const Trainer& trainer);  // the text says how far training came and where the checkpoint is
  int signal() const { return signal_; }
  int exit_code() const { return 128 + signal_; }  // what a shell expects

 private:
  int signal_;
};

// While it lives, the first signal lets the trainer finish its step, save and end, as request_stop() does, and the log
// says at once what that waits for; a second one ends the program. SIGUSR1 asks for a checkpoint, as often as it comes,
// and ends nothing. Only one may live at a time. Its destructor puts the
// earlier handlers back, and raises the signal again for them unless throw_if_interrupted() was called after it. A
// signal that was ignored at the start (nohup, jobs in the background) stays ignored.
class StopOnSignal {
 public:
  explicit StopOnSignal(Trainer& trainer);  // borrowed
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  void throw_if_interrupted() const;

 private:
  const Trainer& trainer_;
  std::unique_ptr<SignalWatch> watch_;
};

}  // namespace belfry
#pragma GCC visibility pop
