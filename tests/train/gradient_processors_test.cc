// What changes gradients does the same with one copy of the variables as with a copy a tower.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "belfry/graph/collections.h"
#include "belfry/nn/accumulate_gradients.h"
#include "belfry/nn/ema_of_weights.h"
#include "belfry/nn/gradient_processor.h"
#include "belfry/nn/layers.h"
#include "belfry/nn/learning_rate_by_regex.h"
#include "belfry/nn/lookahead.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/softmax.h"
#include "tests/train/train_testing.h"

namespace belfry {
namespace {

Tensor processed_cost(const Inputs& in) {
  const Tensor logits =
      in["x"] | fully_connected("fc0", {.units = 8, .activation = tanh}) | fully_connected("fc1", {.units = 2});
  return reduce_mean(sparse_softmax_cross_entropy(logits, in["label"]), "cost");
}

struct Case {
  const char* name;
  GetOptimizer optimizer;
  bool same_as_shared = true;  // the weights are those of the towers with shared variables
};

std::unique_ptr<Optimizer> decaying() { return momentum({.learning_rate = 0.1f, .weight_decay = 0.05}); }

GetOptimizer with(const GradientProcessor& processor, const GetOptimizer& inside = make_momentum) {
  return [=] { return apply_grad_processors(inside(), {processor}); };
}

// One of the user's: it goes by the variable's name, and draws numbers.
GradientsAndVariables shake_first(const GradientsAndVariables& all) {
  GradientsAndVariables out = all;
  for (GradientAndVariable& item : out)
    if (item.variable.name() == "fc0/W") item.gradient = item.gradient + random_normal({6, 8}, {.stddev = 0.1});
  return out;
}

GradientNoiseOptions noise() { return {.stddev = 0.1, .decay = 0.55}; }

// By the number of towers: an average is made in each of two, but of more in one.
class GradientProcessorsTest : public testing::TestWithParam<std::tuple<int, Case>> {
 protected:
  static int towers() { return std::get<0>(GetParam()); }
  static const Case& what() { return std::get<1>(GetParam()); }
  template <class T>
  Trained train() {
    const auto look = [this](Trainer& trainer) {
      copies_ = count_equal_copies(trainer);
      summaries_.clear();
      for (const Tensor& t : trainer.graph().collections().tensors(collection::kMovingSummaries))
        summaries_.insert(t.name());
    };
    const Training training{.input = QueueInput(points(64) | batch(8)),
                            .cost = processed_cost,
                            .steps = 10,
                            .optimizer = what().optimizer,
                            .callbacks = {after_last_step(look)},
                            .devices = static_cast<std::size_t>(towers())};
    return belfry::train<T>(training, cpu_devices(towers()));
  }
  int copies_ = 0;
  std::set<std::string> summaries_;
};

TEST_P(GradientProcessorsTest, CopiesStayEqualAndAreWhatSharedVariablesWouldBe) {
  const Trained ps = train<SyncMultiDeviceTrainerParameterServer>();
  const std::set<std::string> summaries = summaries_;
  const Trained replicated = train<SyncMultiDeviceTrainerReplicated>();
  EXPECT_EQ(summaries_, summaries);
  EXPECT_GE(copies_, 7 * (towers() - 1));  // the weights, and a slot of all but one, which may be skipped
  const bool averaged = std::string_view(what().name) == "InsideEma";  // whose averages belong to the model, too
  EXPECT_EQ(ps.weights.size(), averaged ? 8u : 4u);
  if (what().same_as_shared) expect_same_bits(ps, replicated);
}

INSTANTIATE_TEST_SUITE_P(
    All, GradientProcessorsTest,
    testing::Combine(
        testing::Values(2, 3),
        testing::Values(
            Case{"Clip", with(global_norm_clip(0.1))}, Case{"ClipByValue", with(clip_gradient_by_value(0.01))},
            Case{"Map", with(map_gradient("fc0/W", [](const Tensor& g, const Variable&) { return g * 2.f; }))},
            Case{"LeaveOut", with(map_gradient("fc0/b", [](const Tensor&, const Variable&) { return Tensor(); }))},
            Case{"Scale", with(scale_gradient({{"fc0/.*", 0.1}, {"fc1/b", 0}}))}, Case{"Check", with(check_gradient())},
            Case{"Summary", with(summary_gradient())}, Case{"Noise", with(gradient_noise(noise()))},
            Case{"Own", with(shake_first)},
            Case{"Rate", [] { return learning_rate_by_regex(adam(), {{"fc0/.*", 0.1}}); }},
            Case{"WeightDecay", decaying}, Case{"AdamWeightDecay", [] { return adam({.weight_decay = 0.05}); }},
            Case{"ClipWeightDecay", with(global_norm_clip(0.1), decaying)},
            Case{"ScaleWeightDecay", with(scale_gradient({{"fc.*", 0.3}}), decaying)},
            Case{"InsideEma", [] { return ema_of_weights(with(gradient_noise(noise()))()); }},
            Case{"InsideLookahead", [] { return lookahead(with(gradient_noise(noise()))(), {.period = 3}); }},
            Case{"InsideAccumulation", [] { return accumulate_gradients(with(scale_gradient({{"fc.*", 0.5}}))(), 2); }},
            Case{"SummaryInsideAccumulation", [] { return accumulate_gradients(with(summary_gradient())(), 2); }},
            // The noise inside has the name of the update that it belongs to, so another seed.
            Case{"NoiseInsideAccumulation", [] { return accumulate_gradients(with(gradient_noise(noise()))(), 2); },
                 false})),
    [](const auto& item) {
      return std::string(std::get<1>(item.param).name) + "On" + std::to_string(std::get<0>(item.param));
    });

}  // namespace
}  // namespace belfry
