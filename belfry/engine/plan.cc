#include "belfry/engine/plan.h"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <set>

#include "belfry/base/check.h"
#include "belfry/base/mutex.h"
#include "belfry/engine/cpu/memory/variable_store.h"
#include "belfry/engine/device_team.h"

namespace belfry {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Of several streams.
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

Plan::Plan(std::vector<std::shared_ptr<const PartPlan>> parts, std::size_t first, const Partition& partition,
           std::shared_ptr<RunSlots> slots, const CompileTarget& target)
    : parts_(std::move(parts)),
      slots_(std::move(slots)),
      generation_(generation_of(target)),
      precision_(target.precision),
      first_(first),
      in_parts_(partition.parts.size() > 1) {
  link(partition);
  fetched_.resize(slots_->results.size());
  for (const auto& part : parts_)
    for (const auto& [index, info] : part->fetched) fetched_[at(index)] = info;
  collect_variables(target.store);
  memory_ = memory_of(parts_, partition, target.store);
}

MemoryUse Plan::memory() const {
  MemoryUse out = memory_;
  out.kernels = 0;
  for (const auto& part : parts_) out.kernels += part->own_bytes();
  return out;
}

void Plan::link(const Partition& partition) {
  done_ = std::make_unique<std::atomic<int>[]>(parts_.size());
  waits_.resize(parts_.size());
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const PartPlan& part = *parts_[p];
    if (streams_.size() <= at(part.device)) streams_.resize(at(part.device) + 1);
    streams_[at(part.device)].push_back(static_cast<int>(p));
    const auto wait = [&](int instruction, int from, int done) {
      if (done > 0 && parts_[at(from)]->device != part.device) waits_[p].push_back({instruction, from, done});
    };
    const auto here = [&](int number) { return number - static_cast<int>(first_); };  // below 0: of an earlier stage
    for (const auto& [crossing, instruction] : part.needed_at)
      if (const int from = here(partition.crossings[at(crossing)].from);
          from >= 0 && parts_[at(from)]->done_at.contains(crossing))
        wait(instruction, from, parts_[at(from)]->done_at.at(crossing));
    for (const Part::Hazard& hazard : partition.parts[first_ + p].hazards) {
      const int reader = here(hazard.reader);
      if (reader < 0) continue;
      const auto write = part.first_write.find(hazard.variable);
      const auto& reads = parts_[at(reader)]->last_read;
      if (const auto read = reads.find(hazard.variable); write != part.first_write.end() && read != reads.end())
        wait(write->second, reader, read->second + 1);
    }
    std::ranges::sort(waits_[p], {}, &Wait::instruction);
  }
}

void Plan::collect_variables(VariableStore& store) {
  std::set<const Node*> read, written, assigned;  // assigned: wholly, by a part before
  for (const auto& part : parts_) {
    for (const Node* variable : part->read)
      if (!assigned.contains(variable)) read.insert(variable);
    written.insert(part->written.begin(), part->written.end());
    assigned.insert(part->assigned.begin(), part->assigned.end());
  }
  variables_.assign(read.begin(), read.end());
  assigned_.assign(written.begin(), written.end());
  for (auto* list : {&variables_, &assigned_}) std::ranges::sort(*list, {}, &Node::id);
  for (const Node* variable : variables_) variables_ready_.push_back(&store.storage(variable).initialized);
  for (const Node* variable : assigned_) assigned_ready_.push_back(&store.storage(variable).initialized);
}

void Plan::run(const Step& step, const std::vector<const void*>& feeds, const std::vector<void*>& results,
               DeviceTeam& team, Profiler* profiler) {
  std::ranges::copy(feeds, slots_->feeds.begin());
  std::ranges::copy(results, slots_->results.begin());
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
  failed_ = false;
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

void Plan::run_stream(int device, const Step& step, Profiler* profiler) {
  for (int part : streams_[at(device)])
    if (!run_part(part, step, profiler)) return;
}

bool Plan::wait_for(const Wait& wait) const {
  while (done_[at(wait.part)].load(std::memory_order_acquire) < wait.done) {
    if (failed_.load(std::memory_order_relaxed)) return false;
    ::sched_yield();
  }
  return true;
}

bool Plan::run_part(int number, const Step& step, Profiler* profiler) {
  const PartPlan& part = *parts_[at(number)];
  const Wait* wait = waits_[at(number)].data();
  const Wait* const last_wait = wait + waits_[at(number)].size();
  const bool alone = streams_.size() == 1;
  for (int i = 0; i < static_cast<int>(part.instructions.size()); ++i) {
    const Instruction& instruction = part.instructions[at(i)];
    for (; wait != last_wait && wait->instruction == i; ++wait)
      if (!wait_for(*wait)) return false;
    if (profiler == nullptr) {
      instruction.kernel->run(step);
    } else {
      const std::int64_t begin = Profiler::now();
      instruction.kernel->run(step);
      const IrNode& node = part.ir.node(instruction.node);
      profiler->record(
          {node.origin->name, node.op.name(), part.device, instruction.kernel->is_dnnl(), begin, Profiler::now()});
    }
    if (!alone) done_[at(number)].store(i + 1, std::memory_order_release);
  }
  return true;
}

}  // namespace belfry
