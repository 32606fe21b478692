#include "belfry/engine/testing/far_variables.h"

#include "belfry/base/check.h"
#include "belfry/graph/node.h"

namespace belfry {

FarVariables::Value& FarVariables::value(const Node* variable) {
  const auto [at, added] = all_.try_emplace(variable);
  if (added) at->second.data = FarArray(variable->outputs[0].dtype, variable->outputs[0].shape);
  return at->second;
}

Array FarVariables::get(const Node* variable) const {
  BELFRY_CHECK(is_initialized(variable),
               "[Variable '{}'] expected a value, got none. Call session.initialize() or load a checkpoint first.",
               variable->name);
  const MutexLock lock(mutex_);
  return all_.at(variable).data.get();
}

void FarVariables::set(const Node* variable, const Array& value_set) {
  const TensorSpec& spec = variable->outputs[0];
  BELFRY_CHECK(value_set.dtype() == spec.dtype && value_set.shape() == spec.shape,
               "[Variable '{}'] expected a value of {} {}, got {} {}. Use reshaped() or cast() on it.", variable->name,
               name_of(spec.dtype), to_string(spec.shape), name_of(value_set.dtype()), to_string(value_set.shape()));
  const MutexLock lock(mutex_);
  Value& v = value(variable);
  v.data.put(value_set.raw());
  if (!v.initialized) v.initialized = true;  // others may be reading it
}

bool& FarVariables::initialized(const Node* variable) {
  const MutexLock lock(mutex_);
  return value(variable).initialized;
}

bool FarVariables::is_initialized(const Node* variable) const {
  const MutexLock lock(mutex_);
  const auto at = all_.find(variable);
  return at != all_.end() && at->second.initialized;
}

VariableMemory::Bytes FarVariables::bytes_of(const Node* variable) const {
  const MutexLock lock(mutex_);
  const auto at = all_.find(variable);
  return {.value = at == all_.end() ? 0 : at->second.data.bytes()};
}

VariableMemory::Bytes FarVariables::bytes() const {
  const MutexLock lock(mutex_);
  Bytes out;
  for (const auto& [variable, value] : all_) out.value += value.data.bytes();
  return out;
}

}  // namespace belfry
