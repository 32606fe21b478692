#include "belfry/engine/cpu/fuse/fusion.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/sparse_optimizer.h"
#include "tests/engine/ir_testing.h"

namespace belfry {
namespace {

class FuseGradientScaleTest : public IrTest {
 protected:
  Ir fused(const Request& request) const {
    Ir ir = simplified(request);
    fuse(ir);
    topological(ir);
    return ir;
  }
  bool scaled_in(const Request& request) const {
    const Ir ir = fused(request);
    return ir.node(the(ir, "ApplySgd")).attributes.flag(kScaled);
  }
  const Tensor number = reduce_sum(var("n", {3}));
};

TEST_F(FuseGradientScaleTest, TheUpdateMultipliesOnEitherSideAndWhoeverElseReadsTheProduct) {
  const Variable w = var("w", {4, 8}), slot = var("slot", {4, 8}), m = var("m", {4, 8});
  const Tensor g = var("g", {4, 8}), s = number, left = s * g, right = g * s;
  for (const Tensor& scaled : {left, right})
    for (const Tensor& update : {apply_sgd(w, 0.1f, scaled), apply_momentum(w, slot, 0.1f, scaled),
                                 apply_adam(w, {slot, m}, constant(1.f), 0.1f, scaled)}) {
      const std::string op = update.node()->def->name;
      for (const Request& request : {Request{.targets = {update}}, Request{.fetches = {scaled}, .targets = {update}}}) {
        const Ir ir = fused(request);
        const IrNode& node = ir.node(the(ir, op));
        EXPECT_TRUE(node.attributes.flag(kScaled)) << op;
        EXPECT_TRUE(ir.is_op(node.inputs[node.inputs.size() - 2], op_kind("Variable"))) << op;
        EXPECT_TRUE(ir.is_op(node.inputs.back(), op_kind("ReduceSum"))) << op;
        EXPECT_EQ(count_of(ir, "FusedPointwise"), static_cast<int>(request.fetches.size())) << op;
      }
    }
}

TEST_F(FuseGradientScaleTest, RowsAreMultipliedByTheirUpdateToo) {
  const Variable w = var("w", {4, 8});
  const Tensor ids = constant(Array::of<std::int32_t>({2}, {0, 3})), rows = var("rows", {2, 8}).value() * number;
  const Ir ir = fused({.targets = {apply_sgd_rows(w, 0.1f, {ids, rows, w})}});
  EXPECT_TRUE(ir.node(the(ir, "ApplySgdRows")).attributes.flag(kScaled));
  EXPECT_EQ(count_of(ir, "FusedPointwise"), 0);
}

TEST_F(FuseGradientScaleTest, WhatIsNoScalarOrNotF32IsLeftAlone) {
  const Variable w = var("w", {4, 8});
  const Tensor g = var("g", {4, 8}), row = tanh(var("row", {8}));
  EXPECT_FALSE(scaled_in({.targets = {apply_sgd(w, 0.1f, g * row)}}));
  const Variable wide = get_variable("wide", {.shape = {4, 8}, .dtype = f64});
  EXPECT_FALSE(scaled_in({.targets = {apply_sgd(wide, 0.1f, cast(g, f64) * cast(number, f64))}}));
  const Tensor product = g * number;
  const ControlDependencies after({product});
  EXPECT_FALSE(scaled_in({.targets = {apply_sgd(w, 0.1f, product)}}));
}

}  // namespace
}  // namespace belfry
