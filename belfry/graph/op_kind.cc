#include "belfry/graph/op_kind.h"

#include <map>

#include "belfry/base/mutex.h"

namespace belfry {

const OpKind::Record* OpKind::none() {
  static const Record& record = *new Record;
  return &record;
}

OpKind op_kind(std::string_view name) {
  struct Registry {
    Mutex mutex;
    std::map<std::string, OpKind::Record, std::less<>> records BELFRY_GUARDED_BY(mutex);  // one stays and never changes
  };
  if (name.empty()) return {};
  static Registry& r = *new Registry;  // not destroyed: kinds are constants, which are good until the program has ended
  const MutexLock lock(r.mutex);
  auto at = r.records.find(name);
  if (at == r.records.end()) {
    const auto number = static_cast<int>(r.records.size()) + 1;
    at = r.records.emplace(std::string(name), OpKind::Record{std::string(name), number}).first;
  }
  return OpKind(&at->second);
}

}  // namespace belfry
