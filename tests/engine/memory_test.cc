#include <numeric>

#include "belfry/base/random.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "tests/engine/ir_testing.h"

namespace belfry {
namespace {

constexpr std::size_t kUnit = 4;  // bytes that a tag stands for

// Runs a plan on paper: every write leaves a tag in memory, every read must find the tag of what it wants. Devices
// take turns at random, held back only by their streams and by the edges of the graph.
class PaperRun {
 public:
  PaperRun(const Ir& ir, const std::vector<NodeId>& order, const std::vector<std::size_t>& scratch, int devices)
      : ir_(ir),
        order_(order),
        scratch_(scratch),
        plan_(plan_memory(ir, order, scratch, devices)),
        memory_(static_cast<std::size_t>(devices)) {
    for (std::size_t d = 0; d < memory_.size(); ++d) memory_[d].assign(plan_.arena_bytes[d] / kUnit + 16, -1);
  }

  const MemoryPlan& plan() const { return plan_; }

  void run(RandomStream& random) {
    for (auto& tags : memory_) std::ranges::fill(tags, -1);
    contents_.assign(ir_.values.size(), -1);
    std::vector<std::vector<NodeId>> streams(memory_.size());
    for (NodeId id : order_) streams[static_cast<std::size_t>(ir_.node(id).device)].push_back(id);
    std::vector<std::size_t> next(streams.size(), 0);
    std::vector<char> done(ir_.nodes.size(), 0);
    for (std::size_t ran = 0; ran < order_.size();) {
      const auto d = static_cast<std::size_t>(random.bits() % streams.size());
      if (next[d] == streams[d].size() || !ready(streams[d][next[d]], done)) continue;
      const NodeId id = streams[d][next[d]++];
      execute(id);
      done[static_cast<std::size_t>(id)] = 1;
      ++ran;
      if (testing::Test::HasFailure()) return;
    }
  }

  ValueId root(ValueId v) const {
    while (plan_.same_as[static_cast<std::size_t>(v)] != kNone) v = plan_.same_as[static_cast<std::size_t>(v)];
    return v;
  }

 private:
  bool ready(NodeId id, const std::vector<char>& done) const {
    for (ValueId v : ir_.node(id).inputs)
      if (!done[static_cast<std::size_t>(ir_.value(v).producer)]) return false;
    return std::ranges::all_of(ir_.node(id).after,
                               [&](NodeId before) { return done[static_cast<std::size_t>(before)] != 0; });
  }

  bool in_arena(ValueId v) const { return plan_.offsets[static_cast<std::size_t>(root(v))] != MemoryPlan::kNowhere; }

  std::span<int> tags(ValueId v) {
    const ValueId r = root(v);
    const auto device = static_cast<std::size_t>(ir_.node(ir_.value(r).producer).device);
    return std::span(memory_[device])
        .subspan(plan_.offsets[static_cast<std::size_t>(r)] / kUnit, ir_.info(v).bytes() / kUnit);
  }

  void expect_intact(ValueId v, NodeId reader) {
    if (!in_arena(v)) return;
    for (int tag : tags(v))
      ASSERT_EQ(tag, contents_[static_cast<std::size_t>(v)])
          << "value " << v << " was overwritten before node " << reader << " (" << ir_.node(reader).op << ") read it";
  }

  void execute(NodeId id) {
    const IrNode& node = ir_.node(id);
    for (ValueId v : node.inputs) expect_intact(v, id);
    std::span<int> scratch;
    if (const std::size_t offset = plan_.scratch[static_cast<std::size_t>(id)]; offset != MemoryPlan::kNowhere) {
      ASSERT_EQ(offset % 64, 0u);
      scratch = std::span(memory_[static_cast<std::size_t>(node.device)])
                    .subspan(offset / kUnit, scratch_[static_cast<std::size_t>(id)] / kUnit);
    }
    ASSERT_EQ(scratch.size(), scratch_[static_cast<std::size_t>(id)] / kUnit);
    std::ranges::fill(scratch, -2);
    for (ValueId v : node.inputs) expect_intact(v, id);
    const KernelDef* kernel = find_kernel(node.op);
    if (kernel != nullptr && kernel->view && !node.inputs.empty()) {
      contents_[static_cast<std::size_t>(node.outputs[0])] = contents_[static_cast<std::size_t>(node.inputs[0])];
      return;
    }
    for (ValueId out : node.outputs) {
      if (!in_arena(out)) continue;
      ASSERT_EQ(plan_.offsets[static_cast<std::size_t>(root(out))] % 64, 0u);
      for (ValueId in : node.inputs) expect_disjoint_or_in_place(node, in, out);
      contents_[static_cast<std::size_t>(out)] = ++last_tag_;
      std::ranges::fill(tags(out), last_tag_);
    }
    for (int tag : scratch) ASSERT_EQ(tag, -2) << "scratch of node " << id << " overlaps its result";
  }

  void expect_disjoint_or_in_place(const IrNode& node, ValueId in, ValueId out) {
    if (!in_arena(in) || tags(in).empty() || tags(out).empty()) return;
    const auto a = tags(in), b = tags(out);
    if (a.data() + a.size() <= b.data() || b.data() + b.size() <= a.data()) return;
    const KernelDef* kernel = find_kernel(node.op);
    ASSERT_TRUE(kernel != nullptr && root(in) == root(out)) << node.op << " writes over an input";
    const bool allowed = std::ranges::any_of(kernel->in_place, [&](const auto& pair) {
      return pair.first < static_cast<int>(node.inputs.size()) &&
             root(node.inputs[static_cast<std::size_t>(pair.first)]) == root(in) &&
             node.outputs[static_cast<std::size_t>(pair.second)] == out;
    });
    ASSERT_TRUE(allowed) << node.op << " cannot work in place";
  }

  const Ir& ir_;
  const std::vector<NodeId>& order_;
  const std::vector<std::size_t>& scratch_;
  MemoryPlan plan_;
  std::vector<std::vector<int>> memory_;
  std::vector<int> contents_;  // by value: the tag its memory should hold
  int last_tag_ = 0;
};

class MemoryTest : public IrTest {
 protected:
  // Shapes are kept, and nothing is simplified away: views stay.
  Ir prepared(const Request& request, int devices = 1) const {
    Ir ir = shaped(request, devices);
    order_variables(ir);
    return ir;
  }
  MemoryPlan planned(const Ir& ir, int devices = 1) const {
    return plan_memory(ir, schedule(ir), std::vector<std::size_t>(ir.nodes.size(), 0), devices);
  }
  static ValueId output(const Ir& ir, const Tensor& t) {
    return ir.node(made_from(ir, t)).outputs[static_cast<std::size_t>(t.output())];
  }

  // A graph of ops that can work in place, views and others, spread over devices.
  Request random_graph(RandomStream& random, int devices) {
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random.bits() % n); };
    Tensors made{var("a", {4, 8}), var("b", {16, 4}), placeholder({"x", f32, {5, 8}})};
    const Tensor x = made[2];
    const int count = 10 + static_cast<int>(pick(25));
    for (int i = 0; i < count; ++i) {
      const DeviceScope device("cpu:" + std::to_string(pick(static_cast<std::size_t>(devices))));
      const Tensor t = made[pick(made.size())], u = made[made.size() - 1 - pick(std::min<std::size_t>(made.size(), 3))];
      switch (pick(7)) {
        case 0: made.push_back(tanh(t)); break;
        case 1: made.push_back(t.shape() == u.shape() ? t * u : exp(u)); break;
        case 2: made.push_back(expand_dims(t, 0)); break;
        case 3: made.push_back(t.rank() > 1 ? reshape(t, {kAny}) : t - 1.f); break;
        case 4: made.push_back(t.rank() > 0 ? reduce_sum(t, {.axes = {0}}) : cos(t)); break;
        case 5: made.push_back(t.rank() > 0 ? concat({t, t}, 0) : sin(t)); break;
        default: made.push_back(t + 1.f); break;
      }
      if (made.back().rank() > 6) made.pop_back();
    }
    Request request{.fetches = {made.back()}, .feeds = {{x, {5, 8}}}};
    for (int i = 0; i < 3; ++i) request.fetches.push_back(made[pick(made.size())]);
    return request;
  }
};

TEST_F(MemoryTest, NoValueIsOverwrittenWhileSomebodyNeedsIt) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStream random(seed);
    const int devices = 1 + static_cast<int>(seed % 3);
    Graph own;
    const GraphScope inner(own);
    const Request request = random_graph(random, devices);
    Ir ir = prune(own, signature_of(request), devices);
    infer_shapes(ir);
    if (seed % 2 == 0) simplify(ir);
    order_variables(ir);
    const std::vector<NodeId> order = schedule(ir);
    std::vector<std::size_t> scratch(ir.nodes.size(), 0);
    for (NodeId id : order)
      if (random.bits() % 4 == 0) scratch[static_cast<std::size_t>(id)] = 64 * (1 + random.bits() % 8);
    PaperRun run(ir, order, scratch, devices);
    for (int i = 0; i < (devices == 1 ? 1 : 8); ++i) run.run(random);
    if (HasFailure()) return;
  }
}

TEST_F(MemoryTest, AChainOfPointwiseOpsWorksInOneBuffer) {
  Tensor y = var("x", {64, 16});
  for (int i = 0; i < 5; ++i) y = tanh(y);
  const Ir ir = prepared({.fetches = {y}});
  EXPECT_EQ(planned(ir).arena_bytes[0], 64u * 16 * 4);
}

TEST_F(MemoryTest, AnInputThatIsReadAgainIsNotOverwritten) {
  const Tensor x = var("x", {64, 16}), once = tanh(x), twice = exp(once), sum = twice * once;
  const Ir ir = prepared({.fetches = {sum}});
  const MemoryPlan plan = planned(ir);
  EXPECT_EQ(plan.same_as[static_cast<std::size_t>(output(ir, twice))], kNone);
  EXPECT_NE(plan.same_as[static_cast<std::size_t>(output(ir, sum))], kNone);
  EXPECT_EQ(plan.arena_bytes[0], 2u * 64 * 16 * 4);
}

TEST_F(MemoryTest, VariablesAndConstantsAreNotInTheArenaAndNeverOverwritten) {
  const Tensor x = var("x", {64}), c = constant(Array::full(f32, {64}, 2));
  const Tensor a = tanh(x), b = exp(c);
  const Ir ir = prepared({.fetches = {a, b}});
  const MemoryPlan plan = planned(ir);
  for (const Tensor& t : {x, c}) EXPECT_EQ(plan.offsets[static_cast<std::size_t>(output(ir, t))], MemoryPlan::kNowhere);
  for (const Tensor& t : {a, b}) EXPECT_NE(plan.offsets[static_cast<std::size_t>(output(ir, t))], MemoryPlan::kNowhere);
}

TEST_F(MemoryTest, AViewKeepsWhatItShowsAlive) {
  const Tensor x = tanh(var("x", {8, 8})), view = reshape(x, {64}), other = exp(var("y", {64}));
  const Ir ir = prepared({.fetches = {other * view}});
  const MemoryPlan plan = planned(ir);
  EXPECT_EQ(plan.same_as[static_cast<std::size_t>(output(ir, view))], output(ir, x));
  EXPECT_EQ(plan.arena_bytes[0], 2u * 64 * 4);
}

TEST_F(MemoryTest, MemoryOfTheDeadIsUsedAgain) {
  Tensor x = var("x", {32, 32});
  for (int i = 0; i < 6; ++i) x = matmul(x, var(("w" + std::to_string(i)).c_str(), {32, 32}));  // never in place
  const Ir ir = prepared({.fetches = {x}});
  EXPECT_EQ(planned(ir).arena_bytes[0], 2u * 32 * 32 * 4);
}

TEST_F(MemoryTest, AValueThatCrossesDevicesLivesForTheWholeRun) {
  const Tensor x = var("x", {64});
  const Tensor crossing = tanh(x);
  Tensor there;
  {
    const DeviceScope device("cpu:1");
    there = exp(crossing);
  }
  Tensor here = exp(x * 2.f);  // on device 0, at the same time
  for (int i = 0; i < 4; ++i) here = concat({slice(here, {0}, {32}), slice(here, {32}, {32})}, 0);
  const Ir ir = prepared({.fetches = {here, there}}, 2);
  const MemoryPlan plan = planned(ir, 2);
  const std::size_t kept = plan.offsets[static_cast<std::size_t>(output(ir, crossing))];
  for (NodeId id = 0; id < static_cast<NodeId>(ir.nodes.size()); ++id)
    for (ValueId v : ir.node(id).outputs) {
      if (ir.node(id).device != 0 || v == output(ir, crossing) ||
          plan.offsets[static_cast<std::size_t>(v)] == MemoryPlan::kNowhere)
        continue;
      const std::size_t begin = plan.offsets[static_cast<std::size_t>(v)], end = begin + ir.info(v).bytes();
      EXPECT_TRUE(end <= kept || kept + 64 * 4 <= begin) << ir.node(id).op;
    }
  EXPECT_EQ(plan.same_as[static_cast<std::size_t>(output(ir, there))], kNone) << "in place of another device's memory";
}

TEST_F(MemoryTest, EmptyValuesTakeNothing) {
  const Tensor x = placeholder({"x", f32, {kAny}});
  const Ir ir = prepared({.fetches = {concat({tanh(x), exp(x)}, 0)}, .feeds = {{x, {0}}}});
  EXPECT_EQ(planned(ir).arena_bytes[0], 0u);
}

}  // namespace
}  // namespace belfry
