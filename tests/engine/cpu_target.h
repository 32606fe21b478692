// For tests of programs and plans: a session's devices without the session.
#pragma once

#include <memory>
#include <vector>

#include "belfry/engine/cpu/compile/part_plan.h"
#include "belfry/engine/program.h"

namespace belfry {

// cpu:0, cpu:1, ... with a thread each.
inline std::vector<DeviceInfo> cpu_infos(int count) {
  std::vector<DeviceInfo> out;
  for (int i = 0; i < count; ++i) out.push_back({.threads = 1, .name = i});
  return out;
}

struct CpuTarget {
  explicit CpuTarget(int devices)
      : backend(backend_of("cpu").make(
            {.variables = variables.on("cpu"), .crossings = crossings, .devices = cpu_infos(devices)})),
        target{variables, crossings, cpu_infos(devices),
               std::vector<Backend*>(static_cast<std::size_t>(devices), backend.get())} {}

  Variables variables{"cpu"};
  CrossingMemory crossings;
  std::unique_ptr<Backend> backend;
  RunTarget target;
};

inline const PartPlan& on_cpu(const std::shared_ptr<const CompiledPart>& part) {
  return dynamic_cast<const PartPlan&>(*part);
}

}  // namespace belfry
