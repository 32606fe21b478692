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
#include <thread>
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

  AsyncTowers() = default;
  ~AsyncTowers();
  AsyncTowers(const AsyncTowers&) = delete;
  AsyncTowers& operator=(const AsyncTowers&) = delete;

  // All of these on one thread, the trainer's. The towers wait for the first resume().
  void start(Session& session, const std::vector<Tower>& towers);
  void resume();
  void pause();  // returns when no tower runs
  // Throws what has ended a tower, be it the end of the data or an error.
  void check();
  // Ends all of them, whatever they wait for. Throws the error that ended one, if there was one; not for the data's
  // end.
  void stop();

 private:
  struct Worker {
    std::unique_ptr<Session> session;
    Operation train;
    std::thread thread;
  };
  void loop(Worker& worker);
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
