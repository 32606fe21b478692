// Convolutions with groups through the compiler: results against f64's, layouts, fusion, which code they get.
#include "belfry/graph/gradients.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/session/session.h"
#include "tests/engine/poison_run.h"

namespace belfry {
namespace {

struct Case {
  std::int64_t channels, groups, outputs;
  Extent window = 3;
  Conv2dOptions options = {};
  std::string text() const {
    return std::to_string(channels) + " channels in " + std::to_string(groups) + " groups to " +
           std::to_string(outputs) + ", window " + std::to_string(window.height) + " x " +
           std::to_string(window.width) + ", strides " + std::to_string(options.strides.height) + " x " +
           std::to_string(options.strides.width) + ", dilations " + std::to_string(options.dilations.height) + " x " +
           std::to_string(options.dilations.width);
  }
  Tensor operator()(const Tensor& x, const Tensor& filter) const {
    Conv2dOptions with = options;
    with.groups = groups;
    return conv2d(x, filter, with);
  }
  Shape filter() const { return {window.height, window.width, channels / groups, outputs}; }
};

const Padding kUneven = Padding::explicit_({2, 0, 1, 3});

// Depthwise ones, blocks that fit groups and blocks that do not, with what oneDNN has generated code for and what not.
const Case kCases[] = {
    {.channels = 32, .groups = 32, .outputs = 32},
    {.channels = 20, .groups = 20, .outputs = 20},
    {.channels = 3, .groups = 3, .outputs = 3},
    {.channels = 32, .groups = 32, .outputs = 32, .options = {.strides = 2}},
    {.channels = 20, .groups = 20, .outputs = 20, .options = {.dilations = 2}},
    {.channels = 20, .groups = 20, .outputs = 20, .options = {.strides = {2, 1}, .dilations = {1, 2}}},
    {.channels = 20, .groups = 20, .outputs = 20, .window = 5},
    {.channels = 24, .groups = 24, .outputs = 24, .window = {7, 2}, .options = {.padding = kUneven}},
    {.channels = 16, .groups = 16, .outputs = 32},
    {.channels = 10, .groups = 10, .outputs = 30, .options = {.strides = 2}},
    {.channels = 19, .groups = 19, .outputs = 38, .window = {1, 4}, .options = {.padding = Padding::valid}},
    {.channels = 3, .groups = 3, .outputs = 51, .options = {.dilations = {3, 1}}},
    {.channels = 32, .groups = 2, .outputs = 64},
    {.channels = 32, .groups = 4, .outputs = 32},
    {.channels = 32, .groups = 4, .outputs = 32, .options = {.dilations = 2}},
    {.channels = 24, .groups = 3, .outputs = 24, .options = {.strides = 2}},
    {.channels = 24, .groups = 3, .outputs = 48, .window = 1},
    {.channels = 20, .groups = 2, .outputs = 20},
    {.channels = 60, .groups = 3, .outputs = 30, .window = 1},
    {.channels = 16, .groups = 8, .outputs = 16, .options = {.strides = {1, 2}, .padding = kUneven}},
    {.channels = 32, .groups = 8, .outputs = 32},
    {.channels = 6, .groups = 2, .outputs = 4, .window = 2},
};

Tensor weight(const char* name, const Shape& shape, DType dtype) {
  return get_variable(name, {.shape = shape, .dtype = dtype});
}

class GroupedConvTest : public PoisonTest {};

TEST_F(GroupedConvTest, AgreesWithDoublesThroughLayersAndTheirGradients) {
  for (const Case& conv : kCases) {
    SCOPED_TRACE(conv.text());
    check({2, 7, 9, 5}, [&](const Tensor& x) {
      const Tensor into = conv2d(x, weight("in", {1, 1, 5, conv.channels}, x.dtype()));  // brings blocks along
      const Tensor y = relu(conv(into, weight("W", conv.filter(), x.dtype())) + weight("b", {conv.outputs}, x.dtype()));
      const Tensor loss = reduce_sum(square(y));
      Tensors out{y, loss}, xs{x};
      for (const Variable& v : current_graph().variables()) xs.push_back(v.handle());
      for (const Tensor& g : gradients({loss}, xs)) out.push_back(g);
      return out;
    });
    if (HasFatalFailure()) return;
  }
}

TEST_F(GroupedConvTest, AgreesWithDoublesChannelsFirst) {
  for (const Case& nhwc : kCases) {
    SCOPED_TRACE(nhwc.text());
    Case conv = nhwc;
    conv.options.data_format = DataFormat::nchw;
    check({2, conv.channels, 7, 9}, [&](const Tensor& x) {
      const Tensor filter = weight("W", conv.filter(), x.dtype()), y = conv(x, filter);
      Tensors out = gradients({square(y)}, {x, filter});
      out.push_back(y);
      return out;
    });
    if (HasFatalFailure()) return;
  }
}

// The gradient's gradient meets the same kernels with other operands.
TEST_F(GroupedConvTest, AgreesWithDoublesAtSecondOrder) {
  for (const Case& conv : {kCases[1], kCases[4], kCases[9], kCases[13], kCases[17]}) {
    SCOPED_TRACE(conv.text());
    check({2, 7, 9, conv.channels}, [&](const Tensor& x) {
      const Tensor filter = weight("W", conv.filter(), x.dtype());
      const Tensors first = gradients({square(conv(x, filter))}, {x, filter});
      Tensors out;
      for (const Tensor& of : first)
        for (const Tensor& g : gradients({square(of)}, {x, filter})) out.push_back(g);
      return out;
    });
    if (HasFatalFailure()) return;
  }
}

TEST_F(GroupedConvTest, UpdatesKeepThePaddingOfGroupedWeights) {
  const Ir ir = check({2, 7, 9, 20}, [&](const Tensor& x) {
    const Variable w = get_variable("w", {.shape = {5, 5, 1, 20}, .dtype = x.dtype()}),
                   slot = get_variable("slot", {.shape = {5, 5, 1, 20}, .dtype = x.dtype()});
    const Tensor dw = gradients({square(conv2d(x, w, {.groups = 20}))}, {w.handle()})[0];
    return Tensors{apply_momentum(w, slot, 0.01f, dw)};
  });
  EXPECT_TRUE(any_padding(ir));
}

// Between two ordinary convolutions a depthwise one takes their blocks and hands them on, forward and backward, whether
// oneDNN does it (3 x 3) or we do (dilated).
TEST_F(GroupedConvTest, DepthwiseKeepsBlocksAndOneLayoutOfItsWeights) {
  for (const std::int64_t dilation : {1, 2}) {
    VariableStore store;
    Graph own;
    const GraphScope inner(own);
    const Tensor x = placeholder({"x", f32, {2, 8, 8, 32}});
    const Variable a = var("a", {1, 1, 32, 32}), w = var("w", {3, 3, 1, 32}), b = var("b", {1, 1, 32, 32});
    const Tensor y =
        conv2d(relu(conv2d(conv2d(x, a), w, {.dilations = dilation, .groups = 32})), b, {.padding = Padding::valid});
    const Tensors g = gradients({square(y)}, {a.handle(), w.handle(), b.handle()});
    Ir ir =
        prune(signature_of({.targets = {apply_sgd(a, 0.1f, g[0]), apply_sgd(w, 0.1f, g[1]), apply_sgd(b, 0.1f, g[2])},
                            .feeds = {{x, {2, 8, 8, 32}}}}),
              cpu_infos(1));
    infer_shapes(ir);
    simplify(ir);
    fuse(ir);
    order_variables(ir);
    assign_layouts(ir, store, {{1}});
    int images = 0;
    for (const IrNode& node : ir.nodes())
      if (!node.dead && node.op == op_kind("Reorder") && ir.info(node.outputs[0]).shape.rank() == 4 &&
          ir.info(node.outputs[0]).shape[0] == 2)
        ++images;
    EXPECT_EQ(images, 1) << "x goes into blocks; nothing else moves";
    EXPECT_FALSE(store.storage(w.node()).info.layout.plain());
    EXPECT_TRUE(store.storage(w.node()).copies.empty()) << "all three passes want the same layout";
  }
}

TEST_F(GroupedConvTest, BiasReluAndTheBiasGradientAreFusedIn) {
  const Tensor x = placeholder({"x", f32, {2, 8, 8, 24}});
  for (const std::int64_t groups : {3, 24}) {
    const std::string name = "w" + std::to_string(groups);
    const Variable w = var(name.c_str(), {3, 3, 24 / groups, 24}), b = var((name + "b").c_str(), {24});
    const Tensor y = relu(conv2d(x, w, {.groups = groups}) + b);
    Ir ir = simplified({.fetches = gradients({square(y)}, {w.handle(), b.handle()}), .feeds = {{x, {2, 8, 8, 24}}}});
    fuse(ir);
    EXPECT_EQ(count_of(ir, "FusedConv"), 1);
    EXPECT_EQ(count_of(ir, "FusedConvBackpropFilter") + count_of(ir, "FusedReluGradBias"), 1);
    EXPECT_EQ(count_of(ir, "Relu"), 0);
    EXPECT_EQ(count_of(ir, "SumToLike"), 0);
  }
}

TEST_F(GroupedConvTest, ABiasIsNotFusedIntoAConvolutionOfNoChannels) {
  const Tensor x = placeholder({"x", f32, {1, 4, 4, 0}});
  const Tensor y = conv2d(x, var("w", {3, 3, 0, 2})) + var("b", {2}, 3.f);
  Ir ir = simplified({.fetches = {y}, .feeds = {{x, {1, 4, 4, 0}}}});
  fuse(ir);
  EXPECT_EQ(count_of(ir, "FusedConv"), 0);
}

// The kernels of a plan for a convolution and its gradients.
std::vector<KernelPtr> kernels_of(const Case& conv) {
  const TensorInfo x{.dtype = f32, .shape = {2, 7, 9, conv.channels}}, filter{.dtype = f32, .shape = conv.filter()};
  Graph graph;
  const GraphScope scope(graph);
  const Tensor made = conv(placeholder({"x", f32, x.shape}), placeholder({"w", f32, filter.shape}));
  const TensorInfo y{.dtype = f32, .shape = made.shape()};
  const Attributes& attributes = made.node()->attributes;
  std::vector<KernelPtr> out;
  const auto add = [&](const char* op, const std::vector<TensorInfo>& inputs, const std::vector<TensorInfo>& outputs) {
    out.push_back(find_kernel(op_kind(op))
                      ->make({.inputs = inputs,
                              .outputs = outputs,
                              .attributes = &attributes,
                              .origin = made.node(),
                              .threads = 1}));
  };
  const TeamScope team(1);
  add("Conv2D", {x, filter}, {y});
  add("Conv2DBackpropInput", {x, filter, y}, {x});
  add("Conv2DBackpropFilter", {x, filter, y}, {filter});
  return out;
}

TEST_F(GroupedConvTest, NoneFallsIntoOneDnnsReference) {
  for (const Case& conv : kCases)
    for (const KernelPtr& kernel : kernels_of(conv))
      EXPECT_EQ(kernel->describe().find("ref"), std::string::npos) << kernel->describe() << ": " << conv.text();
}

TEST_F(GroupedConvTest, DepthwiseIsOneDnnsWhereItHasGeneratedCodeAndOursElse) {
  const auto ours = [](const Case& conv) {
    std::string out;
    for (const KernelPtr& kernel : kernels_of(conv)) out += kernel->is_dnnl() ? 'd' : 'o';
    return out;
  };
  EXPECT_EQ(ours({.channels = 64, .groups = 64, .outputs = 64}), "ddd");
  EXPECT_EQ(ours({.channels = 64, .groups = 64, .outputs = 64, .options = {.strides = 2}}), "ddd");
  EXPECT_EQ(ours({.channels = 64, .groups = 64, .outputs = 64, .options = {.dilations = 2}}), "doo");
  EXPECT_EQ(ours({.channels = 64, .groups = 64, .outputs = 64, .window = 5}), "ddo");
  EXPECT_EQ(ours({.channels = 32, .groups = 32, .outputs = 64}), "ooo");
  EXPECT_EQ(ours({.channels = 32, .groups = 4, .outputs = 32}), "ddd");
}

// Two sessions, several runs each: the same bits.
TEST_F(GroupedConvTest, TheSameProgramGivesTheSameBits) {
  for (const Case& conv : {kCases[4], kCases[9], kCases[13], kCases[17]}) {
    SCOPED_TRACE(conv.text());
    const Array image = noise({4, 14, 14, conv.channels}, 1), value = noise(conv.filter(), 2);
    std::vector<Array> first;
    for (int session = 0; session < 2; ++session) {
      Graph own;
      const GraphScope inner(own);
      const Tensor x = placeholder({"x", f32, image.shape()}), filter = placeholder({"w", f32, value.shape()});
      const Tensors g = gradients({square(conv(x, filter))}, {x, filter});
      Session s(own);
      for (int run = 0; run < 2; ++run) {
        const std::vector<Array> got = s.run({g[0], g[1]}, {{x, image}, {filter, value}});
        if (first.empty()) first = got;
        for (std::size_t k = 0; k < got.size(); ++k) EXPECT_TRUE(equal(got[k], first[k])) << "result " << k;
      }
    }
  }
}

}  // namespace
}  // namespace belfry
