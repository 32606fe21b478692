// Chains of pointwise ops on f32 and bool become one op with a small program, run tile by tile in one pass over memory.
// A chain grows backwards from its last op: a producer joins if nothing outside the chain reads it.
#include <algorithm>
#include <array>

#include "belfry/engine/cpu/fuse/fusion.h"
#include "belfry/engine/cpu/fuse/pointwise_program.h"
#include "belfry/engine/cpu/pointwise/pointwise_ops.h"

namespace belfry {
namespace {

const OpKind kCast = op_kind("Cast"), kFusedPointwise = op_kind("FusedPointwise");

constexpr std::size_t kMostCode = 24, kMostOperands = 12;
constexpr int kRegisters = kPointwiseRegisters;

// One number for each vector along the last axis.
bool is_column(const Shape& s, const Shape& whole) {
  const int last = whole.rank() - 1;
  return last > 0 && s.rank() == whole.rank() && s[last] == 1 && s.slice(0, last) == whole.slice(0, last);
}

bool has_type(const Ir& ir, ValueId v) {
  const DType dtype = ir.info(v).dtype;
  return dtype == DType::f32 || dtype == DType::boolean;
}

// Every operand is full, one number, a vector along the last axis, or one number for each such vector.
bool can_join(const Ir& ir, NodeId id, const Shape& shape) {
  const IrNode& node = ir.node(id);
  if (node.dead || !find_pointwise(node.op) || !has_type(ir, node.outputs[0]) ||
      !(ir.info(node.outputs[0]).shape == shape))
    return false;
  // Numbers become bools only where a program ends: inside it they would stay numbers.
  if (node.op == kCast && ir.info(node.outputs[0]).dtype == DType::boolean) return false;
  return std::ranges::all_of(node.inputs, [&](ValueId v) {
    const Shape& s = ir.info(v).shape;
    if (!has_type(ir, v)) return false;
    return s == shape || s.elements() == 1 || (s.rank() == 1 && shape.rank() > 1 && s[0] == shape[-1]) ||
           is_column(s, shape);
  });
}

class Chain {
 public:
  Chain(Ir& ir, NodeId last) : ir_(ir), last_(last), shape_(ir.info(ir.node(last).outputs[0]).shape) {}

  void rewrite() {
    members_.push_back(last_);
    while (grow()) {
    }
    // Members in topological order, which is that of their numbers: all nodes of a chain existed before fusion.
    std::ranges::sort(members_);
    assemble();
    ir_.change(last_, [&](IrNode& node) {
      node.op = kFusedPointwise;
      node.inputs = operands_;
      node.attributes = {{"program", program_}};
    });
    for (NodeId member : members_)
      if (member != last_) absorb(ir_, last_, member);
  }

 private:
  // Absorbs what it can; a producer with several readers has to wait until all of them are members.
  bool grow() {
    const std::size_t before = members_.size();
    for (std::size_t i = 0; i < members_.size(); ++i)
      for (ValueId v : ir_.node(members_[i]).inputs) {
        const NodeId producer = ir_.producer(v);
        if (producer == kNone || members_.size() >= kMostCode / 2 || is_member(producer)) continue;
        if (!can_join(ir_, producer, shape_) || !unordered(ir_, producer) ||
            ir_.node(producer).device != ir_.node(last_).device)
          continue;
        const std::vector<NodeId> readers = readers_of(ir_, v);
        if (!std::ranges::all_of(readers, [&](NodeId r) { return is_member(r); })) continue;
        if (outside_operands(producer) > kMostOperands) continue;
        members_.push_back(producer);
      }
    return members_.size() > before;
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

  // Registers are assigned as results appear and released after their last reader.
  void assemble() {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const IrNode& node = ir_.node(members_[i]);
      std::array<std::int64_t, 3> sources{0, 0, 0};
      for (std::size_t k = 0; k < node.inputs.size(); ++k) sources[k] = source(node.inputs[k]);
      for (ValueId v : node.inputs) release(v, i);
      const bool end = members_[i] == last_;
      const std::int64_t to = end ? kFirstOutput : take(node.outputs[0]);
      const auto alpha = static_cast<float>(node.attributes.get_or<double>("alpha", 0));
      const Ints code{pack_pointwise(*find_pointwise(node.op), alpha), to, sources[0], sources[1], sources[2]};
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

// The op that a chain ends with: one that some reader does not absorb.
bool ends_chain(const Ir& ir, NodeId id) {
  if (!unordered(ir, id)) return true;
  const ValueId out = ir.node(id).outputs[0];
  const std::vector<NodeId> readers = readers_of(ir, out);
  return readers.empty() || std::ranges::any_of(readers, [&](NodeId reader) {
           return !can_join(ir, reader, ir.info(out).shape) || ir.node(reader).device != ir.node(id).device;
         });
}

}  // namespace

bool fuse_pointwise(Ir& ir, NodeId id) {
  if (!find_pointwise(ir.node(id).op) || ir.node(id).outputs.empty()) return false;
  const Shape shape = ir.info(ir.node(id).outputs[0]).shape;
  if (shape.elements() == 0 || !can_join(ir, id, shape) || !ends_chain(ir, id)) return false;
  Chain(ir, id).rewrite();
  // An op that this chain could have absorbed but did not (two chains read it, or it would be too long) now ends one.
  for (ValueId v : IdList(ir.node(id).inputs))
    if (const NodeId producer = ir.producer(v); producer != kNone) fuse_pointwise(ir, producer);
  return true;
}

}  // namespace belfry
