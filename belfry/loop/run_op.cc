#include "belfry/loop/run_op.h"

#include <set>

#include "belfry/base/check.h"
#include "belfry/graph/ancestors.h"
#include "belfry/loop/trainer.h"
#include "belfry/nn/update_ops.h"

namespace belfry {
namespace {

std::set<const Node*> before(const Operation& train_op) {
  Node* const train[] = {train_op.node()};
  const std::vector<const Node*> all = with_ancestors(train);
  return {all.begin(), all.end()};
}

// What is waited for by anything that leads to no update itself: by the train ops of a run_step() of one's own.
std::set<const Node*> before_others(const Graph& graph) {
  std::vector<Node*> updates;
  for (const Operation& update : update_ops(graph)) updates.push_back(update.node());
  const std::vector<const Node*> all = with_ancestors(updates);
  const std::set<const Node*> leading(all.begin(), all.end());
  std::set<const Node*> out;
  for (const std::unique_ptr<Node>& node : graph.nodes())
    if (!leading.contains(node.get())) out.insert(node->control_inputs.begin(), node->control_inputs.end());
  return out;
}

}  // namespace

RunOp::RunOp(Fetch op, RunOpOptions options) : op_(std::move(op)), options_(options) {}

RunOp::RunOp(std::function<Operation()> make, RunOpOptions options) : make_(std::move(make)), options_(options) {}

void RunOp::setup_graph() {
  if (make_ == nullptr) return;
  const Operation made = make_();
  BELFRY_CHECK(static_cast<bool>(made), "[RunOp] expected a function that makes an operation, got an empty handle.");
  op_.emplace(made);
}

void RunOp::before_train() {
  if (options_.before_train) trainer().session().run(*op_);
}

HookRequest RunOp::before_run(const RunContext&) {
  if (!options_.along_with_step) return {};
  return {.fetches = {*op_}};
}

void RunOp::trigger() {
  if (options_.as_trigger) trainer().session().run(*op_);
}

void RunUpdateOps::setup_graph() {
  const std::set<const Node*> taken =
      trainer().train_op ? before(trainer().train_op) : before_others(trainer().graph());
  for (const Operation& update : update_ops(trainer().graph()))
    if (!taken.contains(update.node())) updates_.emplace_back(update);
}

HookRequest RunUpdateOps::before_run(const RunContext&) { return {.fetches = updates_}; }

}  // namespace belfry
