#include "belfry/ops/reduce.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/broadcast.h"
#include "belfry/ops/internal/axes.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/internal/known_ints.h"
#include "belfry/ops/logic.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

// What a reduction's gradient works with: everything broadcasts against x.
struct Reduced {
  Tensor x, y, dy;  // y and dy with the reduced axes kept
  Ints axes;
  ReduceOptions kept() const { return {.axes = axes, .keep_dims = true}; }
};
using ReduceGradient = Tensor (*)(const Reduced& r);

// No axes in the attribute means none, unlike in ReduceOptions: only a scalar has none.
Tensor sum_kept(const Tensor& x, const Reduced& r) { return r.axes.empty() ? x : reduce_sum(x, r.kept()); }

Shapes reduce_rule(const ShapeContext& c, Elements allowed) {
  const Ints& axes = c.attributes().get<Ints>("axes");
  check_elements(c, 0, allowed);
  Shape out;
  for (int i = 0; i < c.input(0).rank(); ++i) {
    if (!std::ranges::binary_search(axes, i))
      out.push_back(c.input(0)[i]);
    else if (c.attributes().flag("keep_dims"))
      out.push_back(1);
  }
  return out;
}

// What becomes of integers that shapes are made of.
struct FoldedInts {
  IntFunction function = nullptr;
  std::int64_t start = 0;
};

OpRegistration define_reduction(const char* name, const char* doc, ReduceGradient gradient,
                                Elements allowed = Elements::numbers, FoldedInts folded = {}) {
  OpDefinition op = define_op(name);
  if (folded.function != nullptr)
    op.ints([folded](const ShapeContext& c) { return folded_ints(c, folded.function, folded.start); });
  return op.input("x")
      .output("y")
      .shape([allowed](const ShapeContext& c) { return reduce_rule(c, allowed); })
      .gradient([gradient](const GradientContext& c) {
        const Ints& axes = c.attributes().get<Ints>("axes");
        const bool kept = c.attributes().flag("keep_dims") || axes.empty();
        const Tensor y = kept ? c.output() : expand_dims(c.output(), axes),
                     dy = kept ? c.grad() : expand_dims(c.grad(), axes);
        return Tensors{gradient({c.input(0), y, dy, axes})};
      })
      .doc(doc);
}

const OpRegistration count_def = define_op("ReducedCount")
                                     .input("x")
                                     .output("count")
                                     .shape_only(0)
                                     .shape([](const ShapeContext&) { return Shape{}; })
                                     .not_differentiable()
                                     .doc("How many elements of x a reduction over some axes combines into one.");

// As a number if the shape is known, else found when a step is fed.
Operand count_of(const Tensor& x, const Ints& axes) {
  double count = 1;
  for (std::int64_t axis : axes) {
    const std::int64_t size = x.shape()[static_cast<int>(axis)];
    if (size == kAny) return add_tensor(count_def, {x}, {.attributes = {{"axes", axes}}});
    count *= static_cast<double>(size);
  }
  return count;
}

// dx = dy
const OpRegistration sum_def =
    define_reduction("ReduceSum", "The sum over some axes.", [](const Reduced& r) { return broadcast_like(r.dy, r.x); },
                     Elements::numbers, {int_sum, 0});
// dx = dy / n
const OpRegistration mean_def = define_reduction(
    "ReduceMean", "The mean over some axes.",
    [](const Reduced& r) { return broadcast_like(r.dy / count_of(r.x, r.axes), r.x); }, Elements::floats);

// All elements that have the extreme value share its gradient equally.
Tensor share_among_ties(const Reduced& r) {
  const Tensor chosen = cast(equal(r.x, r.y), r.x.dtype());
  return chosen * (r.dy / sum_kept(chosen, r));
}
const OpRegistration max_def =
    define_reduction("ReduceMax", "The largest element over some axes.", share_among_ties, Elements::numbers,
                     {int_maximum, std::numeric_limits<std::int64_t>::min()});
const OpRegistration min_def =
    define_reduction("ReduceMin", "The smallest element over some axes.", share_among_ties, Elements::numbers,
                     {int_minimum, std::numeric_limits<std::int64_t>::max()});

// dx_i = dy * (product of the others). With p the product of what is not zero and z the sum of what is (so 0, but with
// the derivative that a single zero factor has), the product of the others is
//   for x_i != 0:  p / x_i without zeros,  p / x_i * z with one,    0 with more
//   for x_i == 0:  p as the only zero,     p * (z - x_i) with two,  0 with more
// which has the right value and the right derivative, zeros or not.
Tensor product_of_others(const Reduced& r) {
  const Tensor zero = equal(r.x, 0.f), nothing = zeros_like(r.x), one = ones_like(r.x);
  const Tensor zeros = sum_kept(cast(zero, r.x.dtype()), r);
  const Tensor rest = select(zero, one, r.x), z = sum_kept(select(zero, r.x, nothing), r);
  const Tensor p = r.axes.empty() ? rest : reduce_prod(rest, r.kept());
  const Tensor none = equal(zeros, 0.f), single = equal(zeros, 1.f), two = equal(zeros, 2.f);
  const Tensor for_nonzero = select(none, one, select(single, z, nothing)) / rest;
  const Tensor for_zero = select(single, one, select(two, z - r.x, nothing));
  return r.dy * p * select(zero, for_zero, for_nonzero);
}
const OpRegistration prod_def = define_reduction("ReduceProd", "The product over some axes.", product_of_others,
                                                 Elements::numbers, {int_product, 1});

// dx = dy x / y. The norm has a corner at 0; the gradient there is 0.
const OpRegistration l2_norm_def = define_reduction(
    "L2Norm", "The square root of the sum of squares over some axes.",
    [](const Reduced& r) { return r.x * select(equal(r.y, 0.f), 0.f, r.dy / r.y); }, Elements::floats);

OpRegistration define_truth(const char* name, const char* doc) {
  return define_op(name)
      .input("x")
      .output("y")
      .shape([](const ShapeContext& c) {
        BELFRY_CHECK(c.dtype(0) == boolean, "expected elements of bool, got {}. Use a comparison or cast()",
                     name_of(c.dtype(0)));
        return reduce_rule(c, Elements::any);
      })
      .not_differentiable()
      .doc(doc);
}
const OpRegistration any_def = define_truth("ReduceAny", "Whether some elements over some axes are true.");
const OpRegistration all_def = define_truth("ReduceAll", "Whether all elements over some axes are true.");

Tensor reduce(OpRegistration def, const char* op, const Operand& x, const ReduceOptions& options,
              std::string_view name) {
  Ints axes = normalize_axes(x, options.axes, x.tensor().rank(), op);
  if (axes.empty()) {
    axes.resize(static_cast<std::size_t>(x.tensor().rank()));
    std::iota(axes.begin(), axes.end(), 0);
  }
  return add_tensor(def, {x}, {.name = name, .attributes = {{"axes", axes}, {"keep_dims", options.keep_dims}}});
}

}  // namespace

Tensor reduce_sum(const Operand& x, const ReduceOptions& options, std::string_view name) {
  return reduce(sum_def, "reduce_sum", x, options, name);
}
Tensor reduce_mean(const Operand& x, const ReduceOptions& options, std::string_view name) {
  return reduce(mean_def, "reduce_mean", x, options, name);
}
Tensor reduce_max(const Operand& x, const ReduceOptions& options, std::string_view name) {
  return reduce(max_def, "reduce_max", x, options, name);
}
Tensor reduce_min(const Operand& x, const ReduceOptions& options, std::string_view name) {
  return reduce(min_def, "reduce_min", x, options, name);
}
Tensor reduce_prod(const Operand& x, const ReduceOptions& options, std::string_view name) {
  return reduce(prod_def, "reduce_prod", x, options, name);
}

Tensor reduce_any(const Operand& x, const ReduceOptions& options, std::string_view name) {
  return reduce(any_def, "reduce_any", x, options, name);
}
Tensor reduce_all(const Operand& x, const ReduceOptions& options, std::string_view name) {
  return reduce(all_def, "reduce_all", x, options, name);
}
Tensor l2_norm(const Operand& x, const ReduceOptions& options, std::string_view name) {
  return reduce(l2_norm_def, "l2_norm", x, options, name);
}

// Shifted by the largest element, so that exp() stays in range; an infinite one would make it NaN.
Tensor reduce_logsumexp(const Operand& x, const ReduceOptions& options, std::string_view name) {
  const LocationScope location(x.where());
  const Tensor t = x.tensor();
  const Tensor largest = stop_gradient(reduce(max_def, "reduce_logsumexp", x, {options.axes, true}, ""));
  const Tensor shift = select(is_finite(largest), largest, 0.f);
  const Tensor sum = log(reduce_sum(exp(t - shift), options));
  return add(sum, options.keep_dims ? shift : reshape_like(shift, sum), name);
}

Tensor l2_normalize(const Operand& x, const L2NormalizeOptions& options, std::string_view name) {
  const LocationScope location(x.where());
  const Tensor t = x.tensor(), squares = reduce(sum_def, "l2_normalize", square(t), {options.axes, true}, "");
  return multiply(t, rsqrt(maximum(squares, options.epsilon)), name);
}

Tensor reduce_sum(const Operand& x, std::string_view name) { return reduce_sum(x, {}, name); }
Tensor reduce_mean(const Operand& x, std::string_view name) { return reduce_mean(x, {}, name); }
Tensor reduce_max(const Operand& x, std::string_view name) { return reduce_max(x, {}, name); }
Tensor reduce_min(const Operand& x, std::string_view name) { return reduce_min(x, {}, name); }
Tensor reduce_prod(const Operand& x, std::string_view name) { return reduce_prod(x, {}, name); }

}  // namespace belfry
