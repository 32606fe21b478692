#include "belfry/ops/gather.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/internal/axes.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/internal/known_ints.h"
#include "belfry/ops/sparse_rows.h"

namespace belfry {
namespace {

int axis_of(const Attributes& attributes) { return static_cast<int>(attributes.integer("axis")); }

// params[:axis] + indices + params[axis + 1:]
Shape gathered_shape(const ShapeContext& c, int params, int indices) {
  const int axis = axis_of(c.attributes());
  const Shape& from = c.input(params);
  BELFRY_CHECK(axis < from.rank(), "expected params of rank {} or more, got {}", axis + 1, to_string(from));
  check_label_type(c, indices, "indices");
  Shape out = from.slice(0, axis);
  for (std::int64_t size : c.input(indices).dims()) out.push_back(size);
  for (int i = axis + 1; i < from.rank(); ++i) out.push_back(from[i]);
  return out;
}

Tensor gather_along(const Tensor& params, const Tensor& indices, const Attributes& attributes);
Tensor gather_grad(const Tensor& params, const Tensor& indices, const Tensor& dy, const Attributes& attributes);

const OpRegistration gather_def =
    define_op("Gather")
        .input("params")
        .input("indices")
        .output("y")
        .shape([](const ShapeContext& c) { return gathered_shape(c, 0, 1); })
        .ints([](const ShapeContext& c) {
          KnownInts out;
          const auto size = static_cast<std::int64_t>(c.ints(0).size());
          if (c.input(0).rank() == 1 && size > 0)
            for (const KnownInt& i : c.ints(1))
              out.push_back(i && *i >= 0 && *i < size ? c.ints(0)[static_cast<std::size_t>(*i)] : std::nullopt);
          return out;
        })
        .gradient([](const GradientContext& c) {
          return Tensors{gather_grad(c.input(0), c.input(1), c.grad(), c.attributes()), Tensor()};
        })
        .doc("Slices of a tensor along an axis, picked by their numbers.");

const OpRegistration gather_grad_def =
    define_op("GatherGrad")
        .input("params")
        .input("indices")
        .input("dy")
        .output("dparams")
        .shape_only(0)
        .shape([](const ShapeContext& c) {
          check_shape(c, 2, "dy", gathered_shape(c, 0, 1));
          return c.input(0);
        })
        .gradient([](const GradientContext& c) {
          return Tensors{Tensor(), Tensor(), gather_along(c.grad(), c.input(1), c.attributes())};
        })
        .doc("The gradient of Gather: dy added up at the places it was gathered from.");

Tensor gather_along(const Tensor& params, const Tensor& indices, const Attributes& attributes) {
  return add_tensor(gather_def, {params, indices}, {.attributes = attributes});
}

Tensor gather_grad(const Tensor& params, const Tensor& indices, const Tensor& dy, const Attributes& attributes) {
  if (axis_of(attributes) == 0) return scatter_rows(sum_rows(indices, dy, params));
  return add_tensor(gather_grad_def, {params, indices, dy}, {.attributes = attributes});
}

}  // namespace

Tensor gather(const Operand& params, const Operand& indices, const GatherOptions& options, std::string_view name) {
  const std::int64_t axis = normalize_axis(params, options.axis, params.tensor().rank(), "gather");
  return add_tensor(gather_def, {params, indices}, {.name = name, .attributes = {{"axis", axis}}});
}

Tensor embedding_lookup(const Operand& table, const Operand& ids, std::string_view name) {
  return gather(table, ids, {}, name);
}

}  // namespace belfry
