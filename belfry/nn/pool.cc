// Pooling and dropout: layers without variables.
#include "belfry/base/check.h"
#include "belfry/nn/internal/layer_checks.h"
#include "belfry/nn/layers.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"

namespace belfry {

Layer max_pool(std::string_view name, const Pool2dOptions& options, const Location& where) {
  return Layer(name, [options](const Tensor& x) { return max_pool2d(x, options, "output"); }, where);
}
Layer max_pool(std::string_view name, Extent window, const Location& where) {
  return max_pool(name, Pool2dOptions{.window = window}, where);
}

Layer avg_pool(std::string_view name, const Pool2dOptions& options, const Location& where) {
  return Layer(name, [options](const Tensor& x) { return avg_pool2d(x, options, "output"); }, where);
}
Layer avg_pool(std::string_view name, Extent window, const Location& where) {
  return avg_pool(name, Pool2dOptions{.window = window}, where);
}

Layer global_avg_pool(std::string_view name, DataFormat data_format, const Location& where) {
  return Layer(
      name,
      [data_format](const Tensor& x) {
        check_rank("global_avg_pool", x, 4, "images");
        const int first = data_format == DataFormat::nhwc ? 1 : 2;
        return reduce_mean(x, {.axes = {first, first + 1}}, "output");
      },
      where);
}

Layer dropout(std::string_view name, double rate, const Location& where) {
  BELFRY_CHECK(rate >= 0 && rate < 1,
               "[dropout '{}'] expected a rate in [0, 1), the fraction that is dropped, got {} (at {})", name, rate,
               to_string(where));
  return Layer(
      name, [rate](const Tensor& x) { return layer_trains("dropout") ? dropout(x, rate, "output") : x; }, where);
}

}  // namespace belfry
