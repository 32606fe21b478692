// Variables that several sessions use at the same time, each on a thread of its own (Session::companion()).
//
// A run computes with its session's own snapshots: at its start it pulls each variable that it reads, whole, under the
// variable's mutex. An update works on the shared variable itself, under the mutexes of all that it writes. So nobody
// reads or overwrites half of another's update, and nobody waits longer than for one variable to be copied or updated.
// What a run reads behind an update of its own is the result of that, as ever: the snapshot is brought up to date.
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
  VariableSnapshot* snapshot = nullptr;  // to bring up to date behind the update; or null
};
// An update of these, in the order of their numbers, so that two updates never wait for one another in a circle.
KernelPtr shared_update_kernel(KernelPtr update, std::vector<SharedVariable> variables);

}  // namespace belfry
