#include "belfry/engine/variables.h"

#include "belfry/base/check.h"
#include "belfry/engine/backend.h"

namespace belfry {

VariableMemory& Variables::on(const std::string& kind) {
  std::unique_ptr<VariableMemory>& memory = kinds_[kind];
  if (memory == nullptr) {
    memory = backend_of(kind).make_variables();
    if (shared_) memory->share();
  }
  return *memory;
}

const VariableMemory* Variables::find(const Node* variable) const {
  const auto at = kinds_.find(kind_of(variable));
  return at == kinds_.end() ? nullptr : at->second.get();
}

Array Variables::get(const Node* variable) const {
  const VariableMemory* memory = find(variable);
  BELFRY_CHECK(memory != nullptr && memory->is_initialized(variable),
               "[Variable '{}'] expected a value, got none. Call session.initialize() or load a checkpoint first.",
               variable->name);
  return memory->get(variable);
}

bool Variables::is_initialized(const Node* variable) const {
  const VariableMemory* memory = find(variable);
  return memory != nullptr && memory->is_initialized(variable);
}

VariableMemory::Bytes Variables::bytes_of(const Node* variable) const {
  const VariableMemory* memory = find(variable);
  return memory == nullptr ? VariableMemory::Bytes{} : memory->bytes_of(variable);
}

VariableMemory::Bytes Variables::bytes() const {
  VariableMemory::Bytes out;
  for (const auto& [kind, memory] : kinds_) {
    const VariableMemory::Bytes bytes = memory->bytes();
    out.value += bytes.value;
    out.copies += bytes.copies;
  }
  return out;
}

void Variables::share() {
  shared_ = true;
  for (const auto& [kind, memory] : kinds_) memory->share();
}

void Variables::outdate_plans() {
  for (const auto& [kind, memory] : kinds_) memory->outdate_plans();
}

std::uint64_t Variables::generation() const {
  std::uint64_t sum = 0;
  for (const auto& [kind, memory] : kinds_) sum += memory->generation();
  return sum;
}

void Variables::set_in_use(bool in_use) {
  for (const auto& [kind, memory] : kinds_) memory->set_in_use(in_use);
}

}  // namespace belfry
