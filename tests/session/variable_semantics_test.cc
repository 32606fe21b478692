// The rule of reads and writes on random programs: a variable's value is that of the start of the run; an explicit
// read, or a variable used as an operand, sees the last assignment that comes before it on a data or control path.
// Whatever the compiler reorders, shares or omits, the results are those of this small interpreter.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "belfry/base/random.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/pointwise.h"
#include "belfry/session/session.h"

namespace belfry {
namespace {

constexpr int kVariables = 3;
constexpr std::int64_t kSize = 4;

double start_value(int variable) { return 0.5 * (variable + 1); }

class Program {
 public:
  Program(Graph& graph, std::uint64_t seed, int devices) : random_(seed), devices_(devices) {
    const GraphScope scope(graph);
    for (int i = 0; i < kVariables; ++i)
      variables_.push_back(
          get_variable("v" + std::to_string(i), {.shape = {kSize}, .initializer = [i](const Shape& s, DType d) {
                                                   return constant(Array::full(d, s, start_value(i)));
                                                 }}));
    for (int i = 0; i < kVariables; ++i) tensors_.push_back(variables_[static_cast<std::size_t>(i)].value());
    const int count = 6 + pick(18);
    for (int i = 0; i < count; ++i) add();
  }

  std::vector<Tensor> some() {
    std::vector<Tensor> out;
    for (int i = 0; i < 3; ++i) out.push_back(any());
    return out;
  }

  const std::vector<Variable>& variables() const { return variables_; }
  // Identities whose operand is a variable.
  const std::map<const Node*, const Node*>& uses() const { return uses_; }

 private:
  int pick(std::size_t n) { return static_cast<int>(random_.below(n)); }
  Tensor any() { return tensors_[static_cast<std::size_t>(pick(tensors_.size()))]; }

  void add() {
    const DeviceScope device("cpu:" + std::to_string(pick(static_cast<std::size_t>(devices_))));
    std::vector<Operation> before;
    for (int i = pick(3); i > 0; --i) before.emplace_back(any());
    const int v = pick(kVariables), what = pick(11);
    const Variable variable = variables_[static_cast<std::size_t>(v)];
    if (what < 3 && last_assignment_.contains(v)) before.push_back(last_assignment_.at(v));  // assignments are ordered
    const ControlDependencies control(before);
    switch (what) {
      case 0: return assigned(v, variable.assign(any()));
      case 1: return assigned(v, variable.assign_add(any()));
      case 2: return assigned(v, variable.assign_sub(any() * 0.5f));
      case 3:
      case 4: tensors_.push_back(variable.read()); break;
      case 5: tensors_.push_back(reshape(reshape(any(), {2, 2}), {kSize})); break;
      case 6: tensors_.push_back(identity(any())); break;
      case 7: tensors_.push_back(tanh(any())); break;
      case 8:
        tensors_.push_back(identity(variable));
        uses_[tensors_.back().node()] = variable.node();
        break;
      default: tensors_.push_back(any() * 0.5f - any() * 0.25f); break;
    }
  }

  void assigned(int v, const Tensor& result) {
    last_assignment_.insert_or_assign(v, Operation(result));
    tensors_.push_back(result);
  }

  RandomStream random_;
  int devices_;
  std::vector<Variable> variables_;
  std::map<int, Operation> last_assignment_;
  Tensors tensors_;
  std::map<const Node*, const Node*> uses_;
};

// Computes one run, node by node in the order of creation.
class Interpreter {
 public:
  Interpreter(const Graph& graph, const Program& program, const std::vector<Tensor>& fetches) : uses_(program.uses()) {
    const std::vector<Variable>& variables = program.variables();
    for (std::size_t i = 0; i < variables.size(); ++i) start_[variables[i].node()] = start_value(static_cast<int>(i));
    for (const Tensor& t : fetches) need(t.node());
    for (const auto& node : graph.nodes())
      if (needed_.contains(node.get())) evaluate(*node);
    final_ = start_;
    for (const auto& [variable, assignments] : assignments_)
      if (!assignments.empty()) final_[variable] = values_.at(assignments.back());
  }

  double value(const Tensor& t) const { return values_.at(t.node()); }
  double final_value(const Variable& v) const { return final_.at(v.node()); }

 private:
  void need(const Node* node) {
    if (!needed_.insert(node).second) return;
    for (const Tensor& t : node->inputs) need(t.node());
    for (const Node* before : node->control_inputs) need(before);
  }

  // The variable's value after the assignments that come before the node.
  double current(const Node* variable, const Node* node) {
    double value = start_.at(variable);
    for (const Node* assignment : assignments_[variable])
      if (ancestors_[node].contains(assignment)) value = values_.at(assignment);
    return value;
  }

  void evaluate(const Node& node) {
    std::set<const Node*>& above = ancestors_[&node];
    const auto inherit = [&](const Node* from) {
      above.insert(from);
      above.insert(ancestors_[from].begin(), ancestors_[from].end());
    };
    for (const Tensor& t : node.inputs) inherit(t.node());
    for (const Node* before : node.control_inputs) inherit(before);
    const std::string& op = node.def->name;
    const auto in = [&](std::size_t i) { return values_.at(node.inputs[i].node()); };
    const Node* first = node.inputs.empty() ? nullptr : node.inputs[0].node();
    double& out = values_[&node];
    if (const auto use = uses_.find(&node); use != uses_.end())
      out = current(use->second, &node);
    else if (op == "Variable")
      out = start_.at(&node);
    else if (op == "Constant")
      out = node.attributes.get<Array>("value").item();
    else if (op == "ReadVariable")
      out = current(first, &node);
    else if (op == "Assign")
      out = in(1);
    else if (op == "AssignAdd")
      out = current(first, &node) + in(1);
    else if (op == "AssignSub")
      out = current(first, &node) - in(1);
    else if (op == "Tanh")
      out = std::tanh(in(0));
    else if (op == "Mul")
      out = in(0) * in(1);
    else if (op == "Sub")
      out = in(0) - in(1);
    else
      out = in(0);  // Identity, Reshape
    if (!node.def->updates.empty()) assignments_[first].push_back(&node);
  }

  std::map<const Node*, const Node*> uses_;
  std::map<const Node*, double> start_, values_, final_;
  std::map<const Node*, std::vector<const Node*>> assignments_;  // in the order that their paths give
  std::map<const Node*, std::set<const Node*>> ancestors_;
  std::set<const Node*> needed_;
};

TEST(VariableSemantics, RandomProgramsDoWhatTheRuleSays) {
  int runs = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Graph graph;
    Program program(graph, seed, 1 + static_cast<int>(seed % 3));
    Session session(graph, {.devices = std::vector<DeviceConfig>(1 + seed % 3, DeviceConfig{1})});
    for (int round = 0; round < 2; ++round) {
      const std::vector<Tensor> fetches = program.some();
      const Interpreter wanted(graph, program, fetches);
      session.initialize(true);
      const std::vector<Array> got = session.run(std::vector<Fetch>(fetches.begin(), fetches.end()));
      for (std::size_t i = 0; i < fetches.size(); ++i)
        for (std::int64_t k = 0; k < kSize; ++k)
          ASSERT_NEAR(got[i].item(k), wanted.value(fetches[i]), 1e-4 * (1 + std::abs(wanted.value(fetches[i]))))
              << fetches[i].name();
      for (const Variable& v : program.variables())
        ASSERT_NEAR(session.value(v).item(), wanted.final_value(v), 1e-4 * (1 + std::abs(wanted.final_value(v))))
            << v.name();
      ++runs;
    }
  }
  EXPECT_EQ(runs, 800);
}

}  // namespace
}  // namespace belfry
