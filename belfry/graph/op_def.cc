#include "belfry/graph/op_def.h"

#include <algorithm>
#include <map>

#include "belfry/base/check.h"
#include "belfry/base/mutex.h"
#include "belfry/graph/internal/name_check.h"
#include "belfry/graph/node.h"

namespace belfry {
namespace {

// The table that self-registration fills: written while libraries load and when a user's op registers, read by all.
struct Registry {
  Mutex mutex;
  std::map<std::string, OpDef, std::less<>> ops BELFRY_GUARDED_BY(mutex);  // entries stay and never change
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

bool OpDef::uses_only_shape(int input) const {
  const int declared = std::min(input, static_cast<int>(inputs.size()) - 1);
  return std::ranges::find(shape_only, declared) != shape_only.end();
}

OpDefinition::OpDefinition(std::string_view name, const Location& where) {
  check_name(name, fmt::format("[define_op '{}']", name), where);
  def_.name = name;
  def_.kind = op_kind(name);
}

OpDefinition& OpDefinition::input(std::string name) {
  def_.inputs.push_back(std::move(name));
  return *this;
}
OpDefinition& OpDefinition::inputs(std::string name) {
  def_.inputs.push_back(std::move(name));
  def_.variadic = true;
  return *this;
}
OpDefinition& OpDefinition::output(std::string name) {
  def_.outputs.push_back(std::move(name));
  return *this;
}
OpDefinition& OpDefinition::shape(ShapeRule rule) {
  def_.shape = std::move(rule);
  return *this;
}
OpDefinition& OpDefinition::dtype(DType fixed) {
  return dtype([fixed](const ShapeContext&) { return std::vector<DType>{fixed}; });
}
OpDefinition& OpDefinition::dtype(DTypeRule rule) {
  def_.dtype = std::move(rule);
  return *this;
}
OpDefinition& OpDefinition::gradient(GradientRule rule) {
  def_.gradient = std::move(rule);
  return *this;
}
OpDefinition& OpDefinition::not_differentiable() {
  def_.differentiable = false;
  return *this;
}
OpDefinition& OpDefinition::stateful() {
  def_.stateful = true;
  return *this;
}
OpDefinition& OpDefinition::random() {
  def_.random = true;
  return stateful();
}
OpDefinition& OpDefinition::side_effect() {
  def_.stateful = def_.side_effect = true;
  return *this;
}
OpDefinition& OpDefinition::updates(int input) {
  def_.updates.push_back(input);
  return side_effect();
}
OpDefinition& OpDefinition::overwrites(int input) {
  def_.overwrites = true;
  return updates(input);
}
OpDefinition& OpDefinition::variable() {
  def_.variable = true;
  return standing().stateful();
}
OpDefinition& OpDefinition::must_be_fed() {
  def_.must_be_fed = true;
  return stateful();
}
OpDefinition& OpDefinition::taken() {
  def_.taken = true;
  return stateful();
}
OpDefinition& OpDefinition::source() {
  def_.source = true;
  return *this;
}
OpDefinition& OpDefinition::everywhere() {
  def_.everywhere = true;
  return *this;
}
OpDefinition& OpDefinition::standing() {
  def_.standing = true;
  return source().everywhere().silent();
}
OpDefinition& OpDefinition::silent() {
  def_.silent = true;
  return *this;
}
OpDefinition& OpDefinition::across_towers() {
  def_.across_towers = true;
  return *this;
}
OpDefinition& OpDefinition::forwards() {
  def_.forwards = true;
  return *this;
}
OpDefinition& OpDefinition::forwards_if_same(ForwardsRule rule) {
  def_.forwards_if_same = std::move(rule);
  return *this;
}
OpDefinition& OpDefinition::neutral(double value) {
  def_.neutral = {.value = value};
  return *this;
}
OpDefinition& OpDefinition::right_neutral(double value) {
  def_.neutral = {.value = value, .right_only = true};
  return *this;
}
OpDefinition& OpDefinition::ignores_elements() {
  def_.ignores_elements = true;
  return *this;
}
OpDefinition& OpDefinition::shape_only(int input) {
  def_.shape_only.push_back(input);
  return *this;
}
OpDefinition& OpDefinition::sizes(int input) {
  def_.sizes.push_back(input);
  return *this;
}
OpDefinition& OpDefinition::keeps_elements() {
  def_.keeps_elements = true;
  return *this;
}
OpDefinition& OpDefinition::ints(IntsRule rule) {
  def_.ints = std::move(rule);
  return *this;
}
OpDefinition& OpDefinition::kernel(HostKernel kernel) {
  def_.host_kernel = std::move(kernel);
  return *this;
}
OpDefinition& OpDefinition::kernel(PlainHostKernel kernel) {
  return this->kernel([plain = std::move(kernel)](const HostKernelContext& c) { plain(c.inputs(), c.outputs()); });
}
OpDefinition& OpDefinition::doc(std::string text) {
  def_.doc = std::move(text);
  return *this;
}

OpDefinition::operator OpRegistration() {
  BELFRY_CHECK(!def_.outputs.empty() ? static_cast<bool>(def_.shape) : true,
               "[define_op '{}'] expected a shape rule, got none. Add .shape(...).", def_.name);
  BELFRY_CHECK(!def_.outputs.empty() || !def_.shape,
               "[define_op '{}'] expected an output for the shape rule, got none. Add .output(...).", def_.name);
  BELFRY_CHECK(static_cast<bool>(def_.gradient) || !def_.differentiable,
               "[define_op '{}'] expected a gradient, got none. Add .gradient(...) or .not_differentiable().",
               def_.name);
  Registry& r = registry();
  const MutexLock lock(r.mutex);
  const auto [at, added] = r.ops.emplace(def_.name, def_);
  const bool declared = added && def_.kind.declare(&at->second);  // not if the engine has a kind of that name
  if (added && !declared) r.ops.erase(at);
  BELFRY_CHECK(declared,
               "[define_op '{}'] expected a new name, got one that is registered already. Choose another name.",
               def_.name);
  return &at->second;
}

OpKind OpDefinition::engine_kind() {
  BELFRY_BUG_IF(!def_.kind.declare(new OpDef(def_)), "kind {} is declared twice", def_.name);  // kept, as all ops are
  return def_.kind;
}

const OpDef* find_op(std::string_view name) {
  Registry& r = registry();
  const MutexLock lock(r.mutex);
  const auto at = r.ops.find(name);
  return at == r.ops.end() ? nullptr : &at->second;
}

std::vector<const OpDef*> registered_ops() {
  Registry& r = registry();
  const MutexLock lock(r.mutex);
  std::vector<const OpDef*> out;
  for (const auto& [name, def] : r.ops) out.push_back(&def);
  return out;
}

InferredOutputs infer_outputs(const OpDef& def, const ShapeContext& context) {
  InferredOutputs out;
  if (def.shape) out.shapes = def.shape(context);
  if (def.dtype) out.dtypes = def.dtype(context);
  const bool follow_input = !def.dtype && context.inputs() > 0;
  if (follow_input) out.dtypes.assign(out.shapes.size(), context.dtype(0));
  if (out.dtypes.size() == 1 && out.shapes.size() > 1) out.dtypes.assign(out.shapes.size(), out.dtypes[0]);
  BELFRY_BUG_IF(out.shapes.size() != out.dtypes.size(), "op {} has {} shapes but {} types", def.name, out.shapes.size(),
                out.dtypes.size());
  return out;
}

KnownInts infer_ints(const OpDef& def, const ShapeContext& context, std::span<const TensorSpec> outputs) {
  constexpr std::int64_t kMost = 64;
  if (!def.ints || outputs.size() != 1 || (outputs[0].dtype != i32 && outputs[0].dtype != i64) ||
      !outputs[0].shape.is_concrete() || outputs[0].shape.elements() > kMost)
    return {};
  KnownInts out = def.ints(context);
  BELFRY_BUG_IF(!out.empty() && static_cast<std::int64_t>(out.size()) != outputs[0].shape.elements(),
                "op {} knows {} integers of {}", def.name, out.size(), to_string(outputs[0].shape));
  return out;
}

Tensor GradientContext::input(int index) const { return node_->inputs[static_cast<std::size_t>(index)]; }
int GradientContext::inputs() const { return static_cast<int>(node_->inputs.size()); }
const Attributes& GradientContext::attributes() const { return node_->attributes; }

}  // namespace belfry
