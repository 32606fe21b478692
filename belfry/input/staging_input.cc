#include <algorithm>
#include <map>

#include "belfry/base/check.h"
#include "belfry/engine/data_queue.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/ancestors.h"
#include "belfry/graph/node.h"
#include "belfry/input/graph_inputs.h"
#include "belfry/loop/trainer.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/queue.h"

namespace belfry {

struct StagingInput::State {
  std::vector<StagingArea> areas{};  // one per tower
  std::vector<Operation> puts{};
  std::vector<Tensor> gets{};    // the first component of each tower's
  Operation stage{}, unstage{};  // of all towers
};

namespace {

class StagingCallback final : public Callback {
 public:
  explicit StagingCallback(std::shared_ptr<StagingInput::State> state) : state_(std::move(state)) {}

  void setup_graph() override {
    if (state_->puts.empty()) return;
    const LocationScope line(trainer().trained_at());
    std::vector<Operation> takes;
    for (const Tensor& get : state_->gets) takes.emplace_back(get);
    state_->stage = group(state_->puts);
    state_->unstage = group(takes);
  }

  HookRequest before_run(const RunContext& context) override {
    if (state_->puts.empty()) return {};
    fill(context.session);
    if (!depends(context)) return {};
    staged_by_ = step();
    if (!next_points_wait(context.session)) return {.fetches = {state_->unstage}};
    return {.fetches = {state_->stage, state_->unstage}};
  }
  bool declares_metrics() const override { return true; }
  bool chief_only() const override { return false; }
  std::string name() const override { return "StagingInput"; }

 private:
  // A queue from which staged points are taken.
  struct Source {
    std::shared_ptr<DataQueue> queue;
    int points = 0;  // per step, of all towers
  };

  std::uint64_t step() const { return static_cast<std::uint64_t>(trainer().global_step()); }

  // Areas are empty before the first run, after one that had no further points to stage, and after one that took points
  // without staging others: a plain run, or a hooked one in which only other callbacks' fetches depend on the input.
  //
  // Random ops among what is staged draw as they would have in the run before, so that it does not matter whether that
  // run or this one stages.
  void fill(Session& session) const {
    std::vector<Fetch> missing;
    for (std::size_t i = 0; i < state_->areas.size(); ++i)
      if (session.queue(state_->areas[i], trainer().trained_at())->size() == 0) missing.emplace_back(state_->puts[i]);
    if (!missing.empty())
      session.run(missing, {}, {.random_step = staged_by_.value_or(step() - 1)}, trainer().trained_at());
  }

  // Whether the next run's points are ready. A run does not wait for them: it would be held up although it has its own
  // points, and at the end of the data it would not run at all.
  bool next_points_wait(const Session& session) {
    if (!sources_) sources_ = sources_of(session);
    return std::ranges::all_of(*sources_, [](const Source& source) { return source.queue->size() >= source.points; });
  }

  std::vector<Source> sources_of(const Session& session) const {
    std::vector<Node*> puts;
    for (const Operation& put : state_->puts) puts.push_back(put.node());
    std::vector<Source> out;
    for (const Node* node : with_ancestors(puts)) {
      if (!node->def->taken) continue;
      const Tensor taken = trainer().graph().nodes()[static_cast<std::size_t>(node->id)]->output();
      for (const std::shared_ptr<DataQueue>& queue : session.queues_of({taken}, trainer().trained_at())) {
        const auto at = std::ranges::find(out, queue, &Source::queue);
        ++(at == out.end() ? out.emplace_back(Source{queue}) : *at).points;
      }
    }
    return out;
  }

  // Whether the run needs a staged point; determined once for each set of fetches.
  bool depends(const RunContext& context) {
    std::vector<Node*> roots;
    for (const Fetch& fetch : context.fetches) {
      if (fetch.operation()) roots.push_back(fetch.operation().node());
      if (fetch.tensor()) roots.push_back(fetch.tensor().node());
      if (!fetch.name().empty()) roots.push_back(node_of(fetch.name(), context.session.graph()));
    }
    const auto [known, added] = known_.try_emplace(roots, false);
    if (added)
      known->second = std::ranges::any_of(with_ancestors(roots), [&](const Node* node) {
        return std::ranges::any_of(state_->gets, [&](const Tensor& get) { return get.node() == node; });
      });
    return known->second;
  }

  static Node* node_of(const std::string& name, const Graph& graph) {
    return graph.has_name(name) ? graph.get_operation_by_name(name).node() : graph.get_tensor_by_name(name).node();
  }

  std::shared_ptr<StagingInput::State> state_;
  std::map<std::vector<Node*>, bool> known_;
  std::optional<std::vector<Source>> sources_;  // once they are known
  std::optional<std::uint64_t> staged_by_;      // the step of the last run that depends on the input
};

}  // namespace

namespace {

void check_feed_free(const InputSource& input) {
  BELFRY_CHECK(input.feed_free(),
               "[StagingInput] expected an input whose data come from the graph, got {}, which is fed. Use QueueInput.",
               input.name());
}

}  // namespace

StagingInput::StagingInput(InputSourcePtr input) : input_(std::move(input)), state_(std::make_shared<State>()) {
  check_feed_free(*input_);
  BELFRY_CHECK(!input_->staged(),
               "[StagingInput] expected another kind of input, got a StagingInput: they do not nest.");
}

void StagingInput::reset_state() {
  fail("[StagingInput] expected to be used for training, got a reset, as inference does. Use the input inside it.");
}

Callbacks StagingInput::make_callbacks() {
  Callbacks out = input_->setup(signature(), where());
  check_feed_free(*input_);
  out.emplace_back(StagingCallback(state_));
  return out;
}

Tensors StagingInput::make_tensors() {
  const Tensors inner = input_->get_input_tensors(where());
  const LocationScope line(where());
  const StagingArea& area = state_->areas.emplace_back(fmt::format("stage{}", state_->areas.size()), signature(),
                                                       QueueOptions{.capacity = 1});
  state_->puts.push_back(area.put(inner));
  Tensors out = area.get();
  state_->gets.push_back(out[0]);
  input_->taken_through(state_->gets);
  return out;
}

}  // namespace belfry
