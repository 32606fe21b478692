#include "belfry/graph/internal/live_graphs.h"

#include <atomic>
#include <set>

#include "belfry/base/mutex.h"

namespace belfry {
namespace {

struct LiveGraphs {
  Mutex mutex;
  GraphId last BELFRY_GUARDED_BY(mutex) = 0;
  std::set<GraphId> ids BELFRY_GUARDED_BY(mutex);
  std::atomic<std::uint64_t> ended = 0;  // how many are gone
};

// Never destroyed, so that static graphs can still end.
LiveGraphs& live_graphs() {
  static LiveGraphs& only = *new LiveGraphs;
  return only;
}

// The graph that this thread last found alive, and how many had ended by then.
struct Found {
  GraphId id = 0;
  std::uint64_t ended = 0;
};
thread_local Found found;

}  // namespace

GraphId add_live_graph() {
  LiveGraphs& all = live_graphs();
  const MutexLock lock(all.mutex);
  all.ids.insert(++all.last);
  return all.last;
}

void remove_live_graph(GraphId id) {
  LiveGraphs& all = live_graphs();
  const MutexLock lock(all.mutex);
  all.ids.erase(id);
  ++all.ended;
}

bool is_live_graph(GraphId id) {
  LiveGraphs& all = live_graphs();
  const std::uint64_t ended = all.ended.load();
  if (id == 0 || (found.id == id && found.ended == ended)) return true;
  const MutexLock lock(all.mutex);
  if (!all.ids.contains(id)) return false;
  found = {.id = id, .ended = ended};
  return true;
}

}  // namespace belfry
