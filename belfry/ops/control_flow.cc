#include "belfry/ops/control_flow.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/internal/subgraph.h"
#include "belfry/graph/scope.h"

namespace belfry {
namespace {

const SubGraph& function_of(const Attributes& attributes, std::string_view name) {
  return *attributes.get<SubGraphPtr>(name);
}

std::vector<Shape> shapes_of(const ShapeContext& c, int first, int last) {
  std::vector<Shape> out;
  for (int i = first; i < last; ++i) out.push_back(c.input(i));
  return out;
}

// What both branches can promise: dimensions that differ are unknown.
Shape common(const Shape& a, const Shape& b) {
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < a.rank(); ++i) sizes.push_back(a[i] == b[i] ? a[i] : kAny);
  return Shape(sizes);
}

std::vector<Operand> operands_of(const Tensors& tensors) { return {tensors.begin(), tensors.end()}; }

// One gradient for each input from `first` on: the floats' in turn, none for the others.
Tensors spread(const GradientContext& c, int first, const Tensors& floats) {
  Tensors out(static_cast<std::size_t>(c.inputs()));
  std::size_t next = 0;
  for (int i = first; i < c.inputs() && next < floats.size(); ++i)
    if (is_float(c.input(i).dtype())) out[static_cast<std::size_t>(i)] = floats[next++];
  return out;
}

// Inputs: the predicate, then those of both functions.
const OpRegistration cond_def =
    define_op("Cond")
        .inputs("inputs")
        .output("outputs")
        .shape([](const ShapeContext& c) {
          BELFRY_CHECK(c.dtype(0) == DType::boolean && c.input(0).rank() == 0,
                       "expected a bool scalar to decide, got {} {}", name_of(c.dtype(0)), to_string(c.input(0)));
          const std::vector<Shape> inputs = shapes_of(c, 1, c.inputs());
          const Shapes a = infer_subgraph(function_of(c.attributes(), "then"), inputs),
                       b = infer_subgraph(function_of(c.attributes(), "else"), inputs);
          Shapes out;
          for (std::size_t i = 0; i < a.size(); ++i) {
            BELFRY_CHECK(compatible(a[i], b[i]), "expected results of the same shape from both branches, got {} and {}",
                         to_string(a[i]), to_string(b[i]));
            out.push_back(common(a[i], b[i]));
          }
          return out;
        })
        .dtype([](const ShapeContext& c) { return dtypes_of(function_of(c.attributes(), "then").outputs); })
        // Another Cond: the gradient of the function that ran.
        .gradient([](const GradientContext& c) {
          const SubGraph &then = function_of(c.attributes(), "then"), &otherwise = function_of(c.attributes(), "else");
          const SubGraphPtr dthen = gradient_of(then, "then_grad"), dotherwise = gradient_of(otherwise, "else_grad");
          Tensors inputs;
          for (int i = 0; i < c.inputs(); ++i) inputs.push_back(c.input(i));
          const Tensors grads = float_grads(c, 0, then.outputs.size());
          inputs.insert(inputs.end(), grads.begin(), grads.end());
          return spread(c, 1,
                        add_tensors(find_op("Cond"), operands_of(inputs),
                                    {.attributes = {{"then", dthen}, {"else", dotherwise}}}));
        })
        .doc("One of two functions of the inputs, chosen by a bool scalar.");

// Inputs: the loop's tensors, then what condition and body captured. Outputs: the loop's tensors, the number of passes.
const OpRegistration while_def =
    define_op("While")
        .inputs("inputs")
        .output("outputs")
        .shape([](const ShapeContext& c) {
          const SubGraph& body = function_of(c.attributes(), "body");
          const std::vector<Shape> inputs = shapes_of(c, 0, c.inputs());
          const Shapes next = infer_subgraph(body, inputs);
          Shapes out;
          for (std::size_t i = 0; i < next.size(); ++i) {
            BELFRY_CHECK(compatible(next[i], inputs[i]),
                         "expected a body that keeps the shapes of the loop's tensors, got {} for number {} of {}",
                         to_string(next[i]), i, to_string(inputs[i]));
            out.push_back(inputs[i]);
          }
          out.push_back(Shape{});
          return out;
        })
        .dtype([](const ShapeContext& c) {
          std::vector<DType> out = dtypes_of(function_of(c.attributes(), "body").outputs);
          out.push_back(DType::i64);
          return out;
        })
        .gradient([](const GradientContext& c) {
          const SubGraphPtr& body = c.attributes().get<SubGraphPtr>("body");
          const SubGraphPtr dbody = gradient_of(*body, "body_grad");
          Tensors inputs;
          for (int i = 0; i < c.inputs(); ++i) inputs.push_back(c.input(i));
          inputs.push_back(c.output(static_cast<int>(body->outputs.size())));
          const Tensors grads = float_grads(c, 0, body->outputs.size());
          inputs.insert(inputs.end(), grads.begin(), grads.end());
          return spread(c, 0,
                        add_tensors(find_op("WhileGrad"), operands_of(inputs),
                                    {.attributes = {{"body", body}, {"gradient", dbody}}}));
        })
        .doc("Repeats a function of the loop's tensors while a condition holds.");

// Inputs: those of While, the number of passes, the gradients of the float loop tensors. Outputs: the gradients of
// While's float inputs.
const OpRegistration while_grad_def =
    define_op("WhileGrad")
        .inputs("inputs")
        .output("gradients")
        .shape([](const ShapeContext& c) {
          const SubGraph& body = function_of(c.attributes(), "body");
          Shapes out;
          for (std::size_t i = 0; i < body.inputs.size(); ++i)
            if (is_float(body.inputs[i].dtype())) out.push_back(c.input(static_cast<int>(i)));
          return out;
        })
        .dtype([](const ShapeContext& c) { return dtypes_of(function_of(c.attributes(), "gradient").outputs); })
        .gradient([](const GradientContext& c) -> Tensors {
          fail(
              "{} expected the first gradient of while_loop(), got one of its "
              "gradient {}. Unroll the loop for higher orders.",
              describe(*c.node()), made_at(*c.node()));
        })
        .doc("The gradient of While, by repeating it and going back pass by pass.");

Tensors joined(const Tensors& a, const Tensors& b) {
  Tensors out = a;
  for (const Tensor& t : b)
    if (std::ranges::find(out, t) == out.end()) out.push_back(t);
  return out;
}

std::vector<TensorSpec> loop_specs(const Tensors& start) {
  std::vector<TensorSpec> out;
  for (const Tensor& t : start) {
    BELFRY_CHECK(static_cast<bool>(t), "[while_loop] expected tensors to start from, got an empty one");
    out.push_back({"", t.dtype(), t.shape()});
  }
  return out;
}

void check_same_types(const char* where, const char* what, const std::vector<DType>& a, const std::vector<DType>& b) {
  BELFRY_CHECK(a.size() == b.size(), "[{}] expected {}, got {} and {} tensors", where, what, a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    BELFRY_CHECK(a[i] == b[i], "[{}] expected {}, got {} and {} at index {}", where, what, name_of(a[i]), name_of(b[i]),
                 i);
}

}  // namespace

Tensors cond(const Operand& predicate, const std::function<Tensors()>& then, const std::function<Tensors()>& otherwise,
             std::string_view name) {
  const NameScope scope(name);
  const SubGraphPtr a = make_subgraph({}, "then", [&](const Tensors&) { return then(); }),
                    b = make_subgraph({}, "else", [&](const Tensors&) { return otherwise(); });
  check_same_types("cond", "branches that give tensors of the same types", dtypes_of(a->outputs),
                   dtypes_of(b->outputs));
  for (std::size_t i = 0; i < a->outputs.size(); ++i)
    BELFRY_CHECK(a->outputs[i].rank() == b->outputs[i].rank(),
                 "[cond] expected branches that give tensors of the same shapes, got {} and {} at index {}",
                 to_string(a->outputs[i].shape()), to_string(b->outputs[i].shape()), i);
  const Tensors captured = joined(a->captured, b->captured);
  std::vector<Operand> inputs{predicate};
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  return add_tensors(cond_def, inputs,
                     {.attributes = {{"then", with_captures(*a, captured)}, {"else", with_captures(*b, captured)}}});
}

Tensors while_loop(const LoopTensors& from, const std::function<Tensor(const Tensors&)>& condition,
                   const std::function<Tensors(const Tensors&)>& body, const WhileOptions& options,
                   std::string_view name, const Location& where) {
  const Tensors& start = from;
  BELFRY_CHECK(!start.empty(), "[while_loop] expected at least one tensor to start from, got none");
  const NameScope scope(name);
  const std::vector<TensorSpec> specs = loop_specs(start);
  const SubGraphPtr test = make_subgraph(specs, "condition", [&](const Tensors& v) { return Tensors{condition(v)}; }),
                    pass = make_subgraph(specs, "body", [&](const Tensors& v) { return body(v); });
  const Tensor& decides = test->outputs[0];
  BELFRY_CHECK(decides.dtype() == DType::boolean && decides.rank() == 0,
               "[while_loop] expected a condition that gives a bool scalar, got {} {}", name_of(decides.dtype()),
               to_string(decides.shape()));
  check_same_types("while_loop", "a body that gives tensors of the loop's types", dtypes_of(start),
                   dtypes_of(pass->outputs));
  for (std::size_t i = 0; i < start.size(); ++i)
    BELFRY_CHECK(compatible(pass->outputs[i].shape(), start[i].shape()),
                 "[while_loop] expected a body that keeps the loop's shapes, got {} for number {} of {} {}",
                 to_string(pass->outputs[i].shape()), i, to_string(start[i].shape()),
                 made_at(*pass->outputs[i].node()));
  const Tensors captured = joined(test->captured, pass->captured);
  std::vector<Operand> inputs = operands_of(start);
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  Attributes attributes{
      {"condition", with_captures(*test, captured)}, {"body", with_captures(*pass, captured)}, {"most", options.most}};
  const LocationScope location(where);
  Tensors out = add_tensors(while_def, inputs, {.attributes = std::move(attributes)});
  out.pop_back();  // the number of passes
  return out;
}

}  // namespace belfry
