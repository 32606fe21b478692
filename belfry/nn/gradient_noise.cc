#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/graph/internal/foreign_handle.h"
#include "belfry/graph/node.h"
#include "belfry/graph/scope.h"
#include "belfry/nn/gradient_processor.h"
#include "belfry/nn/slot_variables.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/random.h"

namespace belfry {
namespace {

// The state for one graph.
struct NoiseState {
  Tensor made{};  // something in that graph
  SlotVariables slots{};
  std::map<const Node*, int> uses{};                            // how often a variable was used so far
  std::map<std::pair<std::string, int>, std::int64_t> seeds{};  // by name in the tower and number of the use

  // Copies of a variable in several towers get the same noise, because they have to stay equal; every other use gets
  // different noise.
  Tensor noise_for(const Variable& variable, DType dtype) {
    const auto key = std::make_pair(std::string(name_in_tower(variable)), uses[variable.node()]++);
    const auto known = seeds.find(key);
    const Tensor noise = known == seeds.end()
                             ? random_normal(variable.shape(), {.dtype = dtype})
                             : random_normal(variable.shape(), {.dtype = dtype, .seed = known->second});
    seeds.emplace(key, noise.node()->attributes.get<std::int64_t>("seed"));
    return noise;
  }
};

}  // namespace

GradientProcessor gradient_noise(const GradientNoiseOptions& options, const Location& where) {
  BELFRY_CHECK(options.stddev > 0 && std::isfinite(options.stddev),
               "[gradient_noise] expected stddev above 0, got {} (at {}). The paper uses 0.1, 0.55 and 1.",
               options.stddev, to_string(where));
  BELFRY_CHECK(options.decay >= 0 && std::isfinite(options.decay),
               "[gradient_noise] expected decay of 0 or more, got {} (at {}). 0 keeps the noise constant.",
               options.decay, to_string(where));
  return [options, where, state = std::make_shared<NoiseState>()](const GradientsAndVariables& all) {
    const LocationScope location(where);
    const NameScope scope("gradient_noise");
    if (all.empty()) return all;
    Tensor stddev = constant(Array(static_cast<float>(options.stddev)));
    if (state->made && !related_to(state->made, stddev.graph())) *state = {};
    state->made = stddev;
    if (options.decay > 0) {
      const Variable step = state->slots.get(all.front().variable, "GradientNoise/step", {}, DType::f32);
      stddev = stddev * pow(step.assign_add(1.f), -options.decay / 2);  // t + 1: the first is 1
    }
    GradientsAndVariables out = all;
    for (GradientAndVariable& item : out) {
      if (!item.gradient) continue;
      const DeviceScope device = DeviceScope::beside(item.gradient);
      const DType dtype = item.gradient.dtype();
      item.gradient = item.gradient + state->noise_for(item.variable, dtype) * cast(stddev, dtype);
    }
    return out;
  };
}

}  // namespace belfry
