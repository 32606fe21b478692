#include "belfry/ops/clip.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/sparse_rows.h"

namespace belfry {
namespace {

const OpRegistration sum_squares_def =
    define_op("SumSquares")
        .input("x")
        .output("sum")
        .shape([](const ShapeContext& c) {
          check_elements(c, 0, Elements::floats);
          return Shape{};
        })
        // dx = 2 x dy
        .gradient([](const GradientContext& c) { return Tensors{c.input(0) * (c.grad() * 2.f)}; })
        .doc("The sum of all squares.");

// Work on all elements is done on the device that makes each tensor; only single numbers are transferred.
Tensor squares_of(const Tensor& t) {
  const DeviceScope device = DeviceScope::beside(t);
  const auto sparse = as_sparse_rows(t);
  return sum_squares(sparse ? sparse->rows : t);
}
Tensor scaled(const Tensor& t, const Tensor& scale) {
  const DeviceScope device = DeviceScope::beside(t);
  return t * scale;
}

}  // namespace

Tensor sum_squares(const Operand& x, std::string_view name) { return add_tensor(sum_squares_def, {x}, {.name = name}); }

Tensor global_norm(const Tensors& tensors, std::string_view name, const Location& where) {
  const LocationScope location(where);
  Tensor total;
  for (const Tensor& t : tensors) {
    if (!t) continue;
    const Tensor sum = squares_of(t);
    total = total ? total + sum : sum;
  }
  BELFRY_CHECK(static_cast<bool>(total), "[global_norm] expected at least one tensor, got none among {} (at {})",
               tensors.size(), to_string(current_location(where)));
  return sqrt(total, name);
}

ClippedTensors clip_by_global_norm(const Tensors& tensors, const Operand& clip_norm, std::string_view name) {
  const LocationScope location(clip_norm.where());
  BELFRY_CHECK(!clip_norm.is_number() || clip_norm.number() > 0,
               "[clip_by_global_norm] expected a norm above 0, got {} (at {})", clip_norm.number(),
               to_string(current_location(clip_norm.where())));
  const NameScope scope(name.empty() ? "clip_by_global_norm" : name);
  ClippedTensors out{.norm = global_norm(tensors, "norm", clip_norm.where())};
  const Tensor most = clip_norm.tensor(out.norm.dtype()), scale = divide(most, maximum(out.norm, most), "scale");
  for (const Tensor& t : tensors) out.tensors.push_back(t ? scaled(t, scale) : Tensor());
  return out;
}

}  // namespace belfry
