// Variables that several sessions use at the same time, each on its own thread (Session::companion()).
//
// A run computes with its session's own snapshots: at its start it copies each variable that it reads, under the
// variable's mutex. An update works on the shared variable itself, under the mutexes of all that it writes. So no run
// reads or overwrites half of another's update, or waits longer than for one variable to be copied or updated.
// After its own update a run reads the result, as usual: the snapshot is brought up to date.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/engine/cpu/memory/variable_store.h"

namespace belfry {

// A variable's value as of the last pull or update of a session's run.
struct VariableSnapshot {
  std::shared_ptr<void> data;
  std::size_t bytes = 0;
  std::uint64_t version = 0;  // of the variable's data; 0: none yet
};

// Of one session.
class VariableSnapshots {
 public:
  // Of the variable as it lies in the store now; the address of the snapshot does not change.
  VariableSnapshot& of(const Node* variable, const VariableStore::Storage& storage);
  std::size_t bytes() const;

 private:
  std::map<const Node*, VariableSnapshot> all_;
};

// Brings the snapshot up to date.
KernelPtr pull_kernel(const VariableStore::Storage& variable, VariableSnapshot& snapshot);

struct SharedVariable {
  VariableStore::Storage* storage = nullptr;
  VariableSnapshot* snapshot = nullptr;  // to bring up to date after the update; or null
};
// An update of these, locked in the order of their numbers, so that two updates never deadlock.
KernelPtr shared_update_kernel(KernelPtr update, std::vector<SharedVariable> variables);

}  // namespace belfry
