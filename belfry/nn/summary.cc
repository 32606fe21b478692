#include "belfry/nn/summary.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/tower/tower_context.h"

namespace belfry {
namespace {

bool wanted() {
  const TowerContext* tower = current_tower_context_or_null();
  return tower == nullptr || tower->is_main_training_tower();
}

void add(std::string_view collection, const std::vector<Tensor>& tensors, const char* caller, const Location& where) {
  for (const Tensor& t : tensors)
    BELFRY_CHECK(static_cast<bool>(t), "[{}] expected tensors, got an empty handle (at {})", caller, to_string(where));
  if (!wanted()) return;
  for (const Tensor& t : tensors) current_graph().collections().add(collection, t);
}

}  // namespace

void add_moving_summary(const std::vector<Tensor>& scalars, const Location& where) {
  for (const Tensor& t : scalars)
    BELFRY_CHECK(
        !t || (t.rank() == 0 && is_float(t.dtype())),
        "[add_moving_summary] expected scalar floats, got '{}' {} {} (at {}). Reduce it first, with reduce_mean() say.",
        t.name(), name_of(t.dtype()), to_string(t.shape()), to_string(where));
  add(collection::kMovingSummaries, scalars, "add_moving_summary", where);
}

void add_summary(const std::vector<Tensor>& tensors, const Location& where) {
  add(collection::kSummaries, tensors, "add_summary", where);
}

}  // namespace belfry
