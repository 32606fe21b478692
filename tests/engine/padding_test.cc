// Padding inside blocked layouts is always zero: every buffer is poisoned first and checked after every kernel.
#include <cmath>
#include <cstring>
#include <map>

#include "belfry/base/parallel.h"
#include "belfry/base/random.h"
#include "belfry/graph/gradients.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/batch_norm.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/pool.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"
#include "tests/engine/ir_testing.h"

namespace belfry {
namespace {

Array noise(const Shape& shape, std::uint64_t seed, double scale = 1) {
  RandomStream stream(seed);
  Array out(f32, shape);
  for (float& v : out.values<float>()) v = static_cast<float>(scale * (2 * stream.uniform() - 1));
  return out;
}

// Runs an Ir node by node, every value in memory of its own that is full of NaN first. After each node the padding of
// its results must be zero.
class PoisonRun {
 public:
  PoisonRun(const Ir& ir, VariableStore& store, const std::vector<Array>& feeds)
      : ir_(ir), store_(store), feeds_(feeds) {}

  // The fetched values, in the order asked for.
  std::vector<Array> run() {
    std::vector<Array> fetched(static_cast<std::size_t>(count_of(ir_, "Fetch")));
    for (NodeId id : schedule(ir_)) {
      const IrNode& node = ir_.node(id);
      if (node.op == "Fetch") {
        const TensorInfo& info = ir_.info(node.inputs[0]);
        Array out(info.dtype, info.shape);
        if (out.bytes() > 0) std::memcpy(out.raw(), memory(node.inputs[0]), out.bytes());
        fetched[static_cast<std::size_t>(node.attributes.integer("index"))] = out;
      } else if (node.op == "Feed") {
        const Array& value = feeds_[static_cast<std::size_t>(node.attributes.integer("index"))];
        std::memcpy(memory(node.outputs[0]), value.raw(), value.bytes());
      } else {
        execute(node);
      }
    }
    return fetched;
  }

 private:
  void* memory(ValueId v) {
    const IrValue& value = ir_.value(v);
    if (value.variable != nullptr) {
      VariableStore::Storage& s = store_.storage(value.variable);
      return value.copy == kNone ? s.data.get() : s.copies[static_cast<std::size_t>(value.copy)].data.get();
    }
    if (ir_.is_op(v, "Constant"))
      return const_cast<void*>(ir_.node(value.producer).attributes.get<Array>("value").raw());
    auto [at, added] = buffers_.try_emplace(v);
    if (added) {
      at->second = Array(u8, {static_cast<std::int64_t>(value.info.bytes()) + 64});
      std::memset(at->second.raw(), 0xff, at->second.bytes());
    }
    return at->second.raw();
  }

  void execute(const IrNode& node) {
    if (node.op == "Variable" || node.op == "VariableCopy" || node.op == "Constant" || node.op == "ShapeOnly" ||
        node.op == "NoOp")
      return;
    const KernelDef* def = find_kernel(node.op, DeviceKind::cpu);
    ASSERT_NE(def, nullptr) << node.op;
    std::vector<TensorInfo> inputs, outputs;
    Buffers buffers;
    for (ValueId v : node.inputs) {
      inputs.push_back(ir_.info(v));
      buffers.inputs.push_back(memory(v));
    }
    for (ValueId v : node.outputs) {
      outputs.push_back(ir_.info(v));
      buffers.outputs.push_back(memory(v));
    }
    const TeamScope team(1);
    const KernelPtr kernel = def->make(
        {.inputs = inputs, .outputs = outputs, .attributes = &node.attributes, .origin = node.origin, .threads = 1});
    Array scratch(u8, {static_cast<std::int64_t>(kernel->scratch_bytes()) + 64});
    std::memset(scratch.raw(), 0xff, scratch.bytes());
    buffers.scratch = scratch.raw();
    kernel->bind(buffers);
    kernel->run({.number = 3, .seed = 1});
    for (std::size_t i = 0; i < outputs.size(); ++i) expect_clean_padding(node, outputs[i], buffers.outputs[i]);
  }

  // The logical elements put into zeroed memory of the same layout: padding apart, the same bytes.
  static void expect_clean_padding(const IrNode& node, const TensorInfo& info, const void* data) {
    if (!has_padding(info.layout)) return;
    Array logical(f32, info.shape);
    const TensorInfo plain{.dtype = info.dtype, .shape = info.shape};
    reorder(info, data, plain, logical.raw());
    std::vector<float> wanted(info.bytes() / 4, 0.f);
    reorder(plain, logical.raw(), info, wanted.data());
    int dirty = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      dirty += wanted[i] == 0.f && !(static_cast<const float*>(data)[i] == 0.f);
    EXPECT_EQ(dirty, 0) << node.op << " '" << node.origin->name << "' leaves padding of " << info.layout.name()
                        << " that is not zero";
  }

  const Ir& ir_;
  VariableStore& store_;
  const std::vector<Array>& feeds_;
  std::map<ValueId, Array> buffers_;
};

class PaddingTest : public IrTest {
 protected:
  // Builds the same net in f32, with layouts, and in f64, which is plain throughout, and compares what comes out.
  void check(const std::function<Tensors(const Tensor& x)>& net) {
    std::vector<Array> results[2];
    for (const DType dtype : {f32, f64}) {
      Graph own;
      const GraphScope inner(own);
      VariableStore values;
      const Tensor x = placeholder({"x", dtype, kShape});
      const Tensors fetches = net(x);
      for (const Variable& v : own.variables())
        values.set(v.node(), noise(v.shape(), seed_of(v.name()), 0.1).cast(dtype));
      Ir ir = prune(own, signature_of({.fetches = fetches, .feeds = {{x, kShape}}}), 1);
      infer_shapes(ir);
      simplify(ir);
      fuse(ir);
      order_variables(ir);
      assign_layouts(ir, values, {{1}});
      if (dtype == f32) {
        bool padded = false;
        for (const IrValue& v : ir.values) padded = padded || has_padding(v.info.layout);
        ASSERT_TRUE(padded) << "a test of padding without padding";
      }
      results[dtype == f64] = PoisonRun(ir, values, {noise(kShape, 1).cast(dtype)}).run();
    }
    ASSERT_EQ(results[0].size(), results[1].size());
    for (std::size_t k = 0; k < results[0].size(); ++k)
      for (std::int64_t i = 0; i < results[0][k].elements(); ++i) {
        const double wanted = results[1][k].item(i);
        ASSERT_NEAR(results[0][k].item(i), wanted, 2e-4 * (1 + std::abs(wanted)))
            << "result " << k << ", element " << i;
      }
  }
  static Tensor weight(const char* name, const Shape& shape, DType dtype) {
    return get_variable(name, {.shape = shape, .dtype = dtype});
  }
  static Tensor conv(const Tensor& x, const char* name = "W", std::int64_t channels = 21) {
    return conv2d(x, weight(name, {3, 3, x.shape()[3], channels}, x.dtype()));
  }

  static inline const Shape kShape{2, 6, 6, 21};  // neither a multiple of 8 nor of 16
};

TEST_F(PaddingTest, StaysZeroThroughUnaryOps) {
  check([](const Tensor& x) {
    const Tensor y = conv(x);
    Tensors out;
    for (const Tensor& t :
         {exp(y), sigmoid(y), cos(y), tanh(y), relu(y), square(y), negative(y), exp(-y), sin(y), floor(y), sign(y)})
      out.push_back(conv(t, ("V" + std::to_string(out.size())).c_str(), 3));
    return out;
  });
}

TEST_F(PaddingTest, StaysZeroThroughOpsWithANumber) {
  check([](const Tensor& x) {
    const Tensor y = conv(x);
    Tensors out;
    for (const Tensor& t : {y + 1.f, y - 0.5f, 2.f - y, y * 3.f, y / 2.f, 1.f / (square(y) + 1.f), maximum(y, 0.25f),
                            minimum(y, -0.25f), squared_difference(y, 0.5f), pow(square(y), 1.5f)})
      out.push_back(conv(t, ("V" + std::to_string(out.size())).c_str(), 3));
    return out;
  });
}

TEST_F(PaddingTest, StaysZeroThroughBinaryOps) {
  check([](const Tensor& x) {
    const Tensor y = conv(x), z = conv(x, "U");
    Tensors out;
    for (const Tensor& t :
         {y + z, y * z, y - z, y / (square(z) + 1.f), maximum(y, z), squared_difference(y, z),
          select(greater(y, z), y, z), y + weight("b", {21}, x.dtype()), y * weight("c", {6, 21}, x.dtype())})
      out.push_back(conv(t, ("V" + std::to_string(out.size())).c_str(), 3));
    return out;
  });
}

TEST_F(PaddingTest, StaysZeroThroughLayersAndTheirGradients) {
  check([](const Tensor& x) {
    Tensor y = relu(conv(x) + weight("b", {21}, x.dtype()));
    const Tensor shortcut = y = max_pool2d(y);
    y = batch_norm(conv(y, "W2"), weight("gamma", {21}, x.dtype()), weight("beta", {21}, x.dtype())).y;
    y = relu(y + shortcut);
    y = avg_pool2d(dropout(conv(y, "W3"), 0.0), {.window = 3, .strides = 1, .padding = Padding::same});
    y = reduce_mean(concat({y, y * 2.f}, 3), {.axes = {1, 2}});
    const Tensor loss = reduce_sum(square(y));
    Tensors out{y, loss}, xs{x};
    for (const Variable& v : current_graph().variables()) xs.push_back(v.handle());
    for (const Tensor& g : gradients({loss}, xs)) out.push_back(g);
    return out;
  });
}

TEST_F(PaddingTest, StaysZeroThroughUpdatesOfWeights) {
  check([](const Tensor& x) {
    const Variable a = get_variable("a", {.shape = {3, 3, 21, 21}, .dtype = x.dtype()}),
                   b = get_variable("b", {.shape = {3, 3, 21, 21}, .dtype = x.dtype()});
    const Variable slot = get_variable("slot", {.shape = {3, 3, 21, 21}, .dtype = x.dtype()});
    const Tensors g = gradients({square(conv2d(tanh(conv2d(x, a)), b))}, {a.handle(), b.handle()});
    return Tensors{apply_sgd(a, 0.01f, g[0], {.weight_decay = 0.1}), apply_momentum(b, slot, 0.01f, g[1])};
  });
}

}  // namespace
}  // namespace belfry
