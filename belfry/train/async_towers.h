// AsyncTowers: the towers of an asynchronous training. The first is the trainer's own; each of the others has a
// companion of the trainer's session (Session::companion()) and a thread that runs the tower's operation over and over,
// without waiting for others. For a trainer that you write (AsyncMultiDeviceTrainer does exactly this):
//
//   train_op = towers_.step(apply_of_the_first, "train_op");             // while the graph is defined
//   towers_.add(towers_.step(apply_of_another, "train_op_1"), device);
//   register_callback(towers_.callback());                               // they run within the epochs
//   void run_step() override { towers_.check();  TowerTrainer::run_step(); }
//   void end_steps() override { towers_.stop(); }
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "belfry/base/mutex.h"
#include "belfry/loop/callback.h"

#pragma GCC visibility push(default)
namespace belfry {

class AsyncTowers {
 public:
  AsyncTowers();
  ~AsyncTowers();
  AsyncTowers(const AsyncTowers&) = delete;
  AsyncTowers& operator=(const AsyncTowers&) = delete;

  // What a tower runs: `apply`, and then the count of updates.
  Operation step(const Operation& apply, std::string_view name);
  // A tower besides the trainer's own, with as many threads as this device of the session. `look`, if given, is called
  // on the tower's thread after each run, with the value of `watched` and the number of the run, from 1.
  using Look = std::function<void(double value, std::int64_t run)>;
  void add(const Operation& step, const Device& device, const Tensor& watched = {}, Look look = {});
  void clear();  // before the graph is defined again
  // Starts the towers with the first epoch; they rest between epochs. Puts the scalar "async_updates".
  Handle<Callback> callback();

  // The steps of the towers besides the trainer's own.
  std::vector<Operation> steps() const;
  // The updates of all towers so far, by the session that the callback was given; 0 before there is one.
  std::int64_t updates() const;
  // Throws the exception that ended a tower, whether that is the end of the data, a stop or an error.
  void check();
  // Ends all of them, whatever they wait for. Throws the error that ended one, if there was one; a clean end is not an
  // error.
  void stop();

 private:
  class Schedule;
  struct Worker;
  void start(Trainer& trainer);
  void resume();
  void pause();  // returns once no tower runs
  void loop(Worker& worker, std::uint64_t step, const Location& where);
  void keep_end(bool failed, const char* text);
  void join();

  Variable updates_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Trainer* trainer_ = nullptr;
  Session* session_ = nullptr;
  std::unique_ptr<CompanionsRest> paused_;
  std::atomic<bool> stopping_ = false, ended_ = false;
  Mutex mutex_;
  std::exception_ptr end_
      BELFRY_GUARDED_BY(mutex_);                   // what ended the first tower that ended; an error takes precedence
  bool failed_ BELFRY_GUARDED_BY(mutex_) = false;  // end_ is an error
};

}  // namespace belfry
#pragma GCC visibility pop
