#include "belfry/loop/run_op.h"

#include <set>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/graph/internal/ancestors.h"
#include "belfry/graph/internal/foreign_handle.h"
#include "belfry/loop/internal/callback_hook.h"
#include "belfry/loop/trainer.h"
#include "belfry/nn/update_ops.h"

namespace belfry {
namespace {

std::set<const Node*> before(const std::vector<Operation>& train_ops) {
  std::vector<Node*> train;
  for (const Operation& op : train_ops) train.push_back(op.node());
  const std::vector<const Node*> all = with_ancestors(train);
  return {all.begin(), all.end()};
}

// What is waited for by ops that no update depends on: by the train ops of an overridden run_step().
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

RunOp::RunOp(Fetch op, RunOpOptions options, const Location& where) : op_(std::move(op)), options_(options) {
  BELFRY_CHECK(op_->operation() || op_->tensor() || !op_->name().empty(),
               "[RunOp] expected an operation, a tensor or a name, got an empty handle (at {}). If the graph is not "
               "made yet, pass a function that is called when it is: RunOp([model] {{ return model->cost_; }}).",
               to_string(where));
}

RunOp::RunOp(std::function<Operation()> make, RunOpOptions options) : make_(std::move(make)), options_(options) {}

void RunOp::setup_graph() {
  if (make_ == nullptr) {
    op_ = resolved(*op_, trainer());
  } else {
    const Operation made = make_();
    BELFRY_CHECK(static_cast<bool>(made),
                 "[RunOp] expected a function that makes an operation, got an empty handle. It is "
                 "called once the graph is made, before training: return an operation or a tensor of it.");
    op_.emplace(made);
  }
  const Operation op = op_->operation() ? op_->operation() : Operation(op_->tensor());
  BELFRY_CHECK(!op || belongs_to(op, trainer().graph()), "[RunOp] expected an op of the trainer's graph, got {}",
               foreign(op, "", "Make it in the GraphScope of that graph."));
}

void RunOp::before_train() {
  if (trainer().is_continued() ? options_.when_continued : options_.before_train) run();
}

HookRequest RunOp::before_run(const RunContext&) {
  if (!options_.along_with_step) return {};
  return {.fetches = {*op_}};
}

void RunOp::trigger() {
  if (options_.as_trigger) run();
}

void RunOp::run() {
  if (options_.verbose)
    log_info(fmt::format("[RunOp] runs '{}'", op_->operation() ? op_->operation().name()
                                              : op_->tensor()  ? op_->tensor().name()
                                                               : op_->name()));
  trainer().session().run(*op_, {}, {}, trainer().trained_at());
}

void RunUpdateOps::setup_graph() {
  const std::vector<Operation> train_ops = trainer().train_ops();
  const std::set<const Node*> taken = train_ops.empty() ? before_others(trainer().graph()) : before(train_ops);
  for (const Operation& update : update_ops(trainer().graph(), collection_))
    if (!taken.contains(update.node())) updates_.emplace_back(update);
}

HookRequest RunUpdateOps::before_run(const RunContext& context) {
  if (context.fetches.empty()) return {};
  return {.fetches = updates_};
}

}  // namespace belfry
