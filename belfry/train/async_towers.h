// AsyncTowers: the towers after the first of an asynchronous training. Each has a companion of the trainer's session
// (Session::companion()) and a thread that runs the tower's operation over and over, without waiting for the others.
//
// For a trainer of one's own: start() once the session is there, resume() before an epoch, pause() before after_epoch,
// check() in run_step(), stop() in end_steps(). AsyncMultiDeviceTrainer does just that.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "belfry/base/mutex.h"
#include "belfry/session/session.h"

namespace belfry {

class AsyncTowers {
 public:
  struct Tower {
    Operation train{};
    int device = 0;  // of the session: the tower has as many threads
  };

  AsyncTowers();
  ~AsyncTowers();
  AsyncTowers(const AsyncTowers&) = delete;
  AsyncTowers& operator=(const AsyncTowers&) = delete;

  // All of these on one thread, the trainer's. The towers wait for the first resume(). Their random ops draw by the
  // number of the tower's step, from `first_step` on; errors of their runs name the line `where`.
  void start(Session& session, const std::vector<Tower>& towers, std::uint64_t first_step = 0,
             const Location& where = Location::current());
  void resume();
  void pause();  // returns when no tower runs
  // Throws what has ended a tower, be it the end of the data or an error.
  void check();
  // Ends all of them, whatever they wait for. Throws the error that ended one, if there was one; not for the data's
  // end.
  void stop();

 private:
  struct Worker;
  void loop(Worker& worker, std::uint64_t step, const Location& where);
  void keep_end(bool failed, const char* text);
  void join();

  std::vector<std::unique_ptr<Worker>> workers_;
  Session* session_ = nullptr;
  std::unique_ptr<SessionAlone> paused_;
  std::atomic<bool> stopping_ = false, ended_ = false;
  Mutex mutex_;
  std::exception_ptr end_ BELFRY_GUARDED_BY(mutex_);  // what ended the first tower that ended; an error comes first
  bool failed_ BELFRY_GUARDED_BY(mutex_) = false;     // it is an error
};

}  // namespace belfry
