#include "belfry/engine/cpu/memory/variable_store.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/base/internal/aligned_memory.h"
#include "belfry/graph/node.h"

namespace belfry {
namespace {

TensorInfo in_layout(TensorInfo info, const Layout& layout) {
  info.layout = layout;
  return info;
}

}  // namespace

VariableStore::Storage& VariableStore::storage(const Node* variable) {
  const MutexLock lock(mutex_);
  const auto [at, added] = all_.try_emplace(variable);
  if (added) {
    at->second.info = {.dtype = variable->outputs[0].dtype, .shape = variable->outputs[0].shape};
    at->second.data = allocate_zeroed_buffer(at->second.info.bytes());  // padding is zero from the start
  }
  return at->second;
}

const VariableStore::Storage* VariableStore::find(const Node* variable) const {
  const MutexLock lock(mutex_);
  const auto at = all_.find(variable);
  return at == all_.end() ? nullptr : &at->second;
}

VariableStore::Bytes VariableStore::bytes_of(const Storage& storage) {
  Bytes out;
  if (storage.data != nullptr) out.value = storage.info.bytes();
  for (const Copy& copy : storage.copies) out.copies += in_layout(storage.info, copy.layout).bytes();
  return out;
}

bool VariableStore::is_initialized(const Node* variable) const {
  const Storage* s = find(variable);
  return s != nullptr && s->initialized;
}

VariableStore::Bytes VariableStore::bytes_of(const Node* variable) const {
  const Storage* s = find(variable);
  return s == nullptr ? Bytes{} : bytes_of(*s);
}

VariableStore::Bytes VariableStore::bytes() const {
  const MutexLock lock(mutex_);
  Bytes out;
  for (const auto& [variable, storage] : all_) {
    const Bytes bytes = bytes_of(storage);
    out.value += bytes.value;
    out.copies += bytes.copies;
  }
  return out;
}

void VariableStore::decide_layout(const Node* variable, const Layout& layout, bool trains) {
  Storage& s = storage(variable);
  using Decided = Storage::Decided;
  if (s.decided == Decided::firmly || (s.decided == Decided::softly && !trains)) return;
  if (in_use() && !(s.info.layout == layout)) throw VariablesAreInUse();
  s.decided = trains ? Decided::firmly : Decided::softly;
  if (s.info.layout == layout) return;
  const TensorInfo to = in_layout(s.info, layout);
  auto data = allocate_zeroed_buffer(to.bytes());
  if (s.initialized) reorder(s.info, s.data.get(), to, data.get());
  s.info = to;
  s.data = std::move(data);
  ++s.version;
  outdate_plans();
}

void VariableStore::make_copy(const Node* variable, const Layout& layout) {
  Storage& s = storage(variable);
  if (std::ranges::find(s.copies, layout, &Copy::layout) != s.copies.end()) return;
  const TensorInfo to = in_layout(s.info, layout);
  Copy& copy = s.copies.emplace_back(Copy{layout, allocate_zeroed_buffer(to.bytes())});
  if (s.initialized) reorder(s.info, s.data.get(), to, copy.data.get());
  outdate_plans();
}

void* VariableStore::data_in(const Node* variable, const Layout& layout) {
  Storage& s = storage(variable);
  if (s.info.layout == layout) return s.data.get();
  const auto copy = std::ranges::find(s.copies, layout, &Copy::layout);
  BELFRY_BUG_IF(copy == s.copies.end(), "variable '{}' is not kept in the layout {}", variable->name, layout.name());
  return copy->data.get();
}

Array VariableStore::get(const Node* variable) const {
  const Storage* s = find(variable);
  BELFRY_CHECK(s != nullptr && s->initialized,
               "[Variable '{}'] expected a value, got none. Call session.initialize() or load a checkpoint first.",
               variable->name);
  Array out(s->info.dtype, s->info.shape);
  const MutexLock lock(s->mutex);
  reorder(s->info, s->data.get(), {.dtype = s->info.dtype, .shape = s->info.shape}, out.raw());
  return out;
}

void VariableStore::set(const Node* variable, const Array& value) {
  Storage& s = storage(variable);
  BELFRY_CHECK(value.dtype() == s.info.dtype && value.shape() == s.info.shape,
               "[Variable '{}'] expected a value of {} {}, got {} {}. Use reshaped() or cast() on it.", variable->name,
               name_of(s.info.dtype), to_string(s.info.shape), name_of(value.dtype()), to_string(value.shape()));
  const TensorInfo plain{.dtype = s.info.dtype, .shape = s.info.shape};
  const MutexLock lock(s.mutex);
  ++s.version;
  reorder(plain, value.raw(), s.info, s.data.get());
  for (Copy& copy : s.copies) reorder(plain, value.raw(), in_layout(s.info, copy.layout), copy.data.get());
  if (!s.initialized) s.initialized = true;  // others may be reading it
}

void VariableStore::changed(const Node* variable) {
  Storage& s = storage(variable);
  const MutexLock lock(s.mutex);
  ++s.version;
}

void VariableStore::share() {
  const MutexLock lock(mutex_);
  shared_ = true;
  for (auto& [variable, storage] : all_) storage.copies.clear();
  outdate_plans();
}

}  // namespace belfry
