#include "belfry/train/async_towers.h"

#include <thread>

#include "belfry/base/log.h"

namespace belfry {

struct AsyncTowers::Worker {
  std::unique_ptr<Session> session;
  Operation train;
  std::thread thread;
};

AsyncTowers::AsyncTowers() = default;
AsyncTowers::~AsyncTowers() { join(); }

void AsyncTowers::start(Session& session, const std::vector<Tower>& towers, std::uint64_t first_step,
                        const Location& where) {
  session_ = &session;
  for (const Tower& tower : towers)
    workers_.push_back(std::make_unique<Worker>(Worker{session.companion(tower.device, where), tower.train, {}}));
  pause();
  for (const auto& worker : workers_)
    worker->thread = std::thread([this, &worker = *worker, first_step, where] { loop(worker, first_step, where); });
}

void AsyncTowers::pause() {
  if (paused_ == nullptr) paused_ = std::make_unique<SessionAlone>(*session_);
}

void AsyncTowers::resume() { paused_ = nullptr; }

// Random ops of different towers draw different numbers of the same step.
void AsyncTowers::loop(Worker& worker, std::uint64_t step, const Location& where) {
  try {
    for (; !stopping_; ++step) worker.session->run(worker.train, {}, {.random_step = step}, where);
  } catch (const EndOfData& e) {
    keep_end(false, e.what());
  } catch (const Cancelled& e) {
    if (!stopping_) keep_end(true, e.what());
  } catch (const std::exception& e) {
    keep_end(true, e.what());
  } catch (...) {
    keep_end(true, "an exception that is not a std::exception");
  }
}

// While it is caught. The first error, else the first end.
void AsyncTowers::keep_end(bool failed, const char* text) {
  const MutexLock lock(mutex_);
  if (failed && failed_)
    log_error(fmt::format("[async tower] after an error that is thrown, another tower failed as well: {}", text));
  if (failed_ || (end_ != nullptr && !failed)) return;
  end_ = std::current_exception();
  failed_ = failed;
  ended_ = true;
}

void AsyncTowers::check() {
  if (!ended_) return;
  const MutexLock lock(mutex_);
  std::rethrow_exception(end_);
}

// A tower may be waiting for a point, for its turn to compile, or for the end of a pause.
void AsyncTowers::join() {
  stopping_ = true;
  for (const auto& worker : workers_) worker->session->cancel();
  resume();
  for (const auto& worker : workers_)
    if (worker->thread.joinable()) worker->thread.join();
}

void AsyncTowers::stop() {
  join();
  const MutexLock lock(mutex_);
  if (failed_) std::rethrow_exception(end_);
}

}  // namespace belfry
