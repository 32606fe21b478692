#include "belfry/graph/op_kind.h"

#include <map>

#include "belfry/base/mutex.h"
#include "belfry/graph/op_def.h"

namespace belfry {

const OpKind::Record* OpKind::none() {
  static const Record& record = *new Record;
  return &record;
}

const OpDef& OpKind::undeclared() {
  static const OpDef& def = *new OpDef;
  return def;
}

bool OpKind::declare(const OpDef* def) const {
  const OpDef* none = nullptr;
  return record_->def.compare_exchange_strong(none, def, std::memory_order_acq_rel);
}

OpKind op_kind(std::string_view name) {
  struct Registry {
    Mutex mutex;
    std::map<std::string, OpKind::Record, std::less<>> records BELFRY_GUARDED_BY(mutex);  // they stay and never change
  };
  if (name.empty()) return {};
  static Registry& r = *new Registry;  // not destroyed: kinds are constants, valid until the program has ended
  const MutexLock lock(r.mutex);
  auto at = r.records.find(name);
  if (at == r.records.end()) {
    const auto number = static_cast<int>(r.records.size()) + 1;
    at = r.records.try_emplace(std::string(name)).first;
    at->second.name = name;
    at->second.number = number;
  }
  return OpKind(&at->second);
}

}  // namespace belfry
