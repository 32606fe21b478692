// Chains of pointwise f32 ops become one op with a small program, run tile by tile in one pass over memory. A chain
// grows backwards from its last op: a producer joins if nobody outside the chain reads it.
#include <algorithm>
#include <array>
#include <optional>

#include "belfry/engine/fusion.h"
#include "belfry/engine/pointwise_program.h"

namespace belfry {
namespace {

struct Entry {
  const char* op;
  PointwiseOp code;
};
constexpr std::array kTable{Entry{"Add", PointwiseOp::add},
                            Entry{"Sub", PointwiseOp::subtract},
                            Entry{"Mul", PointwiseOp::multiply},
                            Entry{"Div", PointwiseOp::divide},
                            Entry{"Maximum", PointwiseOp::maximum},
                            Entry{"Minimum", PointwiseOp::minimum},
                            Entry{"Pow", PointwiseOp::power},
                            Entry{"Neg", PointwiseOp::negate},
                            Entry{"Abs", PointwiseOp::abs},
                            Entry{"Square", PointwiseOp::square},
                            Entry{"Sqrt", PointwiseOp::sqrt},
                            Entry{"Rsqrt", PointwiseOp::rsqrt},
                            Entry{"Reciprocal", PointwiseOp::reciprocal},
                            Entry{"Exp", PointwiseOp::exp},
                            Entry{"Log", PointwiseOp::log},
                            Entry{"Log1p", PointwiseOp::log1p},
                            Entry{"Tanh", PointwiseOp::tanh},
                            Entry{"Sigmoid", PointwiseOp::sigmoid},
                            Entry{"Erf", PointwiseOp::erf},
                            Entry{"Gelu", PointwiseOp::gelu},
                            Entry{"GeluGrad", PointwiseOp::gelu_grad},
                            Entry{"Sin", PointwiseOp::sin},
                            Entry{"Cos", PointwiseOp::cos},
                            Entry{"Sign", PointwiseOp::sign},
                            Entry{"Floor", PointwiseOp::floor},
                            Entry{"Ceil", PointwiseOp::ceil},
                            Entry{"Relu", PointwiseOp::relu},
                            Entry{"ReluGrad", PointwiseOp::relu_grad}};

std::optional<PointwiseOp> code_of(std::string_view op) {
  const auto at = std::ranges::find_if(kTable, [&](const Entry& e) { return op == e.op; });
  return at == kTable.end() ? std::nullopt : std::optional(at->code);
}

constexpr std::size_t kMostCode = 24, kMostOperands = 12;
constexpr int kRegisters = kPointwiseRegisters;

// Every operand is full, one number, or a vector along the last axis.
bool can_join(const Ir& ir, NodeId id, const Shape& shape) {
  const IrNode& node = ir.node(id);
  if (node.dead || !code_of(node.op) || ir.info(node.outputs[0]).dtype != DType::f32 ||
      !(ir.info(node.outputs[0]).shape == shape))
    return false;
  return std::ranges::all_of(node.inputs, [&](ValueId v) {
    const Shape& s = ir.info(v).shape;
    return s == shape || s.elements() == 1 || (s.rank() == 1 && shape.rank() > 1 && s[0] == shape[-1]);
  });
}

class Chain {
 public:
  Chain(Ir& ir, NodeId last) : ir_(ir), last_(last), shape_(ir.info(ir.node(last).outputs[0]).shape) {}

  void rewrite() {
    grow(last_);
    // Members in topological order; numbers are one, since a chain is made of nodes that existed before fusion.
    std::ranges::sort(members_);
    assemble();
    IrNode& node = ir_.node(last_);
    node.op = "FusedPointwise";
    node.inputs = operands_;
    node.attributes = {{"program", program_}};
    for (NodeId member : members_)
      if (member != last_) absorb(ir_, last_, member);
  }

 private:
  void grow(NodeId id) {
    members_.push_back(id);
    for (ValueId v : ir_.node(id).inputs) {
      const NodeId producer = ir_.value(v).producer;
      if (producer == kNone || members_.size() >= kMostCode / 2 || is_member(producer)) continue;
      if (!can_join(ir_, producer, shape_) || !unordered(ir_, producer) ||
          ir_.node(producer).device != ir_.node(last_).device)
        continue;
      const std::vector<NodeId> readers = readers_of(ir_, v);
      if (!std::ranges::all_of(readers, [&](NodeId r) { return is_member(r); })) continue;
      if (outside_operands(producer) > kMostOperands) continue;
      grow(producer);
    }
  }

  bool is_member(NodeId id) const { return std::ranges::find(members_, id) != members_.end(); }

  std::size_t outside_operands(NodeId extra) const {
    std::vector<ValueId> seen;
    const auto count = [&](NodeId id) {
      for (ValueId v : ir_.node(id).inputs)
        if (std::ranges::find(seen, v) == seen.end()) seen.push_back(v);
    };
    for (NodeId id : members_) count(id);
    count(extra);
    return seen.size();
  }

  // Registers are handed out as results appear and taken back after their last reader.
  void assemble() {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const IrNode& node = ir_.node(members_[i]);
      std::array<std::int64_t, 3> sources{0, 0, 0};
      for (std::size_t k = 0; k < node.inputs.size(); ++k) sources[k] = source(node.inputs[k]);
      for (ValueId v : node.inputs) release(v, i);
      const bool end = members_[i] == last_;
      const std::int64_t to = end ? kFirstOutput : take(node.outputs[0]);
      const Ints code{static_cast<std::int64_t>(*code_of(node.op)), to, sources[0], sources[1], sources[2]};
      program_.insert(program_.end(), code.begin(), code.end());
    }
  }

  std::int64_t source(ValueId v) {
    for (int r = 0; r < kRegisters; ++r)
      if (registers_[static_cast<std::size_t>(r)] == v) return r;
    auto at = std::ranges::find(operands_, v);
    if (at == operands_.end()) at = operands_.insert(operands_.end(), v);
    return kFirstOperand + (at - operands_.begin());
  }

  void release(ValueId v, std::size_t position) {
    for (std::size_t later = position + 1; later < members_.size(); ++later)
      if (std::ranges::find(ir_.node(members_[later]).inputs, v) != ir_.node(members_[later]).inputs.end()) return;
    std::ranges::replace(registers_, v, kNone);
  }

  std::int64_t take(ValueId v) {
    const auto at = std::ranges::find(registers_, kNone);
    *at = v;
    return at - registers_.begin();
  }

  Ir& ir_;
  NodeId last_;
  Shape shape_;
  std::vector<NodeId> members_;
  std::vector<ValueId> operands_;
  std::array<ValueId, kRegisters> registers_ = [] {
    std::array<ValueId, kRegisters> none{};
    none.fill(kNone);
    return none;
  }();
  Ints program_;
};

// The op that a chain ends with: one whose reader does not take it in.
bool ends_chain(const Ir& ir, NodeId id) {
  const ValueId out = ir.node(id).outputs[0];
  const NodeId reader = only_reader(ir, out);
  if (reader == kNone || !unordered(ir, id)) return true;
  return !can_join(ir, reader, ir.info(out).shape) || ir.node(reader).device != ir.node(id).device;
}

}  // namespace

bool fuse_pointwise(Ir& ir, NodeId id) {
  if (!code_of(ir.node(id).op) || ir.node(id).outputs.empty()) return false;
  const Shape shape = ir.info(ir.node(id).outputs[0]).shape;
  if (shape.elements() == 0 || !can_join(ir, id, shape) || !ends_chain(ir, id)) return false;
  Chain(ir, id).rewrite();
  return true;
}

}  // namespace belfry
