#include <cmath>

#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/nn/gradient_processor.h"
#include "belfry/nn/summary.h"
#include "belfry/ops/clip.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/sparse_rows.h"

namespace belfry {

GradientProcessor summary_gradient(std::string_view regex, const Location& where) {
  return [pattern = NamePattern("summary_gradient", regex, where), where](const GradientsAndVariables& all) {
    pattern.expect_match(all);
    const LocationScope location(where);
    const auto root = NameScope::at("");  // summaries are named after the variable, wherever the update is built
    for (const GradientAndVariable& item : all) {
      if (!item.gradient || !pattern.matches(item.variable)) continue;
      if (name_in_tower(item.variable) != item.variable.name()) continue;  // a copy: it has the original's gradient
      const DeviceScope device = DeviceScope::beside(item.gradient);
      const auto name = [&](const char* what) {
        return current_graph().unique_name(item.variable.name() + "/" + what);
      };
      const Tensor norm = global_norm({item.gradient}, name("gradient_norm"), where);
      const double elements = static_cast<double>(item.variable.shape().elements());
      const Tensor rms = multiply(norm, elements > 0 ? 1 / std::sqrt(elements) : 0, name("gradient_rms"));
      add_moving_summary({norm, rms}, where);
    }
    return all;
  };
}

}  // namespace belfry
