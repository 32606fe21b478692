// Padding inside blocked layouts is always zero: runs a net kernel by kernel with every buffer poisoned first, checks
// the padding of what each kernel wrote, and compares the results with those of f64, which is plain throughout.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "belfry/base/parallel.h"
#include "belfry/base/random.h"
#include "tests/engine/ir_testing.h"

namespace belfry {

inline Array noise(const Shape& shape, std::uint64_t seed, double scale = 1) {
  RandomStream stream(seed);
  Array out(f32, shape);
  for (float& v : out.values<float>()) v = static_cast<float>(scale * (2 * stream.uniform() - 1));
  return out;
}

// Runs an Ir node by node, every value in separate memory that is first filled with NaN. After each node the padding of
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
      if (node.op == op_kind("Fetch")) {
        const TensorInfo& info = ir_.info(node.inputs[0]);
        Array out(info.dtype, info.shape);
        if (out.bytes() > 0) std::memcpy(out.raw(), memory(node.inputs[0]), out.bytes());
        fetched[static_cast<std::size_t>(node.attributes.integer("index"))] = out;
      } else if (node.op == op_kind("Feed")) {
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
    if (value.variable != nullptr) return store_.data_in(value.variable, value.info.layout);
    if (ir_.is_op(v, op_kind("Constant")))
      return const_cast<void*>(ir_.node(ir_.producer(v)).attributes.get<Array>("value").raw());
    auto [at, added] = buffers_.try_emplace(v);
    if (added) {
      at->second = Array(u8, {static_cast<std::int64_t>(value.info.bytes()) + 64});
      std::memset(at->second.raw(), 0xff, at->second.bytes());
    }
    return at->second.raw();
  }

  void execute(const IrNode& node) {
    if (node.op.definition().silent) return;
    const KernelDef* def = find_kernel(node.op);
    ASSERT_NE(def, nullptr) << node.op.name();
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
    EXPECT_EQ(dirty, 0) << node.op.name() << " '" << node.origin->name << "' leaves padding of " << info.layout.name()
                        << " that is not zero";
  }

  const Ir& ir_;
  VariableStore& store_;
  const std::vector<Array>& feeds_;
  std::map<ValueId, Array> buffers_;
};

class PoisonTest : public IrTest {
 protected:
  // Builds the net in f32 and in f64. Returns the Ir of f32, laid out; the graph it came from is gone.
  Ir check(const Shape& shape, const std::function<Tensors(const Tensor& x)>& net) {
    std::vector<Array> results[2];
    Ir laid_out;
    for (const DType dtype : {f32, f64}) {
      Graph own;
      const GraphScope inner(own);
      VariableStore values;
      const Tensor x = placeholder({"x", dtype, shape});
      const Tensors fetches = net(x);
      for (const Variable& v : own.variables())
        values.set(v.node(), noise(v.shape(), seed_of(v.name()), 0.1).cast(dtype));
      Ir ir = prune(signature_of({.fetches = fetches, .feeds = {{x, shape}}}), cpu_infos(1));
      infer_shapes(ir);
      simplify(ir);
      fuse(ir);
      order_variables(ir);
      assign_layouts(ir, values, {{1}});
      results[dtype == f64] = PoisonRun(ir, values, {noise(shape, 1).cast(dtype)}).run();
      if (dtype == f32) laid_out = std::move(ir);
    }
    compare(results[0], results[1]);
    return laid_out;
  }
  static bool any_padding(const Ir& ir) {
    return std::ranges::any_of(ir.values, [](const IrValue& v) { return has_padding(v.info.layout); });
  }

 private:
  static void compare(const std::vector<Array>& got, const std::vector<Array>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      double largest = 0;  // small sums of large terms lose digits
      for (std::int64_t i = 0; i < got[k].elements(); ++i)
        if (std::isfinite(wanted[k].item(i))) largest = std::max(largest, std::abs(wanted[k].item(i)));
      for (std::int64_t i = 0; i < got[k].elements(); ++i) {
        const double value = wanted[k].item(i), own = got[k].item(i);
        if ((std::isnan(value) && std::isnan(own)) || value == own) continue;
        ASSERT_NEAR(own, value, 2e-4 * (1 + std::abs(value)) + 1e-6 * largest) << "result " << k << ", element " << i;
      }
    }
  }
};

}  // namespace belfry
