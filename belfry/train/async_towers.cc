#include "belfry/train/async_towers.h"

#include "belfry/base/log.h"

namespace belfry {

AsyncTowers::~AsyncTowers() { join(); }

void AsyncTowers::start(Session& session, const std::vector<Tower>& towers) {
  session_ = &session;
  for (const Tower& tower : towers)
    workers_.push_back(std::make_unique<Worker>(Worker{session.companion(tower.device), tower.train, {}}));
  pause();
  for (const auto& worker : workers_) worker->thread = std::thread([this, &worker = *worker] { loop(worker); });
}

void AsyncTowers::pause() {
  if (paused_ == nullptr) paused_ = std::make_unique<SessionAlone>(*session_);
}

void AsyncTowers::resume() { paused_ = nullptr; }

// Random ops of different towers draw different numbers of the same step.
void AsyncTowers::loop(Worker& worker) {
  try {
    for (std::uint64_t step = 0; !stopping_; ++step) worker.session->run(worker.train, {}, {.random_step = step});
  } catch (const std::exception& e) {
    const bool cancelled = stopping_ && dynamic_cast<const Cancelled*>(&e) != nullptr;
    const bool failed = !cancelled && dynamic_cast<const EndOfData*>(&e) == nullptr;
    const MutexLock lock(mutex_);
    if (failed && failed_)
      log_error(fmt::format("[async tower] after an error that is thrown, another one failed as well: {}", e.what()));
    if (cancelled || failed_ || (end_ != nullptr && !failed)) return;
    end_ = std::current_exception();
    failed_ = failed;
    ended_ = true;
  }
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
