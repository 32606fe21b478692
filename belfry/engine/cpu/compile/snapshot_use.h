// How one part of a plan uses variables that several sessions share (see shared_variables.h): it reads snapshots, and
// updates the shared ones under locks. Internal to engine.
#pragma once

#include <map>
#include <vector>

#include "belfry/engine/cpu/compile/part_plan.h"
#include "belfry/engine/cpu/memory/shared_variables.h"

namespace belfry {

class SnapshotUse {
 public:
  // The part in the order in which it runs. All three outlive this.
  SnapshotUse(const Ir& ir, const std::vector<NodeId>& order, const CompileTarget& target);

  bool reads(const Node* variable) const { return last_reader_.contains(variable); }
  // Whether the node reads a variable there, rather than updating it; and which.
  bool is_read(const IrNode& node, int input) const;
  const Node* variable(const IrNode& node, int input) const;

  void* snapshot(const Node* variable) { return record(variable).data.get(); }
  KernelPtr pull(const Node* variable);
  // The node's kernel; an update is locked, and visible to later readers of the variables in the run.
  KernelPtr guarded(KernelPtr kernel, NodeId id);

 private:
  VariableSnapshot& record(const Node* variable);

  const Ir& ir_;
  const CompileTarget& target_;
  std::vector<int> place_;                  // by node: in the order
  std::map<const Node*, int> last_reader_;  // by variable: its place
  std::map<const Node*, VariableSnapshot*> snapshots_;
};

}  // namespace belfry
