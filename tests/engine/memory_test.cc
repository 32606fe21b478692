#include <deque>

#include "belfry/base/random.h"
#include "belfry/engine/cpu/memory/arena.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "tests/engine/ir_testing.h"
#include "tests/engine/random_graph.h"

namespace belfry {
namespace {

constexpr std::size_t kUnit = 4;  // bytes per tag

// Runs a plan on paper: every write leaves a tag in memory, every read must find the tag of what it wants.
class PaperRun {
 public:
  PaperRun(const Ir& ir, const std::vector<NodeId>& order, const std::vector<std::size_t>& scratch)
      : ir_(ir),
        order_(order),
        scratch_(scratch),
        plan_(plan_memory(ir, order, scratch)),
        memory_(plan_.arena_bytes / kUnit + 16, -1) {}

  const MemoryPlan& plan() const { return plan_; }

  void run() {
    contents_.assign(ir_.values.size(), -1);
    for (NodeId id : order_) {
      execute(id);
      if (testing::Test::HasFailure()) return;
    }
  }

  ValueId root(ValueId v) const {
    while (plan_.same_as[static_cast<std::size_t>(v)] != kNone) v = plan_.same_as[static_cast<std::size_t>(v)];
    return v;
  }

 private:
  bool in_arena(ValueId v) const { return plan_.offsets[static_cast<std::size_t>(root(v))] != MemoryPlan::kNowhere; }

  std::span<int> tags(ValueId v) {
    const ValueId r = root(v);
    return std::span(memory_).subspan(plan_.offsets[static_cast<std::size_t>(r)] / kUnit, ir_.info(v).bytes() / kUnit);
  }

  void expect_intact(ValueId v, NodeId reader) {
    if (!in_arena(v)) return;
    for (int tag : tags(v))
      ASSERT_EQ(tag, contents_[static_cast<std::size_t>(v)])
          << "value " << v << " was overwritten before node " << reader << " (" << ir_.node(reader).op.name()
          << ") read it";
  }

  void execute(NodeId id) {
    const IrNode& node = ir_.node(id);
    for (ValueId v : node.inputs) expect_intact(v, id);
    std::span<int> scratch;
    if (const std::size_t offset = plan_.scratch[static_cast<std::size_t>(id)]; offset != MemoryPlan::kNowhere) {
      ASSERT_EQ(offset % 64, 0u);
      scratch = std::span(memory_).subspan(offset / kUnit, scratch_[static_cast<std::size_t>(id)] / kUnit);
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
    ASSERT_TRUE(kernel != nullptr && root(in) == root(out)) << node.op.name() << " writes over an input";
    const bool allowed = std::ranges::any_of(kernel->in_place, [&](const auto& pair) {
      return pair.first < static_cast<int>(node.inputs.size()) &&
             root(node.inputs[static_cast<std::size_t>(pair.first)]) == root(in) &&
             node.outputs[static_cast<std::size_t>(pair.second)] == out;
    });
    ASSERT_TRUE(allowed) << node.op.name() << " cannot work in place";
  }

  const Ir& ir_;
  const std::vector<NodeId>& order_;
  const std::vector<std::size_t>& scratch_;
  MemoryPlan plan_;
  std::vector<int> memory_;
  std::vector<int> contents_;  // by value: the tag its memory should hold
  int last_tag_ = 0;
};

class MemoryTest : public IrTest {
 protected:
  // Shapes are kept, and nothing is simplified away: views stay.
  Ir prepared(const Request& request) const {
    Ir ir = shaped(request);
    order_variables(ir);
    return ir;
  }
  MemoryPlan planned(const Ir& ir) const {
    return plan_memory(ir, schedule(ir), std::vector<std::size_t>(ir.nodes().size(), 0));
  }
  static ValueId output(const Ir& ir, const Tensor& t) {
    return ir.node(made_from(ir, t)).outputs[static_cast<std::size_t>(t.output())];
  }
};

TEST_F(MemoryTest, NoValueIsOverwrittenWhileSomebodyNeedsIt) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStream random(seed);
    Graph own;
    const GraphScope inner(own);
    const Request request = random_graph(random, 1);
    Ir ir = prune(signature_of(request), cpu_infos(1));
    infer_shapes(ir);
    if (seed % 2 == 0) simplify(ir);
    order_variables(ir);
    const std::vector<NodeId> order = schedule(ir);
    std::vector<std::size_t> scratch(ir.nodes().size(), 0);
    for (NodeId id : order)
      if (random.bits() % 4 == 0) scratch[static_cast<std::size_t>(id)] = 64 * (1 + random.bits() % 8);
    PaperRun(ir, order, scratch).run();
    if (HasFailure()) return;
  }
}

TEST_F(MemoryTest, AChainOfPointwiseOpsWorksInOneBuffer) {
  Tensor y = var("x", {64, 16});
  for (int i = 0; i < 5; ++i) y = tanh(y);
  const Ir ir = prepared({.fetches = {y}});
  EXPECT_EQ(planned(ir).arena_bytes, 64u * 16 * 4);
}

TEST_F(MemoryTest, AnInputThatIsReadAgainIsNotOverwritten) {
  const Tensor x = var("x", {64, 16}), once = tanh(x), twice = exp(once), sum = twice * once;
  const Ir ir = prepared({.fetches = {sum}});
  const MemoryPlan plan = planned(ir);
  EXPECT_EQ(plan.same_as[static_cast<std::size_t>(output(ir, twice))], kNone);
  EXPECT_NE(plan.same_as[static_cast<std::size_t>(output(ir, sum))], kNone);
  EXPECT_EQ(plan.arena_bytes, 2u * 64 * 16 * 4);
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
  EXPECT_EQ(plan.arena_bytes, 2u * 64 * 4);
}

TEST_F(MemoryTest, MemoryOfTheDeadIsUsedAgain) {
  Tensor x = var("x", {32, 32});
  for (int i = 0; i < 6; ++i) x = matmul(x, var(("w" + std::to_string(i)).c_str(), {32, 32}));  // never in place
  const Ir ir = prepared({.fetches = {x}});
  EXPECT_EQ(planned(ir).arena_bytes, 2u * 32 * 32 * 4);
}

TEST_F(MemoryTest, EmptyValuesTakeNothing) {
  const Tensor x = placeholder({"x", f32, {kAny}});
  const Ir ir = prepared({.fetches = {concat({tanh(x), exp(x)}, 0)}, .feeds = {{x, {0}}}});
  EXPECT_EQ(planned(ir).arena_bytes, 0u);
}

TEST_F(MemoryTest, WhatEarlierPartsLeftIsInTheWayUntilItsLastReaderIsDone) {
  const Tensor x = tanh(var("x", {64, 16})), y = exp(var("y", {64, 16}));
  const Ir ir = prepared({.fetches = {matmul(x, y, {.transpose_b = true})}});
  const std::vector<NodeId> order = schedule(ir);
  const std::vector<std::size_t> scratch(ir.nodes().size(), 0);
  const auto with = [&](const std::vector<HeldValue>& held) { return plan_memory(ir, order, scratch, {.held = held}); };
  const std::size_t alone = with({}).arena_bytes;
  const MemoryPlan beside = with({{.crossing = 3, .offset = 0, .bytes = 128}});
  EXPECT_EQ(beside.arena_bytes, 128 + alone);
  for (std::size_t offset : beside.offsets) EXPECT_GE(offset, 128u);
  EXPECT_EQ(with({{.crossing = 3, .offset = 0, .bytes = 128, .ends = true}}).arena_bytes, alone) << "nobody reads it";
  EXPECT_EQ(with({{.crossing = 3, .offset = 1 << 20, .bytes = 128}}).arena_bytes, (1u << 20) + 128) << "there is room";
}

TEST(Arena, ThoseOfSinglePlansLeaveAddressesForOthers) {
  std::deque<Arena> arenas;
  for (int i = 0; i < 20'000; ++i) arenas.emplace_back(Arena::For::one_plan).require(100)[99] = std::byte{1};
  EXPECT_EQ(arenas[0].require(100), arenas[0].require(10)) << "it stays where it is";
  EXPECT_TRUE(contains(error_of([&] { arenas[0].require(1 << 20); }), "got one that needs 1048576"));
}

}  // namespace
}  // namespace belfry
