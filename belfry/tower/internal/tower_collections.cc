#include "belfry/tower/internal/tower_collections.h"

#include <utility>

namespace belfry {
namespace {

bool only_from_main_tower(std::string_view name) {
  return name == collection::kSummaries || name == collection::kMovingSummaries;
}

// Items are only ever appended, so the new ones are those beyond the old count.
template <class T>
void add_new(Collections& to, std::string_view name, const std::vector<T>& after, std::size_t old) {
  for (std::size_t i = old; i < after.size(); ++i) to.add(name, after[i]);
}

}  // namespace

void keep_trace(Collections& now, const Collections& before, const TowerTrace& trace) {
  const Collections after = std::exchange(now, before);
  for (const std::string& name : after.names()) {
    if (trace.training && (trace.main || !only_from_main_tower(name))) {
      add_new(now, name, after.tensors(name), before.tensors(name).size());
      add_new(now, name, after.operations(name), before.operations(name).size());
    }
    const bool saved = name == collection::kGlobalVariables;
    const bool counted = name == collection::kModelVariables || name == collection::kTrainableVariables;
    if (trace.local_variables && counted) continue;
    add_new(now, trace.local_variables && saved ? collection::kLocalVariables : std::string_view(name),
            after.variables(name), before.variables(name).size());
  }
}

}  // namespace belfry
