// Ctrl-C and SIGTERM, for trainings that are not launched with a TrainConfig (launch_train_with_config() does this by
// itself):
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

// Thrown after a training that a signal has ended: after_train() of all callbacks has run.
class Interrupted : public Error {
 public:
  Interrupted(int signal, const Trainer& trainer);  // the text says how far it came and where the checkpoint is
  int signal() const { return signal_; }
  int exit_code() const { return 128 + signal_; }  // what a shell expects

 private:
  int signal_;
};

// While it lives, the first signal lets the trainer finish its step, save and end, as request_stop() does, and the log
// says at once what that waits for; a second one ends the program. One at a time. At the end the handlers that were
// there before are put back, and get a signal that throw_if_interrupted() was not asked about. A signal that was
// ignored when it began (nohup, jobs in the background) stays ignored.
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
