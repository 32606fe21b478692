// Processors that act on each gradient, and the optimizer that applies a list of them.
#include "belfry/nn/gradient_processor.h"

#include <cmath>

#include "belfry/base/check.h"
#include "belfry/graph/scope.h"
#include "belfry/nn/proxy_optimizer.h"
#include "belfry/ops/check_numerics.h"
#include "belfry/ops/clip.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/sparse_rows.h"

namespace belfry {
namespace {

class ProcessedOptimizer final : public ProxyOptimizer {
 public:
  ProcessedOptimizer(std::unique_ptr<Optimizer> wrapped, std::vector<GradientProcessor> processors,
                     const Location& where)
      : ProxyOptimizer(std::move(wrapped), "apply_grad_processors", where), processors_(std::move(processors)) {}

  GradientsAndVariables process(const GradientsAndVariables& gradients, const Location& where) override {
    const LocationScope location(where);
    GradientsAndVariables processed = gradients;
    for (const GradientProcessor& processor : processors_) processed = processor(processed);
    return wrapped().process(processed, where);
  }

 private:
  std::vector<GradientProcessor> processors_;
};

// Applies a function that maps 0 to 0 to each element: for a sparse gradient, only to the rows that it has.
Tensor map_elements(const Tensor& gradient, const std::function<Tensor(const Tensor&)>& map) {
  std::optional<SparseRows> rows = as_sparse_rows(gradient);
  if (!rows) return map(gradient);
  rows->rows = map(rows->rows);
  return scatter_rows(*rows);
}

// Applies `map` to every gradient; an entry for which it returns none is removed.
GradientsAndVariables map_each(const GradientsAndVariables& all, const GradientMap& map) {
  GradientsAndVariables out;
  for (GradientAndVariable item : all) {
    if (item.gradient) {
      const DeviceScope device = DeviceScope::beside(item.gradient);
      item.gradient = map(item.gradient, item.variable);
      if (!item.gradient) continue;
    }
    out.push_back(item);
  }
  return out;
}

}  // namespace

std::unique_ptr<Optimizer> apply_grad_processors(std::unique_ptr<Optimizer> optimizer,
                                                 std::vector<GradientProcessor> processors, const Location& where) {
  for (const GradientProcessor& processor : processors)
    BELFRY_CHECK(static_cast<bool>(processor), "[apply_grad_processors] expected processors, got an empty one (at {})",
                 to_string(where));
  return std::make_unique<ProcessedOptimizer>(std::move(optimizer), std::move(processors), where);
}

GradientProcessor global_norm_clip(double norm, const Location& where) {
  BELFRY_CHECK(norm > 0 && std::isfinite(norm), "[global_norm_clip] expected a norm above 0, got {} (at {})", norm,
               to_string(where));
  return [norm, where](const GradientsAndVariables& all) {
    const LocationScope location(where);
    Tensors gradients;
    for (const GradientAndVariable& item : all) gradients.push_back(item.gradient);
    const ClippedTensors clipped = clip_by_global_norm(gradients, norm, "global_norm_clip");
    GradientsAndVariables out = all;
    for (std::size_t i = 0; i < out.size(); ++i) out[i].gradient = clipped.tensors[i];
    return out;
  };
}

GradientProcessor clip_gradient_by_value(double low, double high, const Location& where) {
  BELFRY_CHECK(low <= 0 && high >= 0 && low < high,
               "[clip_gradient_by_value] expected bounds with 0 between them, got {} and {} (at {}). A gradient of 0 "
               "has to stay 0.",
               low, high, to_string(where));
  return [low, high, where](const GradientsAndVariables& all) {
    const LocationScope location(where);
    const NameScope scope("clip_gradient_by_value");
    return map_each(all, [&](const Tensor& gradient, const Variable&) {
      return map_elements(gradient, [&](const Tensor& g) { return clip_by_value(g, low, high); });
    });
  };
}

GradientProcessor clip_gradient_by_value(double most, const Location& where) {
  return clip_gradient_by_value(-most, most, where);
}

GradientProcessor map_gradient(std::string_view regex, GradientMap map, const Location& where) {
  BELFRY_CHECK(static_cast<bool>(map), "[map_gradient] expected a function, got an empty one (at {})",
               to_string(where));
  return [pattern = NamePattern("map_gradient", regex, where), map = std::move(map),
          where](const GradientsAndVariables& all) {
    pattern.expect_match(all);
    const LocationScope location(where);
    const NameScope scope("map_gradient");
    return map_each(all, [&](const Tensor& gradient, const Variable& variable) {
      return pattern.matches(variable) ? map(gradient, variable) : gradient;
    });
  };
}

GradientProcessor scale_gradient(const std::vector<ScaleByRegex>& scales, const Location& where) {
  return [scales = ScalesByRegex("scale_gradient", scales, where), where](const GradientsAndVariables& all) {
    scales.expect_matches(all);
    const LocationScope location(where);
    const NameScope scope("scale_gradient");
    return map_each(all, [&](const Tensor& gradient, const Variable& variable) {
      const double scale = scales.of(variable);
      return scale == 1 ? gradient : scale == 0 ? Tensor() : gradient * scale;
    });
  };
}

GradientProcessor check_gradient(const Location& where) {
  return [where](const GradientsAndVariables& all) {
    const LocationScope location(where);
    const NameScope scope("check_gradient");
    return map_each(all, [](const Tensor& gradient, const Variable& variable) {
      return map_elements(gradient, [&](const Tensor& g) {
        return check_numerics(g, fmt::format("the gradient of '{}'", variable.name()));
      });
    });
  };
}

}  // namespace belfry
