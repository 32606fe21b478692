#include "belfry/callbacks/internal/broken_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "belfry/base/log.h"
#include "belfry/graph/collections.h"
#include "belfry/graph/graph.h"

namespace belfry {
namespace {

constexpr std::size_t kNamed = 5;  // in the log; a broken model is often broken everywhere

struct Found {
  bool nan = false, infinity = false;
};

Found look_at(const Array& values) {
  Found out;
  const auto look = [&](double x) {
    out.nan |= std::isnan(x);
    out.infinity |= std::isinf(x);
  };
  if (values.dtype() == f32)
    for (const float x : values.values<float>()) look(x);
  else
    for (std::int64_t i = 0; i < values.elements(); ++i) look(values.item(i));
  return out;
}

// A trainable variable, or a slot of one: "<variable>/<optimizer>/<slot>".
bool is_trained(const Variable& variable, const std::vector<Variable>& trainable) {
  return std::ranges::any_of(
      trainable, [&](const Variable& t) { return variable == t || variable.name().starts_with(t.name() + "/"); });
}

}  // namespace

bool model_is_broken(Session& session, const std::string& saver) {
  const SessionAlone alone(session);
  const Collections& collections = session.graph().collections();
  const std::vector<Variable> trainable = collections.variables(collection::kTrainableVariables);
  std::vector<std::string> broken;
  for (const Variable& variable : collections.variables(collection::kGlobalVariables)) {
    if (!is_float(variable.dtype()) || !session.is_initialized(variable)) continue;
    const Found found = look_at(session.value(variable));
    if (found.nan || (found.infinity && is_trained(variable, trainable)))
      broken.push_back(fmt::format("'{}' ({})", variable.name(), found.nan ? "NaN" : "infinity"));
  }
  if (broken.empty()) return false;
  const std::size_t named = std::min(broken.size(), kNamed);
  log_error(fmt::format("[{}] nothing is saved, and existing checkpoints stay: {}{} not finite.", saver,
                        fmt::join(broken.begin(), broken.begin() + static_cast<std::ptrdiff_t>(named), ", "),
                        named < broken.size() ? fmt::format(" and {} more variables are", broken.size() - named)
                        : broken.size() == 1  ? " is"
                                              : " are"));
  return true;
}

}  // namespace belfry
