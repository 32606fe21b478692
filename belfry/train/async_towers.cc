#include "belfry/train/async_towers.h"

#include <fmt/format.h>

#include "belfry/base/internal/start_thread.h"
#include "belfry/base/log.h"
#include "belfry/base/stop_training.h"
#include "belfry/graph/scope.h"
#include "belfry/loop/trainer.h"
#include "belfry/nn/initializers.h"
#include "belfry/ops/basic.h"

namespace belfry {
namespace {

constexpr const char* kUpdates = "async_updates";  // the scalar, and the variable

}  // namespace

struct AsyncTowers::Worker {
  Operation step;
  Device device;
  std::vector<Fetch> fetches;
  Look look;
  std::unique_ptr<Session> session{};
  std::unique_ptr<HookedSession> runs{};  // without hooks: it keeps the run of a step
  std::thread thread{};
};

// When they run.
class AsyncTowers::Schedule final : public Callback {
 public:
  explicit Schedule(AsyncTowers& towers) : towers_(&towers) {}
  void setup_graph() override { trainer().monitors().declare(*this, kUpdates); }
  void before_epoch() override {
    if (towers_->session_ == nullptr) towers_->start(trainer());
    towers_->resume();
  }
  void after_epoch() override { towers_->pause(); }
  void trigger_epoch() override { trainer().monitors().put_scalar(kUpdates, static_cast<double>(towers_->updates())); }
  bool declares_metrics() const override { return true; }
  bool chief_only() const override { return false; }
  std::string name() const override { return "AsyncTowers"; }

 private:
  AsyncTowers* towers_;
};

AsyncTowers::AsyncTowers() = default;
AsyncTowers::~AsyncTowers() { join(); }

// The runs count the updates, so that the count does not change while they pause.
Operation AsyncTowers::step(const Operation& apply, std::string_view name) {
  const GraphScope root(*apply.node()->graph);
  if (!updates_)
    updates_ = new_variable(kUpdates, {.shape = {},
                                       .dtype = DType::i64,
                                       .initializer = init::zeros(),
                                       .collections = {std::string(collection::kLocalVariables)}});
  const ControlDependencies applied({apply});
  return group({Operation(updates_.assign_add(1))}, name);
}

void AsyncTowers::add(const Operation& step, const Device& device, const Tensor& watched, Look look) {
  std::vector<Fetch> fetches{step};
  if (look) fetches.emplace_back(watched);
  workers_.push_back(std::make_unique<Worker>(Worker{step, device, std::move(fetches), std::move(look)}));
}

void AsyncTowers::clear() {
  workers_.clear();
  updates_ = {};
}

Handle<Callback> AsyncTowers::callback() { return Schedule(*this); }

std::vector<Operation> AsyncTowers::steps() const {
  std::vector<Operation> out;
  for (const auto& worker : workers_) out.push_back(worker->step);
  return out;
}

std::int64_t AsyncTowers::updates() const {
  return session_ == nullptr ? 0 : static_cast<std::int64_t>(session_->value(updates_, trainer_->trained_at()).item());
}

void AsyncTowers::start(Trainer& trainer) {
  trainer_ = &trainer;
  session_ = &trainer.session();
  for (const auto& worker : workers_) {
    worker->session = session_->companion(worker->device, trainer.trained_at());
    worker->runs = std::make_unique<HookedSession>(*worker->session);
  }
  pause();
  const auto first = static_cast<std::uint64_t>(trainer.global_step());
  for (const auto& worker : workers_)
    worker->thread =
        start_thread([this, &worker = *worker, first, where = trainer.trained_at()] { loop(worker, first, where); });
}

void AsyncTowers::pause() {
  if (paused_ == nullptr) paused_ = std::make_unique<CompanionsRest>(*session_, trainer_->trained_at());
}

void AsyncTowers::resume() { paused_ = nullptr; }

// Random ops of different towers draw different numbers in the same step.
void AsyncTowers::loop(Worker& worker, std::uint64_t step, const Location& where) {
  try {
    for (; !stopping_; ++step) {
      const std::vector<Array> values = worker.runs->run(worker.fetches, {}, {.random_step = step}, where);
      if (worker.look) worker.look(values.back().item(), static_cast<std::int64_t>(step) + 1);
    }
  } catch (const Cancelled& e) {
    if (!stopping_) keep_end(true, e.what());
  } catch (const std::exception& e) {
    keep_end(!is_clean_end(e), e.what());
  } catch (...) {
    keep_end(true, "an exception that is not a std::exception");
  }
}

// To be called in a catch block. Keeps the first error, otherwise the first end.
void AsyncTowers::keep_end(bool failed, const char* text) {
  const MutexLock lock(mutex_);
  if (failed && failed_)
    log_error(fmt::format("[async tower] besides the error that will be thrown, another tower failed too: {}", text));
  if (failed_ || (end_ != nullptr && !failed)) return;
  end_ = std::current_exception();
  failed_ = failed;
  ended_ = true;
  trainer_->request_stop(text);  // the trainer may be waiting for data
}

void AsyncTowers::check() {
  if (!ended_) return;
  const MutexLock lock(mutex_);
  std::rethrow_exception(end_);
}

// A tower may be waiting for a point, for its turn to compile, or for the end of a pause.
void AsyncTowers::join() {
  stopping_ = true;
  for (const auto& worker : workers_)
    if (worker->session != nullptr) worker->session->cancel();
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
