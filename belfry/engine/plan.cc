#include "belfry/engine/plan.h"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <set>

#include "belfry/base/check.h"
#include "belfry/base/mutex.h"
#include "belfry/engine/device_team.h"

namespace belfry {
namespace {

// For plans with several streams.
class FirstError {
 public:
  void keep(std::exception_ptr error) {
    const MutexLock lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  void rethrow() {
    const MutexLock lock(mutex_);
    if (error_) std::rethrow_exception(error_);
  }

 private:
  Mutex mutex_;
  std::exception_ptr error_ BELFRY_GUARDED_BY(mutex_);
};

}  // namespace

// What a part of this plan waits for and signals. Made once, used by each run.
class Plan::LinkedRun final : public PartRun {
 public:
  LinkedRun(Plan& plan, std::size_t part) : plan_(plan), part_(part), waits_(plan.waits_[part]) {
    alone_ = plan.streams_.size() == 1;
  }
  void begin(const Step& step, Profiler* profiler) {
    step_ = &step;
    profiler_ = profiler;
    next_ = 0;
  }
  bool await(int position) override {
    for (; next_ < waits_.size() && waits_[next_].position <= position; ++next_)
      if (!plan_.wait_for(waits_[next_])) return false;
    return true;
  }
  void done(int positions) override { plan_.done_[part_].store(positions, std::memory_order_release); }

 private:
  Plan& plan_;
  std::size_t part_;
  const std::vector<Wait>& waits_;
  std::size_t next_ = 0;
};

std::uint64_t generation_of(const RunTarget& target) {
  std::uint64_t sum = target.variables.generation() + target.crossings.generation();
  for (const Backend* backend : target.backends) sum += backend->generation();
  return sum;
}

Plan::Plan(std::vector<std::shared_ptr<const CompiledPart>> parts, std::size_t first, const Partition& partition,
           std::shared_ptr<RunSlots> slots, const RunTarget& target)
    : parts_(std::move(parts)),
      slots_(std::move(slots)),
      devices_(target.devices),
      backends_(target.backends),
      generation_(generation_of(target)),
      first_(first),
      in_parts_(partition.parts.size() > 1) {
  link(partition);
  for (std::size_t p = 0; p < parts_.size(); ++p) runs_.push_back(std::make_unique<LinkedRun>(*this, p));
  fetched_.resize(slots_->results.size());
  for (const auto& part : parts_)
    for (const auto& [index, info] : part->fetched) fetched_[at(index)] = info;
  collect_variables(target.variables);
  memory_ = memory_of(parts_, partition, target.variables);
}

Plan::~Plan() = default;

MemoryUse Plan::memory() const {
  MemoryUse out = memory_;
  out.kernels = 0;
  for (const auto& part : parts_) out.kernels += part->memory().kernels;
  return out;
}

void Plan::link(const Partition& partition) {
  done_ = std::make_unique<std::atomic<int>[]>(parts_.size());
  waits_.resize(parts_.size());
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const CompiledPart& part = *parts_[p];
    if (streams_.size() <= at(part.device)) streams_.resize(at(part.device) + 1);
    streams_[at(part.device)].push_back(static_cast<int>(p));
    const auto wait = [&](int position, int from, int done) {
      if (done > 0 && parts_[at(from)]->device != part.device) waits_[p].push_back({position, from, done});
    };
    const auto here = [&](int number) { return number - static_cast<int>(first_); };  // below 0: of an earlier stage
    for (const auto& [crossing, position] : part.needed_at)
      if (const int from = here(partition.crossings[at(crossing)].from);
          from >= 0 && parts_[at(from)]->done_at.contains(crossing))
        wait(position, from, parts_[at(from)]->done_at.at(crossing));
    for (const Part::Hazard& hazard : partition.parts[first_ + p].hazards) {
      const int reader = here(hazard.reader);
      if (reader < 0) continue;
      const auto write = part.first_write.find(hazard.variable);
      const auto& reads = parts_[at(reader)]->last_read;
      if (const auto read = reads.find(hazard.variable); write != part.first_write.end() && read != reads.end())
        wait(write->second, reader, read->second + 1);
    }
    std::ranges::sort(waits_[p], {}, &Wait::position);
  }
}

void Plan::collect_variables(Variables& values) {
  std::set<const Node*> read, written, assigned;  // assigned: as a whole, by an earlier part
  for (const auto& part : parts_) {
    for (const Node* variable : part->read)
      if (!assigned.contains(variable)) read.insert(variable);
    written.insert(part->written.begin(), part->written.end());
    assigned.insert(part->assigned.begin(), part->assigned.end());
  }
  variables_.assign(read.begin(), read.end());
  assigned_.assign(written.begin(), written.end());
  for (auto* list : {&variables_, &assigned_}) std::ranges::sort(*list, {}, &Node::id);
  for (const Node* variable : variables_) variables_ready_.push_back(&values.of(variable).initialized(variable));
  for (const Node* variable : assigned_) assigned_ready_.push_back(&values.of(variable).initialized(variable));
}

void Plan::run(const Step& step, const std::vector<const void*>& feeds, const std::vector<void*>& results,
               DeviceTeam& team, Profiler* profiler) {
  std::ranges::copy(feeds, slots_->feeds.begin());
  std::ranges::copy(results, slots_->results.begin());
  failed_ = false;
  if (streams_.size() > 1) return run_streams(step, team, profiler);
  std::exception_ptr error;
  team.run(1, [&](int) {
    try {
      run_stream(0, step, profiler);
    } catch (...) {
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
}

// An exception in one stream poisons the waits of all others and reaches the caller.
void Plan::run_streams(const Step& step, DeviceTeam& team, Profiler* profiler) {
  FirstError error;
  for (std::size_t p = 0; p < parts_.size(); ++p) done_[p].store(0, std::memory_order_relaxed);
  team.run(static_cast<int>(streams_.size()), [&](int device) {
    try {
      run_stream(device, step, profiler);
    } catch (...) {
      error.keep(std::current_exception());
      failed_ = true;
    }
  });
  error.rethrow();
}

// A part is launched when the one before it on its device is done, so that nothing uses what a failed one did not make.
void Plan::run_stream(int device, const Step& step, Profiler* profiler) {
  for (int part : streams_[at(device)]) {
    if (failed_.load(std::memory_order_relaxed)) return;
    LinkedRun& run = *runs_[at(part)];
    run.begin(step, profiler);
    parts_[at(part)]->launch(run);
    parts_[at(part)]->wait(run);
  }
}

bool Plan::wait_for(const Wait& wait) const {
  while (done_[at(wait.part)].load(std::memory_order_acquire) < wait.done) {
    if (failed_.load(std::memory_order_relaxed)) return false;
    ::sched_yield();
  }
  return true;
}

}  // namespace belfry
