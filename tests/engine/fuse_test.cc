#include <cmath>

#include "belfry/base/random.h"
#include "belfry/engine/cpu/fuse/fusion.h"
#include "belfry/graph/gradients.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/batch_norm.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/logic.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/pool.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/softmax.h"
#include "belfry/ops/sparse_optimizer.h"
#include "belfry/session/session.h"
#include "tests/engine/ir_testing.h"

namespace belfry {
namespace {

using Names = std::vector<std::string>;

class FuseTest : public IrTest {
 protected:
  Ir fused(const Request& request, int devices = 1) const {
    Ir ir = simplified(request, devices);
    fuse(ir);
    topological(ir);
    return ir;
  }
  static Names inside(const Ir& ir, NodeId id) {
    Names names = ir.node(id).fused;
    std::ranges::sort(names);
    return names;
  }
};

TEST_F(FuseTest, ConvolutionBiasAndReluAreOneOp) {
  const Tensor x = var("x", {2, 6, 6, 3}),
               y = relu(add(conv2d(x, var("w", {3, 3, 3, 8}), {}, "conv"), var("b", {8}), "sum"), "relu");
  const Ir ir = fused({.fetches = {y}});
  const NodeId id = the(ir, "FusedConv");
  EXPECT_EQ(inside(ir, id), (Names{"conv", "relu", "sum"}));
  EXPECT_TRUE(ir.node(id).attributes.flag("relu"));
  EXPECT_EQ(ir.node(id).inputs.size(), 3u);
  EXPECT_EQ(ir.node(ir.roots[0]).inputs[0], ir.node(id).outputs[0]);
  EXPECT_EQ(ops_of(ir), (Names{"Fetch", "FusedConv", "Variable", "Variable", "Variable"}));
}

TEST_F(FuseTest, MatrixProductBiasAndReluAreOneOp) {
  const Tensor x = var("x", {4, 3}), product = matmul(x, var("w", {3, 8})),
               y = relu(var("b", {8}) + product);  // either side
  EXPECT_EQ(count_of(fused({.fetches = {y}}), "FusedMatMul"), 1);
  EXPECT_FALSE(fused({.fetches = {tanh(product + var("c", {8}))}})
                   .node(the(fused({.fetches = {tanh(product + var("d", {8}))}}), "FusedMatMul"))
                   .attributes.flag("relu"));
}

TEST_F(FuseTest, WhatIsNoBiasIsNotFusedIntoTheProduct) {
  const Tensor product = matmul(var("x", {4, 3}), var("w", {3, 8}));
  for (const Tensor& other : {var("full", {4, 8}).value(), var("column", {4, 1}).value(), var("one", {1}).value(),
                              var("row", {1, 8}).value()})
    EXPECT_EQ(count_of(fused({.fetches = {product + other}}), "FusedMatMul"), 0);
}

TEST_F(FuseTest, ABiasMadeFromTheProductIsNotFused) {
  const Tensor product = matmul(var("x", {4, 3}), var("w", {3, 8}));
  EXPECT_EQ(count_of(fused({.fetches = {product + reduce_sum(product, {.axes = {0}})}}), "FusedMatMul"), 0);
}

TEST_F(FuseTest, ABiasReadAfterAnUpdateIsFused) {
  const Variable w = var("w", {3, 8}), b = var("b", {8});
  const Tensor product = matmul(var("x", {4, 3}), w), next = b.assign_add(1.f * b);
  Tensor after;
  {
    const ControlDependencies wait({next});
    after = b.read();
  }
  EXPECT_EQ(count_of(fused({.fetches = {product + after}}), "FusedMatMul"), 1);
}

TEST_F(FuseTest, AProductThatOthersReadIsComputedForThemAndFusedAllTheSame) {
  const Tensor product = matmul(var("x", {4, 3}), var("w", {3, 8})), a = product + var("a", {8}),
               b = relu(product + var("b", {8}));
  EXPECT_EQ(ops_of(fused({.fetches = {a, product}})),
            (Names{"Fetch", "Fetch", "FusedMatMul", "MatMul", "Variable", "Variable", "Variable"}));
  const Ir both = fused({.fetches = {a, b}});
  EXPECT_EQ(count_of(both, "FusedMatMul"), 2);
  EXPECT_EQ(count_of(both, "MatMul"), 0);
}

TEST_F(FuseTest, ControlEdgesKeepOpsApart) {
  const Variable v = var("v", {});
  const Tensor next = v.assign(2.f), product = matmul(var("x", {4, 3}), var("w", {3, 8}));
  Tensor sum;
  {
    const ControlDependencies after({next});
    sum = product + var("b", {8});
  }
  EXPECT_EQ(count_of(fused({.fetches = {sum}}), "FusedMatMul"), 0);
}

TEST_F(FuseTest, GradientsOfFilterAndBiasAreOneOp) {
  const Variable w = var("w", {3, 3, 3, 8}), b = var("b", {8});
  const Tensor y = conv2d(var("x", {2, 6, 6, 3}), w) + b;
  const Ir ir = fused({.fetches = gradients({tanh(y)}, {w.handle(), b.handle()})});
  EXPECT_EQ(ir.node(the(ir, "FusedConvBackpropFilter")).outputs.size(), 2u);
  EXPECT_EQ(count_of(ir, "SumToLike"), 0);
}

TEST_F(FuseTest, GradientsOfReluAndBiasAreOneOp) {
  const Variable w = var("w", {3, 8}), b = var("b", {8});
  const Tensor y = relu(matmul(var("x", {4, 3}), w) + b);
  const Ir ir = fused({.fetches = gradients({square(y)}, {w.handle(), b.handle()})});
  EXPECT_EQ(ir.node(the(ir, "FusedReluGradBias")).outputs.size(), 2u);
  EXPECT_EQ(count_of(ir, "SumToLike"), 0);
  EXPECT_EQ(count_of(ir, "ReluGrad"), 0);
}

TEST_F(FuseTest, MaxPoolingKeepsItsWinnersForTheGradient) {
  const Tensor x = var("x", {2, 6, 6, 3}), a = relu(x), y = max_pool2d(a);
  EXPECT_EQ(count_of(fused({.fetches = {y}}), "MaxPool"), 1);  // no gradient is wanted
  const Ir ir = fused({.fetches = gradients({square(y)}, {x})});
  const NodeId forward = the(ir, "MaxPoolIndexed"), backward = the(ir, "MaxPoolIndexedGrad");
  EXPECT_EQ(ir.node(backward).inputs[0], ir.node(forward).outputs[1]);
  EXPECT_EQ(count_of(ir, "ReluGrad"), 0) << "relu's gradient goes along";
  for (ValueId v : ir.node(backward).inputs)
    EXPECT_LE(ir.info(v).elements(), ir.info(ir.node(forward).outputs[0]).elements())
        << "the large input is not needed";
}

TEST_F(FuseTest, BatchNormResidualAndReluAreOneKernelForwardAndOneBackward) {
  const Tensor x = var("x", {2, 4, 4, 8}), residual = tanh(var("r", {2, 4, 4, 8}));
  const BatchNormResult norm = batch_norm(x, var("gamma", {8}), var("beta", {8}));
  const Tensor y = relu(norm.y + residual);
  const Ir ir = fused({.fetches = gradients({square(y)}, {x, residual})});
  const NodeId forward = the(ir, "FusedBatchNorm"), backward = the(ir, "FusedBatchNormGrad");
  EXPECT_EQ(ir.node(forward).inputs.size(), 4u);
  EXPECT_EQ(ir.node(backward).inputs.back(), ir.node(forward).outputs[3])
      << "one bit an element instead of relu's output";
  for (const char* op : {"BatchNorm", "BatchNormGrad", "ReluGrad", "Relu", "Add"}) EXPECT_EQ(count_of(ir, op), 0) << op;
}

TEST_F(FuseTest, AResidualThatDependsOnTheStatisticsIsNotFused) {
  const Tensor x = var("x", {2, 4, 4, 8});
  const BatchNormResult norm = batch_norm(x, var("gamma", {8}), var("beta", {8}));
  const Tensor y = relu(norm.y + (x * norm.mean));
  const Ir ir = fused({.fetches = {y}});  // no cycle
  EXPECT_EQ(ir.node(the(ir, "FusedBatchNorm")).inputs.size(), 3u);
}

TEST_F(FuseTest, ChainsOfPointwiseOpsAreOneProgram) {
  const Tensor x = var("x", {4, 8}), y = tanh(x * 2.f + exp(x)) - var("b", {8});
  const Ir ir = fused({.fetches = {y}});
  EXPECT_EQ(ir.node(the(ir, "FusedPointwise")).fused.size(), 5u);
  EXPECT_EQ(ops_of(ir), (Names{"Constant", "Fetch", "FusedPointwise", "Variable", "Variable"}));
}

TEST_F(FuseTest, CrossEntropyAgainstDistributionsIsOnePassWithItsGradient) {
  const Tensor x = var("x", {4, 8}), labels = var("labels", {4, 8});
  const Tensor loss = reduce_mean(softmax_cross_entropy(x, labels));
  const Ir ir = fused({.fetches = {loss, gradients({loss}, {x})[0]}});
  EXPECT_EQ(count_of(ir, "FusedDenseCrossEntropy"), 1);
  EXPECT_EQ(count_of(ir, "SoftmaxCrossEntropyGrad"), 0);
}

TEST_F(FuseTest, AValueThatTheChainReadsTwiceIsPartOfIt) {
  const Tensor x = var("x", {4, 8}), s = sigmoid(x), y = s * (1.f - s) + s;
  const Ir ir = fused({.fetches = {y}});
  EXPECT_EQ(ir.node(the(ir, "FusedPointwise")).fused.size(), 4u);
}

TEST_F(FuseTest, WhatIsTooLongForAChainIsTwo) {
  Tensor y = var("x", {4, 8});
  for (int i = 0; i < 20; ++i) y = tanh(y);
  const Ir ir = fused({.fetches = {y}});
  EXPECT_EQ(ops_of(ir), (Names{"Fetch", "FusedPointwise", "FusedPointwise", "Variable"}));
}

TEST_F(FuseTest, ConditionsAndBoolsAreFusedToo) {
  const Tensor x = var("x", {4, 8}), given = less(cast(var("n", {4, 8}), i32), 3);  // integers are compared outside
  const Tensor y = select(logical_and(greater(x, 0.f), given), x, cast(is_finite(x), f32));
  const Ir ir = fused({.fetches = {y, logical_not(less(exp(x), 2.f))}});
  EXPECT_EQ(count_of(ir, "FusedPointwise"), 2);
  EXPECT_EQ(count_of(ir, "Less"), 1);
  for (const char* op : {"Select", "LogicalAnd", "Greater", "IsFinite", "LogicalNot", "Exp"})
    EXPECT_EQ(count_of(ir, op), 0) << op;
}

TEST_F(FuseTest, ANumberForEachRowIsPartOfAChain) {
  const Tensor x = var("x", {2, 4, 8}), y = (x - reduce_sum(x, {.axes = {-1}, .keep_dims = true})) * x;
  EXPECT_EQ(ops_of(fused({.fetches = {y}})), (Names{"Fetch", "FusedPointwise", "ReduceSum", "Variable"}));
  const Tensor other = x - reduce_sum(x, {.axes = {1}, .keep_dims = true});  // neither a row nor a column
  EXPECT_EQ(count_of(fused({.fetches = {other}}), "FusedPointwise"), 0);
}

TEST_F(FuseTest, AValueThatOthersReadEndsAChain) {
  const Tensor x = var("x", {4, 8}), shared = exp(x), y = tanh(shared) * 2.f;
  EXPECT_EQ(count_of(fused({.fetches = {y, shared}}), "FusedPointwise"), 2);
  EXPECT_EQ(count_of(fused({.fetches = {y, reduce_sum(shared)}}), "FusedPointwise"), 2);
}

TEST_F(FuseTest, DevicesAndBroadcastsEndAChain) {
  const Tensor x = exp(var("x", {4, 8}));
  Tensor there;
  {
    const DeviceScope device("cpu:1");
    there = tanh(x);
  }
  EXPECT_EQ(count_of(fused({.fetches = {there}}, 2), "FusedPointwise"), 2);
  EXPECT_EQ(count_of(fused({.fetches = {tanh(x + var("row", {1, 8}))}}), "Add"),
            1);  // not a layout that a program takes
}

TEST_F(FuseTest, LongChainsAreCutAndStillRight) {
  Tensor a = var("x", {3, 5}, 0.5f), sum = a;
  for (int i = 0; i < 40; ++i) {
    a = tanh(a) + 0.125f;
    sum = i % 3 == 0 ? sum + a * a : sum - a;
  }
  Tensors wide;
  for (int i = 0; i < 14; ++i)
    wide.push_back(exp(var(("v" + std::to_string(i)).c_str(), {3, 5}, 0.1f * static_cast<float>(i))));
  Tensor total = wide[0];
  for (int i = 1; i < 14; ++i) total = total * 0.5f + wide[static_cast<std::size_t>(i)];
  Session session(graph);
  session.initialize();
  double x = 0.5, wanted_sum = x;
  for (int i = 0; i < 40; ++i) {
    x = std::tanh(x) + 0.125;
    wanted_sum = i % 3 == 0 ? wanted_sum + x * x : wanted_sum - x;
  }
  double wanted_total = 1;
  for (int i = 1; i < 14; ++i) wanted_total = wanted_total * 0.5 + std::exp(0.1 * i);
  const std::vector<Array> out = session.run({sum, total});
  EXPECT_NEAR(out[0].item(14), wanted_sum, 1e-4);
  EXPECT_NEAR(out[1].item(14), wanted_total, 1e-4);
}

TEST_F(FuseTest, AnL2PenaltyBecomesWeightDecayWhoeverReadsTheGradient) {
  const Variable w = var("w", {4, 8});
  const Tensor loss = reduce_sum(tanh(matmul(var("x", {2, 4}), w))) + reduce_sum(square(w)) * 0.25f;
  const Tensor g = gradients(loss, std::vector<Variable>{w})[0], update = apply_sgd(w, 0.1f, g, {.weight_decay = 0.1});
  for (const Request& request : {Request{.targets = {update}}, Request{.fetches = {g}, .targets = {update}}}) {
    const Ir ir = fused(request);
    const IrNode& node = ir.node(the(ir, "ApplySgd"));
    EXPECT_NEAR(node.attributes.get<double>("weight_decay"), 0.6, 1e-6);
    EXPECT_TRUE(ir.is_op(node.inputs[2], op_kind("MatMul")));
  }
}

TEST_F(FuseTest, RowsPlusATableOfTheirShapeAreNoWeightDecay) {
  const Variable w = var("w", {2, 8});
  const Tensor ids = constant(Array::of<std::int32_t>({2}, {1, -1})), rows = tanh(var("x", {2, 8})) + w.value() * 0.5f;
  const Ir ir = fused({.targets = {apply_sgd_rows(w, 0.1f, {ids, rows, w})}});
  EXPECT_EQ(ir.node(the(ir, "ApplySgdRows")).attributes.get<double>("weight_decay"), 0);
}

TEST_F(FuseTest, APenaltyOnWeightsThatAreAssignedBeforeTheUpdateIsNoWeightDecay) {
  const Variable w = var("w", {4, 8});
  const Tensor g = tanh(var("x", {4, 8})) + w.value() * 0.5f;
  const Tensor first = w.assign(var("other", {4, 8}).value());
  const ControlDependencies after({first});
  const Ir ir = fused({.targets = {apply_sgd(w, 0.1f, g)}});
  EXPECT_EQ(ir.node(the(ir, "ApplySgd")).attributes.get<double>("weight_decay"), 0);
}

TEST_F(FuseTest, EmptyAndOtherTypesAreLeftAlone) {
  const Tensor x = placeholder({"x", f32, {kAny, 3}});
  const Variable w = var("w", {3, 8}), b = var("b", {8});
  const Tensor y = relu(matmul(x, w) + b);
  const Tensors g = gradients({square(y)}, {w.handle(), b.handle()});
  Session session(graph);
  session.initialize();
  const std::vector<Array> out = session.run({y, g[0], g[1]}, {{x, Array(f32, {0, 3})}});
  EXPECT_EQ(out[0].shape(), Shape({0, 8}));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(out[2].item(i), 0) << "the bias's gradient over no rows";
  for (int i = 0; i < 24; ++i) EXPECT_EQ(out[1].item(i), 0);
  const Tensor d = cast(var("d", {4, 3}), f64), e = cast(w, f64);
  for (const std::string& op : ops_of(fused({.fetches = {relu(matmul(d, e) + cast(b, f64))}})))
    EXPECT_FALSE(op.starts_with("Fused")) << op;
}

// Every pattern at once, against the same net in f64, where nothing is fused.
TEST_F(FuseTest, FusedNetsComputeWhatTheirPartsDo) {
  const auto build = [&](DType dtype) {
    const auto weight = [&](const char* name, const Shape& shape) {
      return get_variable(name + std::string(name_of(dtype)),
                          {.shape = shape, .dtype = dtype, .initializer = [&](const Shape& s, DType d) {
                             RandomStream random(seed_of(name));
                             Array values(f32, s);
                             for (float& v : values.values<float>())
                               v = static_cast<float>(0.4 * random.uniform() - 0.2);
                             return constant(values.cast(d));
                           }});
    };
    Tensor x = weight("x", {3, 8, 8, 5});
    x = max_pool2d(relu(conv2d(x, weight("w0", {3, 3, 5, 12})) + weight("b0", {12})));
    const Tensor shortcut = x;
    x = batch_norm(conv2d(x, weight("w1", {3, 3, 12, 12})), weight("g1", {12}), weight("be1", {12})).y;
    x = relu(x);
    x = batch_norm(conv2d(x, weight("w2", {3, 3, 12, 12})), weight("g2", {12}), weight("be2", {12})).y;
    x = relu(x + shortcut);
    x = relu(matmul(batch_flatten(x), weight("w3", {192, 16})) + weight("b3", {16}));
    x = tanh(x * 3.f) * 0.5f + square(x);
    const Tensor loss = reduce_mean(square(x));
    Tensors out{loss}, xs;
    for (const Variable& v : graph.variables())
      if (v.dtype() == dtype) xs.push_back(v.handle());
    for (const Tensor& g : gradients({loss}, xs)) out.push_back(g);
    return std::vector<Fetch>(out.begin(), out.end());
  };
  const std::vector<Fetch> single = build(f32), twice = build(f64);
  Session session(graph);
  session.initialize();
  const std::vector<Array> got = session.run(single), wanted = session.run(twice);
  for (std::size_t k = 0; k < got.size(); ++k) {
    double scale = 0;
    for (std::int64_t i = 0; i < wanted[k].elements(); ++i) scale = std::max(scale, std::abs(wanted[k].item(i)));
    for (std::int64_t i = 0; i < wanted[k].elements(); ++i)
      ASSERT_NEAR(got[k].item(i), wanted[k].item(i), 1e-4 * scale + 1e-9) << "result " << k << ", element " << i;
  }
}

}  // namespace
}  // namespace belfry
