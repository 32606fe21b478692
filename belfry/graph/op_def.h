// What an op *means*: its inputs and outputs, its shape rule, its gradient, one line of documentation. How it is
// computed is registered separately by the engine (or here, as a host kernel, for a user's own op).
//
//   const OpRegistration softmax_op = define_op("Softmax")
//       .input("logits").output("probabilities")
//       .shape([](const ShapeContext& c) { return c.input(0); })
//       .gradient([](const GradientContext& c) { ... return Tensors{...}; })
//       .doc("Softmax over the last axis.");
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/graph/attributes.h"
#include "belfry/graph/op_kind.h"
#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

// The elements of a small tensor of integers, in row-major order, as far as they follow from shapes and constants:
// sizes that other shapes are made of. Nothing is known of an element that depends on what a run is fed.
using KnownInts = std::vector<std::optional<std::int64_t>>;

// What a shape rule sees: nothing but shapes, types, attributes and known integers, so that the compiler can run the
// same rule again with concrete shapes.
class ShapeContext {
 public:
  ShapeContext(std::span<const Shape> shapes, std::span<const DType> dtypes, const Attributes& attributes,
               std::span<const KnownInts> ints = {})
      : shapes_(shapes), dtypes_(dtypes), attributes_(attributes), ints_(ints) {}

  int inputs() const { return static_cast<int>(shapes_.size()); }
  const Shape& input(int index) const { return shapes_[static_cast<std::size_t>(index)]; }
  DType dtype(int index) const { return dtypes_[static_cast<std::size_t>(index)]; }
  // The elements of an input, as far as they are known; empty if nothing is known of it.
  const KnownInts& ints(int index) const {
    static const KnownInts none;
    return ints_.empty() ? none : ints_[static_cast<std::size_t>(index)];
  }
  const Attributes& attributes() const { return attributes_; }

 private:
  std::span<const Shape> shapes_;
  std::span<const DType> dtypes_;
  const Attributes& attributes_;
  std::span<const KnownInts> ints_;
};

// What a gradient function sees: the forward operation and the gradients that arrived at its outputs.
class GradientContext {
 public:
  GradientContext(Node* node, Tensors grads) : node_(node), grads_(std::move(grads)) {}

  Tensor input(int index) const;
  int inputs() const;
  Tensor output(int index = 0) const { return {node_, index}; }
  // The gradient of output `index`: never empty for a single-output op; for others ask has_grad() first.
  Tensor grad(int index = 0) const { return grads_[static_cast<std::size_t>(index)]; }
  bool has_grad(int index) const { return static_cast<bool>(grads_[static_cast<std::size_t>(index)]); }
  const Attributes& attributes() const;
  Node* node() const { return node_; }

 private:
  Node* node_;
  Tensors grads_;
};

// One shape per output; a single Shape converts implicitly.
struct Shapes : std::vector<Shape> {
  using vector::vector;
  Shapes(const Shape& one) : vector{one} {}  // NOLINT(google-explicit-constructor)
};

using ShapeRule = std::function<Shapes(const ShapeContext&)>;
using DTypeRule = std::function<std::vector<DType>(const ShapeContext&)>;
using IntsRule = std::function<KnownInts(const ShapeContext&)>;
using GradientRule = std::function<Tensors(const GradientContext&)>;  // one per input; empty where none flows

// What a user's kernel sees: plain arrays, whatever layout the ops around it use, and the op's attributes. The arrays
// own nothing: they and copies of them are valid until the kernel returns. An input may be the very array that the
// caller of the run feeds, or one that other ops read: never write to it, not even through a copy. clone() gives an
// array to keep or to change.
class HostKernelContext {
 public:
  HostKernelContext(std::span<const Array> inputs, std::span<Array> outputs, const Attributes& attributes)
      : inputs_(inputs), outputs_(outputs), attributes_(attributes) {}

  std::span<const Array> inputs() const { return inputs_; }
  std::span<Array> outputs() const { return outputs_; }
  const Array& input(int index = 0) const { return inputs_[static_cast<std::size_t>(index)]; }
  Array& output(int index = 0) const { return outputs_[static_cast<std::size_t>(index)]; }
  const Attributes& attributes() const { return attributes_; }

 private:
  std::span<const Array> inputs_;
  std::span<Array> outputs_;
  const Attributes& attributes_;
};

using HostKernel = std::function<void(const HostKernelContext&)>;
using PlainHostKernel = std::function<void(std::span<const Array> inputs, std::span<Array> outputs)>;

using ForwardsRule = std::function<bool(const Attributes&)>;

// The number that leaves the other operand of a binary op unchanged.
struct NeutralElement {
  double value = 0;
  bool right_only = false;  // x - 0 is x, but 0 - x is not
};

struct OpDef {
  std::string name;
  OpKind kind;
  std::vector<std::string> inputs;
  bool variadic = false;  // the last input may be given any number of times, also zero
  std::vector<std::string> outputs;
  ShapeRule shape;
  DTypeRule dtype;  // default: every output has the type of input 0
  GradientRule gradient;
  bool differentiable = true;
  // Never merged with an equal op, folded, or dropped because its value looks constant: random numbers, variables.
  bool stateful = false;
  // Draws random numbers: gets a "seed" attribute from its full name and the replica's index when it is added.
  bool random = false;
  // Has an effect besides its outputs, so it counts as needed when fetched and is ordered by control paths only.
  bool side_effect = false;
  std::vector<int> updates;  // inputs that name a variable which this op overwrites
  bool overwrites = false;   // the whole of the first of them, without reading the old value
  // Inputs of which only the shape is used: they do not keep a tensor alive. The number of a variadic input means all
  // that are given.
  std::vector<int> shape_only;
  // Inputs (integers) whose elements the shape rule reads. Where they do not follow from shapes, the run is cut in two:
  // what comes after is planned once they are computed.
  std::vector<int> sizes;
  bool keeps_elements = false;  // output 0 is input 0, element by element, in another shape
  IntsRule ints;                // of an op that makes integers: what is known of them before a run
  HostKernel host_kernel;       // a user's op: the kernel itself
  // Where a value that no op of a run computes comes from.
  bool variable = false;       // a variable itself
  bool must_be_fed = false;    // the caller of the run, who must feed it
  bool taken = false;          // the session, which takes it from a queue before the run
  bool source = false;         // brings a value into a part of a run: nothing there computes it, or could do so again
  bool everywhere = false;     // a source with the same value in all parts of a run: each part has its own
  bool standing = false;       // a source whose memory, if it needs any, holds the value before the run begins
  bool silent = false;         // there is nothing to run
  bool across_towers = false;  // the engine gives it the inputs of the ops of its group in all towers
  // What the compiler may replace it by.
  bool forwards = false;          // output i is input i
  ForwardsRule forwards_if_same;  // output 0 is input 0 if type and shape are the same and the rule agrees
  std::optional<NeutralElement> neutral;
  // Its value follows from the shapes of its inputs; unlike with shape_only, their layout counts too.
  bool ignores_elements = false;
  std::string doc;

  bool uses_only_shape(int input) const;  // `input` counts each one given for a variadic input
};

using OpRegistration = const OpDef*;

class OpDefinition {
 public:
  explicit OpDefinition(std::string_view name, const Location& where = Location::current());
  OpDefinition& input(std::string name);
  OpDefinition& inputs(std::string name);  // variadic
  OpDefinition& output(std::string name);
  OpDefinition& shape(ShapeRule rule);
  OpDefinition& dtype(DType fixed);
  OpDefinition& dtype(DTypeRule rule);
  OpDefinition& gradient(GradientRule rule);
  OpDefinition& not_differentiable();
  OpDefinition& stateful();
  OpDefinition& random();
  OpDefinition& side_effect();
  OpDefinition& updates(int input);
  OpDefinition& overwrites(int input);  // updates it without reading it
  OpDefinition& variable();
  OpDefinition& must_be_fed();
  OpDefinition& taken();
  OpDefinition& source();
  OpDefinition& everywhere();
  OpDefinition& standing();  // a source, everywhere and silent
  OpDefinition& silent();
  OpDefinition& across_towers();
  OpDefinition& forwards();
  OpDefinition& forwards_if_same(ForwardsRule rule = [](const Attributes&) { return true; });
  OpDefinition& neutral(double value);        // on either side
  OpDefinition& right_neutral(double value);  // as the second operand
  OpDefinition& ignores_elements();
  OpDefinition& shape_only(int input);
  OpDefinition& sizes(int input);
  OpDefinition& keeps_elements();
  OpDefinition& ints(IntsRule rule);
  OpDefinition& kernel(HostKernel kernel);
  OpDefinition& kernel(PlainHostKernel kernel);  // for an op without attributes
  OpDefinition& doc(std::string text);
  operator OpRegistration();  // NOLINT(google-explicit-constructor): the end of the statement registers it
  // Ends the statement for a kind that only the engine makes: no graph contains it, and find_op() does not find it.
  OpKind engine_kind();

 private:
  OpDef def_;
};

inline OpDefinition define_op(std::string_view name, const Location& where = Location::current()) {
  return OpDefinition(name, where);
}

const OpDef* find_op(std::string_view name);  // nullptr if there is none
std::vector<const OpDef*> registered_ops();   // sorted by name

// What is known of the integers that an op gives, by its rule; empty for ops without one, for several outputs and for
// tensors larger than shapes need.
KnownInts infer_ints(const OpDef& def, const ShapeContext& context, std::span<const TensorSpec> outputs);

// Concrete or partial output shapes and types of an op; used when it is added and again by the compiler.
struct InferredOutputs {
  Shapes shapes;
  std::vector<DType> dtypes;
};
InferredOutputs infer_outputs(const OpDef& def, const ShapeContext& context);

}  // namespace belfry
#pragma GCC visibility pop
