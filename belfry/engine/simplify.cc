#include <bit>
#include <functional>
#include <optional>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/engine/engine_kinds.h"
#include "belfry/engine/evaluator.h"
#include "belfry/engine/passes.h"
#include "belfry/graph/internal/state_ops.h"

namespace belfry {
namespace {

const OpKind kReshapeLike = op_kind("ReshapeLike"), kReshape = op_kind("Reshape");

constexpr std::int64_t kFoldLimit = 1 << 20;  // results above this many elements are left to the run

const Array* constant_of(const Ir& ir, ValueId value) {
  if (!ir.is_op(value, kConstant)) return nullptr;
  return &ir.node(ir.producer(value)).attributes.get<Array>("value");
}

// Nodes by their op and inputs: lists through two arrays. Who is in it keeps its inputs.
class NodesByInputs {
 public:
  explicit NodesByInputs(const Ir& ir) : ir_(ir) {}

  // The first node with the op and inputs of `id` for which `is_same` holds; kNone if there is none, and then `id` is
  // put in.
  NodeId find_or_add(NodeId id, FunctionRef<bool(NodeId)> is_same) {
    if (first_.empty()) first_.assign(std::bit_ceil(ir_.nodes().size() + 1), kNone);
    next_.resize(ir_.nodes().size(), kNone);
    const IrNode& node = ir_.node(id);
    NodeId* place = &first_[hash(node) & (first_.size() - 1)];
    for (; *place != kNone; place = &next_[at(*place)])
      if (ir_.node(*place).op == node.op && ir_.node(*place).inputs == node.inputs && is_same(*place)) return *place;
    *place = id;
    next_[at(id)] = kNone;
    return kNone;
  }
  void clear() { first_.clear(); }

 private:
  static std::size_t hash(const IrNode& node) {
    std::size_t sum = std::hash<OpKind>()(node.op);
    for (ValueId v : node.inputs) sum = sum * 1'000'003 + static_cast<std::size_t>(v);
    return sum ^ (sum >> 20);
  }

  const Ir& ir_;
  std::vector<NodeId> first_, next_;  // by hash, by node
};

class Simplifier {
 public:
  explicit Simplifier(Ir& ir) : ir_(ir), seen_(ir) {}

  void run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (NodeId id : topological(ir_)) {
        if (ir_.node(id).dead) continue;
        changed = shape_only_like(id) || changed;
        changed = pass_through(id) || fold(id) || merge(id) || changed;
      }
      remove_unneeded(ir_);
      seen_.clear();
    }
  }

 private:
  // If only a tensor's shape is used, the edge to the tensor is removed ("like" operands).
  bool shape_only_like(NodeId id) {
    const OpDef* def = ir_.node(id).def();
    if (def == nullptr || def->shape_only.empty()) return false;
    bool changed = false;
    for (int input = 0; input < static_cast<int>(ir_.node(id).inputs.size()); ++input) {
      if (!def->uses_only_shape(input)) continue;
      const IrNode& node = ir_.node(id);
      const ValueId v = node.inputs[static_cast<std::size_t>(input)];
      if (ir_.is_op(v, kShapeOnly)) continue;
      const TensorInfo info = ir_.info(v);
      IrNode stand_in{.op = kShapeOnly, .origin = node.origin, .device = node.device};
      const NodeId made = ir_.add_node(std::move(stand_in), {info});
      ir_.change(id,
                 [&](IrNode& changed) { changed.inputs[static_cast<std::size_t>(input)] = ir_.node(made).outputs[0]; });
      changed = true;
    }
    return changed;
  }

  bool same_type_and_shape(ValueId a, ValueId b) const {
    return ir_.info(a).shape == ir_.info(b).shape && ir_.info(a).dtype == ir_.info(b).dtype;
  }

  // Ops that return an input unchanged.
  bool pass_through(NodeId id) {
    const IrNode& node = ir_.node(id);
    if (node.outputs.empty()) return false;
    const OpDef& def = node.op.definition();
    if (def.forwards) {
      bypass(ir_, id, {node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(node.outputs.size())});
      return true;
    }
    if (def.forwards_if_same && same_type_and_shape(node.inputs[0], node.outputs[0]) &&
        def.forwards_if_same(node.attributes)) {
      bypass(ir_, id, {node.inputs[0]});
      return true;
    }
    if (node.op == kReshapeLike) {  // an ordinary reshape, now that the shape is known
      ir_.change(id, [](IrNode& reshape) {
        reshape.op = kReshape;
        reshape.inputs.resize(1);
      });
      return true;
    }
    return neutral_operand(id, node);
  }

  // x + 0, x - 0, x * 1, x / 1
  bool neutral_operand(NodeId id, const IrNode& node) {
    const std::optional<NeutralElement>& neutral = node.op.definition().neutral;
    if (!neutral || node.inputs.size() != 2) return false;
    for (int side : {1, 0}) {
      if (side == 0 && neutral->right_only) continue;
      const ValueId other = node.inputs[static_cast<std::size_t>(1 - side)];
      if (uniform_constant(ir_, node.inputs[static_cast<std::size_t>(side)]) == neutral->value &&
          same_type_and_shape(other, node.outputs[0])) {
        keep_order(id);
        bypass(ir_, id, {other});
        return true;
      }
    }
    return false;
  }

  bool fold(NodeId id) {
    const IrNode& node = ir_.node(id);
    if (node.op == kConstant || node.outputs.size() != 1 || !evaluator().can_evaluate(node)) return false;
    const TensorInfo info = ir_.info(node.outputs[0]);
    if (info.elements() > kFoldLimit) return false;
    std::vector<Array> inputs;
    for (ValueId v : node.inputs) {
      if (ir_.is_op(v, kShapeOnly) || node.op.definition().ignores_elements) {
        inputs.emplace_back(ir_.info(v).dtype, ir_.info(v).shape);
        continue;
      }
      const Array* constant = constant_of(ir_, v);
      if (constant == nullptr) return false;
      inputs.push_back(*constant);
    }
    if (node.inputs.empty()) return false;
    make_constant(id, evaluator().evaluate(node, inputs, {info})[0]);
    return true;
  }

  // A constant made under a control dependency comes after it, and so does what is computed from it.
  void keep_order(NodeId id) {
    for (ValueId v : ir_.node(id).inputs)
      if (ir_.is_op(v, kConstant)) {
        const IdList before = ir_.node(ir_.producer(v)).after;
        ir_.change(id, [&](IrNode& node) { node.after.insert(node.after.end(), before.begin(), before.end()); });
      }
  }

  void make_constant(NodeId id, const Array& value) {
    keep_order(id);
    ir_.change(id, [&](IrNode& node) {
      node.op = kConstant;
      node.inputs.clear();
      node.attributes = {{"value", value}};
    });
  }

  // The same op on the same inputs is computed once.
  bool merge(NodeId id) {
    const IrNode& node = ir_.node(id);
    const OpDef& def = node.op.definition();
    const bool fixed = def.standing && !def.stateful;  // unlike a variable
    if (!fixed && !is_pure(node)) return false;
    if (node.outputs.empty() || !node.after.empty()) return false;
    const NodeId same = seen_.find_or_add(id, [&](NodeId candidate) {
      const IrNode& other = ir_.node(candidate);
      return !other.dead && other.device == node.device && equal(other.attributes, node.attributes) &&
             same_type_and_shape(other.outputs[0], node.outputs[0]);
    });
    if (same == kNone) return false;
    bypass(ir_, id, ir_.node(same).outputs);
    return true;
  }

  Ir& ir_;
  NodesByInputs seen_;
};

}  // namespace

void simplify(Ir& ir) { Simplifier(ir).run(); }

}  // namespace belfry
