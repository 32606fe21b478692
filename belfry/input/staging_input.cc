#include <algorithm>
#include <map>

#include "belfry/base/check.h"
#include "belfry/engine/data_queue.h"
#include "belfry/graph/ancestors.h"
#include "belfry/graph/graph.h"
#include "belfry/input/graph_inputs.h"
#include "belfry/loop/trainer.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/queue.h"

namespace belfry {

struct StagingInput::State {
  std::vector<StagingArea> areas{};  // one a tower
  std::vector<Operation> puts{};
  std::vector<Tensor> gets{};    // the first component of each tower's
  Operation stage{}, unstage{};  // all towers'
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
    return {.fetches = {state_->stage, state_->unstage}};
  }
  bool declares_metrics() const override { return true; }
  bool chief_only() const override { return false; }
  std::string name() const override { return "StagingInput"; }

 private:
  // Areas are empty before the first run, and after one that took points on the side: a plain run, or a hooked one of
  // which only what other callbacks fetch depends on the input.
  void fill(Session& session) const {
    std::vector<Fetch> missing;
    for (std::size_t i = 0; i < state_->areas.size(); ++i)
      if (session.queue(state_->areas[i], trainer().trained_at())->size() == 0) missing.emplace_back(state_->puts[i]);
    if (!missing.empty()) session.run(missing, {}, {}, trainer().trained_at());
  }

  // Whether the run needs a staged point; found out once for each set of fetches.
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
};

}  // namespace

namespace {

void check_feed_free(const InputSource& input) {
  BELFRY_CHECK(input.feed_free(),
               "[StagingInput] expected an input whose data wait in the graph, got {}, which is fed. Use QueueInput.",
               input.name());
}

}  // namespace

StagingInput::StagingInput(InputSourcePtr input) : input_(std::move(input)), state_(std::make_shared<State>()) {
  check_feed_free(*input_);
  BELFRY_CHECK(!input_->staged(),
               "[StagingInput] expected another kind of input, got a StagingInput: they do not nest.");
}

void StagingInput::reset_state() {
  fail("[StagingInput] expected to be used for training, got a reset, as for inference. Use the input inside it.");
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
