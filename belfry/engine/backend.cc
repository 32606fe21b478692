#include "belfry/engine/backend.h"

#include "belfry/base/check.h"
#include "belfry/base/mutex.h"

namespace belfry {
namespace {

struct Registry {
  Mutex mutex;
  std::map<std::string, BackendDef> kinds BELFRY_GUARDED_BY(mutex);  // an entry stays and never changes
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

BackendRegistration register_backend(BackendDef def) {
  add_device_kind(def.kind);
  const MutexLock lock(registry().mutex);
  const auto [at, added] = registry().kinds.emplace(def.kind, def);
  BELFRY_BUG_IF(!added, "kind of device '{}' has two backends", def.kind);
  return &at->second;
}

const BackendDef& backend_of(const std::string& kind) {
  const MutexLock lock(registry().mutex);
  if (const auto at = registry().kinds.find(kind); at != registry().kinds.end()) return at->second;
  std::string there;
  for (const auto& [name, def] : registry().kinds) there += fmt::format("{}{}", there.empty() ? "" : ", ", name);
  fail("[Session] expected a kind of device that this program has, got \"{}\". It has: {}.", kind,
       there.empty() ? "none" : there);
}

std::map<std::string, std::string> backend_versions() {
  const MutexLock lock(registry().mutex);
  std::map<std::string, std::string> out;
  for (const auto& [kind, def] : registry().kinds)
    if (def.versions) out.merge(def.versions());
  return out;
}

}  // namespace belfry
