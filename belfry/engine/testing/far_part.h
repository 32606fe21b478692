// A part of a run on a device of the kind "test".
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "belfry/engine/backend.h"
#include "belfry/engine/evaluator.h"
#include "belfry/engine/testing/far_memory.h"
#include "belfry/engine/testing/far_variables.h"

namespace belfry {

// Values between parts of this kind's devices, by crossing; like the host's CrossingMemory, but in far memory.
using FarCrossings = std::map<CrossingMemory::Key, FarArray>;

// The thread of one device: runs what it is given, one after the other.
class FarThread;

class FarPart final : public CompiledPart {
 public:
  struct Place {
    FarVariables& variables;
    Device device;
    CrossingMemory& host_crossings;
    FarCrossings& far_crossings;
    QueueStore* queues = nullptr;
    FarThread& thread;
  };
  FarPart(PartRequest request, const Place& place);
  ~FarPart() override;

  void launch(PartRun& run) const override;
  void wait(PartRun& run) const override;
  void explain(Explanation& out) const override;
  PartMemory memory() const override { return {}; }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace belfry
