// Gradient processors: what happens to gradients between the cost and the update.
//
//   auto optimizer = apply_grad_processors(adam(), {check_gradient(), global_norm_clip(5), summary_gradient()});
//   Operation train = optimizer->minimize(cost);
//
// A processor is any function from gradients to gradients; those here do not touch entries without a gradient. An entry
// that a processor omits is not updated. Names are matched as a whole, without the tower's prefix, and an expression
// that matches no variable is an error that names the variables. If towers have copies of the variables, the processors
// run once, on the averages and the first tower's variables; inside accumulate_gradients() they run on each tower's
// sums, which are equal. Outside of any DeviceScope those here process each gradient on the device where it is made, so
// that averages that are spread over the devices are processed there.
//
// The sparse gradient of a table (see sparse_rows.h) stays sparse through global_norm_clip, clip_gradient_by_value,
// scale_gradient, check_gradient and summary_gradient: only rows that were looked up are read or written.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/nn/name_pattern.h"
#include "belfry/nn/optimizer.h"

#pragma GCC visibility push(default)
namespace belfry {

using GradientProcessor = std::function<GradientsAndVariables(const GradientsAndVariables&)>;

// The same optimizer, with the processors applied in this order before each update.
std::unique_ptr<Optimizer> apply_grad_processors(std::unique_ptr<Optimizer> optimizer,
                                                 std::vector<GradientProcessor> processors,
                                                 const Location& where = Location::current());

// All gradients times norm / max(their global norm, norm): see clip_by_global_norm().
GradientProcessor global_norm_clip(double norm, const Location& where = Location::current());

// Clips each element to [low, high], which must contain 0; or to [-most, most].
GradientProcessor clip_gradient_by_value(double low, double high, const Location& where = Location::current());
GradientProcessor clip_gradient_by_value(double most, const Location& where = Location::current());

// `map` makes the gradient of each variable whose name matches; an empty tensor omits the variable. It gets a sparse
// gradient in sparse form: reading it as a tensor makes it dense, as_sparse_rows() gives the rows.
using GradientMap = std::function<Tensor(const Tensor& gradient, const Variable& variable)>;
GradientProcessor map_gradient(std::string_view regex, GradientMap map, const Location& where = Location::current());
// The same with a function of the gradient alone.
template <std::invocable<const Tensor&> Map>
  requires(!std::invocable<Map&, const Tensor&, const Variable&>)
GradientProcessor map_gradient(std::string_view regex, Map map, const Location& where = Location::current()) {
  const auto of_both = [map = std::move(map)](const Tensor& gradient, const Variable&) mutable {
    return map(gradient);
  };
  return map_gradient(regex, GradientMap(of_both), where);
}

// Gradients times the factor of the first expression that matches: scale_gradient({{"conv0/.*", 0.1}}). 0 omits the
// variable, including its weight decay. Adam's steps hardly depend on the size of gradients: use
// learning_rate_by_regex() for those.
GradientProcessor scale_gradient(const std::vector<ScaleByRegex>& scales, const Location& where = Location::current());

// A run in which a gradient holds NaN or infinity ends with a NumericError that names the variable. That variable has
// not been updated then; other variables may have been.
GradientProcessor check_gradient(const Location& where = Location::current());

// Adds "<variable>/gradient_norm" and "<variable>/gradient_rms" of the gradients as they are at this place in the list
// to the moving summaries (see summary.h).
GradientProcessor summary_gradient(std::string_view regex = ".*", const Location& where = Location::current());

struct GradientNoiseOptions {
  double stddev = 0;  // of the first update's noise
  // The variance of the noise of update t (0 at first) is stddev^2 / (1 + t)^decay. Neelakantan et al. (2015) use 0.01,
  // 0.3 or 1 for stddev^2, with decay 0.55.
  double decay = 0;
};
// Adds normal noise, different for each variable and update; t is kept in "GradientNoise/step". A sparse gradient
// becomes dense, because every row gets noise.
GradientProcessor gradient_noise(const GradientNoiseOptions& options, const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
