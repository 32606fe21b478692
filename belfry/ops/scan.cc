#include "belfry/ops/scan.h"

#include "belfry/base/check.h"
#include "belfry/graph/internal/subgraph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

// Inputs: the states, the sequences, what the body captured. Outputs: the last states, the body's outputs of all steps
// and, if it keeps them, the states before each step.
// The body's inputs: the states, a step of each sequence, what was captured. Its outputs: the states, the outputs.
struct ScanParts {
  explicit ScanParts(const Attributes& attributes)
      : body(attributes.get<SubGraphPtr>("body")),
        states(static_cast<std::size_t>(attributes.integer("states"))),
        sequences(static_cast<std::size_t>(attributes.integer("sequences"))),
        outputs(body->outputs.size() - states),
        captured(body->inputs.size() - states - sequences),
        reverse(attributes.get<bool>("reverse")),
        keeps(attributes.get<bool>("keeps")) {}

  SubGraphPtr body;
  std::size_t states, sequences, outputs, captured;
  bool reverse, keeps;
};

Tensors part(const Tensors& all, std::size_t begin, std::size_t count) {
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

void append(Tensors& to, const Tensors& more) { to.insert(to.end(), more.begin(), more.end()); }

Tensors floats_of(const Tensors& tensors) {
  Tensors out;
  for (const Tensor& t : tensors)
    if (is_float(t.dtype())) out.push_back(t);
  return out;
}

Shape step_of(const Shape& sequence) {
  Shape out;
  for (int i = 1; i < sequence.rank(); ++i) out.push_back(sequence[i]);
  return out;
}

Shape all_steps_of(std::int64_t time, const Shape& step) {
  Shape out{time};
  for (int i = 0; i < step.rank(); ++i) out.push_back(step[i]);
  return out;
}

std::int64_t steps_of(const ShapeContext& c, const ScanParts& p) {
  std::int64_t time = kAny;
  for (std::size_t i = p.states; i < p.states + p.sequences; ++i) {
    const Shape& shape = c.input(static_cast<int>(i));
    BELFRY_CHECK(shape.rank() >= 1, "expected sequences [time, ...], got a scalar at index {}", i - p.states);
    BELFRY_CHECK(time == kAny || shape[0] == kAny || shape[0] == time,
                 "expected sequences of one length, got {} and {} steps", time, shape[0]);
    if (shape[0] != kAny) time = shape[0];
  }
  return time;
}

Shapes scan_shapes(const ShapeContext& c) {
  const ScanParts p(c.attributes());
  const std::int64_t time = steps_of(c, p);
  std::vector<Shape> inputs;
  for (int i = 0; i < c.inputs(); ++i) {
    const bool sequence = i >= static_cast<int>(p.states) && i < static_cast<int>(p.states + p.sequences);
    inputs.push_back(sequence ? step_of(c.input(i)) : c.input(i));
  }
  const Shapes step = infer_subgraph(*p.body, inputs);
  Shapes out;
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (i >= p.states) {
      out.push_back(all_steps_of(time, step[i]));
      continue;
    }
    BELFRY_CHECK(compatible(step[i], inputs[i]),
                 "expected a body that keeps the shapes of the state, got {} for number {} of {}", to_string(step[i]),
                 i, to_string(inputs[i]));
    out.push_back(inputs[i]);
  }
  if (p.keeps)
    for (std::size_t i = 0; i < p.states; ++i) out.push_back(all_steps_of(time, inputs[i]));
  return out;
}

std::vector<DType> scan_types(const ShapeContext& c) {
  const ScanParts p(c.attributes());
  std::vector<DType> out = dtypes_of(p.body->outputs);
  if (p.keeps)
    for (std::size_t i = 0; i < p.states; ++i) out.push_back(out[i]);
  return out;
}

Tensors scan_grad(const GradientContext& c);

const OpRegistration scan_def = define_op("Scan")
                                    .inputs("inputs")
                                    .output("outputs")
                                    .shape(scan_shapes)
                                    .dtype(scan_types)
                                    .gradient(scan_grad)
                                    .doc("A function of a state and of a step of sequences, over all their steps.");

Tensors add_scan(const Tensors& inputs, const ScanParts& parts) {
  return add_tensors(scan_def, {inputs.begin(), inputs.end()},
                     {.attributes = {{"body", parts.body},
                                     {"states", static_cast<std::int64_t>(parts.states)},
                                     {"sequences", static_cast<std::int64_t>(parts.sequences)},
                                     {"reverse", parts.reverse},
                                     {"keeps", parts.keeps}}});
}

// The gradients of the kept states, if any arrived: they do when the gradient is differentiated again.
Tensors kept_grads(const GradientContext& c, const ScanParts& p) {
  const std::size_t first = p.states + p.outputs;
  bool arrived = false;
  if (p.keeps)
    for (std::size_t i = first; i < first + p.states; ++i) arrived = arrived || c.has_grad(static_cast<int>(i));
  return arrived ? float_grads(c, first, p.states) : Tensors();
}

// The states before each step: kept, or computed again.
Tensors states_before(const GradientContext& c, const ScanParts& parts, const Tensors& inputs) {
  const std::size_t first = parts.states + parts.outputs;
  if (!parts.keeps) {
    ScanParts keeping = parts;
    keeping.keeps = true;
    return part(add_scan(inputs, keeping), first, parts.states);
  }
  Tensors out;
  for (std::size_t i = 0; i < parts.states; ++i) out.push_back(c.output(static_cast<int>(first + i)));
  return out;
}

// How many tensors of each kind there are in the backward scan.
struct GradientCounts {
  std::size_t states, sequences, captured;  // floats among those of the forward scan
  std::size_t kept;                         // gradients of the states that it kept: as many as states, or none
};

// One step back: (dstate, sums of dcaptured | state, x, dy, dkept | captured) -> (dstate, sums | dx).
Tensors step_back(const Tensors& in, const SubGraph& gradient, const ScanParts& p, const GradientCounts& n) {
  const std::size_t sums = n.states, steps = n.states + n.captured, dys = steps + p.states + p.sequences;
  const std::size_t captured = in.size() - p.captured, dkept = captured - n.kept;
  Tensors given = part(in, steps, p.states + p.sequences);
  append(given, part(in, captured, p.captured));
  append(given, part(in, 0, n.states));
  append(given, part(in, dys, dkept - dys));
  const Tensors grads = inline_subgraph(gradient, given);  // dstate, dx, dcaptured
  Tensors out = part(grads, 0, n.states);
  for (std::size_t i = 0; i < n.kept; ++i) out[i] = out[i] + in[dkept + i];
  for (std::size_t i = 0; i < n.captured; ++i) out.push_back(in[sums + i] + grads[n.states + n.sequences + i]);
  append(out, part(grads, n.states, n.sequences));
  return out;
}

std::vector<TensorSpec> specs_of(const Tensors& tensors, bool steps) {
  std::vector<TensorSpec> out;
  for (const Tensor& t : tensors) out.push_back({"", t.dtype(), steps ? step_of(t.shape()) : t.shape()});
  return out;
}

// A scan in the other direction, of the gradient of a step. Its states are the gradients of the states, and a sum for
// each tensor that the body captured.
Tensors scan_grad(const GradientContext& c) {
  const ScanParts p(c.attributes());
  Tensors inputs;
  for (int i = 0; i < c.inputs(); ++i) inputs.push_back(c.input(i));
  const Tensors captured = part(inputs, p.states + p.sequences, p.captured), float_captured = floats_of(captured);
  const Tensors dkept = kept_grads(c, p);
  const GradientCounts n{.states = floats_of(part(inputs, 0, p.states)).size(),
                         .sequences = floats_of(part(inputs, p.states, p.sequences)).size(),
                         .captured = float_captured.size(),
                         .kept = dkept.size()};

  Tensors start = float_grads(c, 0, p.states), sequences = states_before(c, p, inputs);
  for (const Tensor& t : float_captured) start.push_back(zeros_like(t));
  append(sequences, part(inputs, p.states, p.sequences));
  append(sequences, float_grads(c, p.states, p.outputs));
  append(sequences, dkept);

  std::vector<TensorSpec> specs = specs_of(start, false);
  for (const TensorSpec& spec : specs_of(sequences, true)) specs.push_back(spec);
  for (const TensorSpec& spec : specs_of(captured, false)) specs.push_back(spec);
  const SubGraphPtr gradient = gradient_of(*p.body, "body_grad");
  ScanParts back = p;
  back.body = make_subgraph(specs, "step_back", [&](const Tensors& in) { return step_back(in, *gradient, p, n); });
  back.states = start.size();
  back.sequences = sequences.size();
  back.outputs = n.sequences;
  back.reverse = !p.reverse;
  back.keeps = false;
  Tensors all = start;
  append(all, sequences);
  append(all, captured);
  const Tensors result = add_scan(all, back);

  // One gradient for each float input: of the states, of the sequences (after all states), of what was captured.
  Tensors grads = part(result, 0, n.states);
  append(grads, part(result, start.size(), n.sequences));
  append(grads, part(result, n.states, n.captured));
  Tensors out(inputs.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (is_float(inputs[i].dtype())) out[i] = grads[next++];
  return out;
}

void check_start(const Tensors& start, const Tensors& sequences, const std::string& line) {
  BELFRY_CHECK(!sequences.empty(),
               "[scan] expected one sequence or more, got none (at {}). Its length is the number of steps.", line);
  for (const Tensors* tensors : {&start, &sequences})
    for (const Tensor& t : *tensors)
      BELFRY_CHECK(static_cast<bool>(t), "[scan] expected tensors as states and sequences, got an empty one (at {})",
                   line);
  for (const Tensor& t : sequences)
    BELFRY_CHECK(t.rank() >= 1, "[scan] expected sequences [time, ...], got {} (at {})", to_string(t), line);
}

void check_step(const ScanStep& step, const Tensors& start, const std::string& line) {
  BELFRY_CHECK(step.state.size() == start.size(), "[scan] expected a body that gives {} states, got {} (at {})",
               start.size(), step.state.size(), line);
  for (std::size_t i = 0; i < start.size(); ++i) {
    const Tensor &to = step.state[i], &from = start[i];
    BELFRY_CHECK(
        to && to.dtype() == from.dtype() && compatible(to.shape(), from.shape()),
        "[scan] expected a body that keeps the types and shapes of the state, got {} for number {}, {} {} (at {})",
        to ? to_string(to) : "an empty tensor", i, name_of(from.dtype()), to_string(from.shape()), line);
  }
}

}  // namespace

ScanResult scan(const LoopTensors& from, const LoopTensors& over,
                const std::function<ScanStep(const Tensors& state, const Tensors& step)>& body,
                const ScanOptions& options, std::string_view name, const Location& where) {
  const Tensors &start = from, &sequences = over;
  check_start(start, sequences, to_string(where));
  const NameScope scope(name);
  std::vector<TensorSpec> specs = specs_of(start, false);
  for (const TensorSpec& spec : specs_of(sequences, true)) specs.push_back(spec);
  const SubGraphPtr function = make_subgraph(specs, "step", [&](const Tensors& in) {
    const ScanStep step = body(part(in, 0, start.size()), part(in, start.size(), sequences.size()));
    check_step(step, start, to_string(where));
    Tensors out = step.state;
    append(out, step.outputs);
    return out;
  });
  Tensors inputs = start;
  append(inputs, sequences);
  append(inputs, function->captured);
  Attributes attributes{{"body", function},
                        {"states", static_cast<std::int64_t>(start.size())},
                        {"sequences", static_cast<std::int64_t>(sequences.size())},
                        {"reverse", options.reverse},
                        {"keeps", true}};
  const ScanParts parts(attributes);
  const LocationScope location(where);
  const Tensors result = add_scan(inputs, parts);
  return {part(result, 0, parts.states), part(result, parts.states, parts.outputs)};
}

}  // namespace belfry
