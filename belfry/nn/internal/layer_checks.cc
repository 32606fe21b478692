#include "belfry/nn/internal/layer_checks.h"

#include "belfry/base/check.h"
#include "belfry/graph/location.h"
#include "belfry/graph/scope.h"
#include "belfry/tower/tower_context.h"

namespace belfry {

std::string layer_title(const char* kind) { return fmt::format("[{} '{}']", kind, current_name_scope()); }
std::string layer_line() { return fmt::format("(at {})", to_string(current_location({}))); }

int channel_axis(DataFormat format, int rank) { return format == DataFormat::nhwc ? rank - 1 : 1; }

std::int64_t known_size(const char* kind, const Tensor& x, int axis, const char* what) {
  const std::int64_t size = x.shape()[axis];
  BELFRY_CHECK(size != kAny,
               "{} expected a known number of {} in axis {}, got '{}' {} {}. Its variables' shapes depend on it.",
               layer_title(kind), what, axis, x.name(), to_string(x.shape()), layer_line());
  return size;
}

void check_rank(const char* kind, const Tensor& x, int rank, const char* what) {
  BELFRY_CHECK(x.rank() == rank, "{} expected {} (rank {}), got '{}' {} {}", layer_title(kind), what, rank, x.name(),
               to_string(x.shape()), layer_line());
}

void check_float(const char* kind, const Tensor& x, const char* what) {
  BELFRY_CHECK(is_float(x.dtype()), "{} expected {}, got {} {} '{}' {}. Use cast(x, f32) first.", layer_title(kind),
               what, name_of(x.dtype()), to_string(x.shape()), x.name(), layer_line());
}

bool layer_trains(const char* kind) {
  const TowerContext* tower = current_tower_context_or_null();
  BELFRY_CHECK(
      tower != nullptr,
      "{} expected a tower, which says whether it trains, got none {}. Enter TrainTowerContext tower(\"\"); or "
      "PredictTowerContext tower(\"\"); first.",
      layer_title(kind), layer_line());
  return tower->is_training();
}

}  // namespace belfry
