#include "belfry/callbacks/inference_runner.h"

#include <algorithm>
#include <optional>
#include <set>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/graph/scope.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/loop/internal/callback_hook.h"
#include "belfry/loop/trainer.h"
#include "belfry/predict/inference_towers.h"
#include "belfry/train/devices.h"

namespace belfry {

namespace {

constexpr const char* kOtherName =
    "Give one of them a prefix or another name: ScalarStats(\"cost\", \"test\"), or ClassificationError(\"incorrect\", "
    "\"test_error\").";

constexpr const char* kOtherTower =
    "Fetch the training tower's tensor: by name, or, if the tower function stores it, store only that one: if "
    "(get_current_tower_context().is_training()) cost_ = cost.";

// The name that was asked for, or a default one that no other runner has.
std::string free_tower_name(const std::string& wanted, const TowerTensorHandles& towers) {
  const auto taken = [&](const std::string& name) {
    return std::ranges::any_of(towers.all(), [&](const TowerTensorHandle& t) { return t.name() == name; });
  };
  BELFRY_CHECK(wanted.empty() || !taken(wanted),
               "[InferenceRunner] expected a tower name that is not taken, got '{}'. Choose another tower_name.",
               wanted);
  std::string out = wanted.empty() ? "inference_tower" : wanted;
  for (int i = 1; taken(out); ++i) out = fmt::format("inference_tower_{}", i);
  return out;
}

}  // namespace

std::optional<std::vector<std::string>> MeanStats::metrics() const {
  std::vector<std::string> out;
  for (const std::string& name : names_) out.push_back(metric_of(name));
  return out;
}

void MeanStats::before_inference() { sums_.assign(names_.size(), {}); }

void MeanStats::on_fetches(const std::vector<Array>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::int64_t k = 0; k < values[i].elements(); ++k) sums_[i].of += values[i].item(k);
    sums_[i].count += values[i].elements();
  }
}

std::map<std::string, double> MeanStats::after_inference() {
  std::map<std::string, double> out;
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (sums_[i].count > 0) out[metric_of(names_[i])] = sums_[i].of / static_cast<double>(sums_[i].count);
  return out;
}

// An unknown dimension may have any size, so the tensor does not count as a scalar.
void ScalarStats::check(const Tensors& fetches) const {
  for (std::size_t i = 0; i < fetches.size(); ++i)
    BELFRY_CHECK(
        std::ranges::all_of(fetches[i].shape().dims(), [](std::int64_t d) { return d == 1; }),
        "[ScalarStats] expected '{}' to be a scalar, got {}. Reduce it first, or use ExampleStats for the mean "
        "of a vector with a number for each example.",
        names()[i], to_string(fetches[i].shape()));
}

void ExampleStats::check(const Tensors& fetches) const {
  for (std::size_t i = 0; i < fetches.size(); ++i)
    BELFRY_CHECK(
        fetches[i].rank() == 1,
        "[ExampleStats] expected '{}' to be a vector with a number for each example, got {}. For the mean of a "
        "scalar over the batches, use ScalarStats.",
        names()[i], to_string(fetches[i].shape()));
}

void ClassificationError::check(const Tensors& fetches) const {
  BELFRY_CHECK(fetches[0].rank() == 1,
               "[ClassificationError] expected '{}' to be a vector with 1 for each wrong example, got {}. Use "
               "prediction_incorrect().",
               name_, to_string(fetches[0].shape()));
}

void ClassificationError::before_inference() {
  wrong_ = 0;
  count_ = 0;
}

void ClassificationError::on_fetches(const std::vector<Array>& values) {
  for (std::int64_t i = 0; i < values[0].elements(); ++i) wrong_ += values[0].item(i);
  count_ += values[0].elements();
}

std::map<std::string, double> ClassificationError::after_inference() {
  if (count_ == 0) return {};
  return {{metric_, wrong_ / static_cast<double>(count_)}};
}

InferenceRunner::InferenceRunner(Flow flow, Inferencers inferencers, InferenceRunnerOptions options)
    : InferenceRunner(InputSourcePtr(QueueInput(std::move(flow), {.infinite = false, .show_size = false})),
                      std::move(inferencers), std::move(options)) {}

InferenceRunner::InferenceRunner(InputSourcePtr input, Inferencers inferencers, InferenceRunnerOptions options)
    : input_(std::move(input)), inferencers_(std::move(inferencers)), options_(std::move(options)) {
  BELFRY_CHECK(!inferencers_.empty(), "[InferenceRunner] expected inferencers, got none. Pass ScalarStats(...), say.");
  BELFRY_CHECK(!input_->staged(),
               "[InferenceRunner] expected an input that can start again, got a StagingInput, which is for training. "
               "Use the input inside it.");
  BELFRY_CHECK(!input_->endless() || input_->size().has_value(),
               "[InferenceRunner] expected an input that ends, got {}, which has no end and no size. Use "
               ".infinite = false and a flow that ends, or a size.",
               input_->name());
}

void InferenceRunner::attach(Trainer& trainer) {
  Callback::attach(trainer);
  trainer.inference_towers("InferenceRunner");
}

void InferenceRunner::setup_graph() {
  InferenceTowers& towers = trainer().inference_towers("InferenceRunner");
  const Device on = towers.inference_device("InferenceRunner", options_.device);
  const std::string name = free_tower_name(options_.tower_name, towers.towers());
  const DeviceScope device(on);
  input_->set_owner(fmt::format("InferenceRunner '{}'", name));
  {
    const NameScope names(name + "_inputs");
    callbacks_ = input_->setup(towers.tower_func().signature(), trainer().trained_at());
  }
  const TowerTensorHandle& tower = towers.build_inference_tower(
      name, [this] { return inputs_ = input_->get_input_tensors(trainer().trained_at()); }, on, trainer().trained_at());
  refusal_ = std::make_shared<DataQueue::Refusal>(
      DataQueue::Refusal{.by = fmt::format("InferenceRunner '{}'", name), .remedy = kOtherTower});
  std::set<std::string> own;
  for (const Handle<Inferencer>& inferencer : inferencers_) {
    Tensors found;
    for (const std::string& name : inferencer->fetches()) found.push_back(tower.get_tensor(name));
    inferencer->check(found);
    fetches_.emplace_back(found.begin(), found.end());
    for (const std::string& metric : inferencer->metrics().value_or(std::vector<std::string>())) {
      BELFRY_CHECK(own.insert(metric).second, "[InferenceRunner] expected each metric once, got '{}' twice. {}", metric,
                   kOtherName);
      trainer().monitors().declare(*this, metric, kOtherName);
    }
  }
  for (const Handle<Callback>& callback : callbacks_) callback->attach(trainer());
  for (const Handle<Callback>& callback : callbacks_) callback->setup_graph();
}

bool InferenceRunner::declares_metrics() const {
  return std::ranges::all_of(inferencers_, [](const auto& i) { return i->metrics().has_value(); });
}

// The input gives points only during passes; in between, a run that fetched something of its tower would wait forever.
class InferenceRunner::Pass {
 public:
  explicit Pass(const InferenceRunner& runner) : runner_(runner) { set({}); }
  ~Pass() { set(runner_.refusal_); }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

 private:
  void set(const std::shared_ptr<const DataQueue::Refusal>& refusal) const {
    for (const std::shared_ptr<DataQueue>& queue : runner_.queues_) queue->set_refusal(refusal);
  }
  const InferenceRunner& runner_;
};

void InferenceRunner::before_train() {
  queues_ = trainer().session().queues_of(inputs_, trainer().trained_at());
  for (const std::shared_ptr<DataQueue>& queue : queues_) queue->set_refusal(refusal_);
  session_ = std::make_unique<HookedSession>(trainer().session(), hooks_of(callbacks_));
  if (!options_.check_first_point) return;
  trainer().run_interruptibly([this] {
    trainer().wait_interruptibly([this] { input_->check_first_point(); }, [this] { input_->cancel_check(); });
  });
}

// The first time the input starts by itself; starting it earlier would only keep what it reads ahead in memory.
void InferenceRunner::restart_input() {
  if (started_) return input_->reset_state();
  started_ = true;
  for (const Handle<Callback>& callback : callbacks_) callback->before_train();
}

void InferenceRunner::trigger() {
  const SessionAlone alone(trainer().session(), trainer().trained_at());
  const Pass pass(*this);
  restart_input();
  for (const Handle<Inferencer>& inferencer : inferencers_) inferencer->before_inference();
  std::vector<Fetch> all;
  for (const std::vector<Fetch>& wanted : fetches_) all.insert(all.end(), wanted.begin(), wanted.end());
  const std::optional<std::int64_t> size = input_->size();
  for (std::int64_t i = 0; !size || i < *size; ++i) {
    if (!size && trainer().stop_requested()) return;  // data of unknown size may have no end
    std::vector<Array> values;
    try {
      trainer().run_interruptibly([&] { values = session_->run(all, {}, {}, trainer().trained_at()); });
    } catch (const EndOfData&) {
      BELFRY_CHECK(!size,
                   "[InferenceRunner] expected {} points in a pass of {}, as its size() says, got {}: the numbers "
                   "would be for a part of the data only. Correct the size of the flow, or give it none.",
                   *size, input_->name(), i);
      break;
    } catch (const StopTraining&) {
      log_info(fmt::format("[InferenceRunner] interrupted after {} datapoints: this pass puts no numbers.", i));
      throw;
    }
    auto next = values.begin();
    for (std::size_t k = 0; k < inferencers_.size(); ++k) {
      const auto end = next + static_cast<std::ptrdiff_t>(fetches_[k].size());
      inferencers_[k]->on_fetches({next, end});
      next = end;
    }
  }
  for (const Handle<Inferencer>& inferencer : inferencers_)
    for (const auto& [name, value] : inferencer->after_inference()) {
      trainer().monitors().declare(*this, name, kOtherName);
      trainer().monitors().put_scalar(name, value);
    }
}

void InferenceRunner::after_train() {
  session_.reset();  // with what it refers to in the trainer, which may be destroyed before the callback
  if (!started_) return;
  for (const Handle<Callback>& callback : callbacks_) callback->after_train();
}

}  // namespace belfry
