#include "belfry/ops/sigmoid_cross_entropy.h"

#include <cmath>

#include "belfry/graph/gradients.h"
#include "belfry/ops/reduce.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;
const std::vector<std::string> kSigmoidCrossEntropyOps{"SigmoidCrossEntropy", "SigmoidCrossEntropyGrad"};
const bool sigmoid_cross_entropy_rows[] = {
    gradient_row("SigmoidCrossEntropy", kSigmoidCrossEntropyOps, [](X x) { return sigmoid_cross_entropy(x[0], x[1]); },
                 {{{2, 3}, {2, 3}}, {{}, {}}, {{0, 3}, {0, 3}}}, {.low = -3, .high = 3}),
    gradient_row("SigmoidCrossEntropyOfOneLabel", kSigmoidCrossEntropyOps,
                 [](X x) { return sigmoid_cross_entropy(x[0], 1.f); }, {{{2, 3}}}),
};

using SigmoidCrossEntropyTest = OpTest;

// import torch, torch.nn.functional as F; x = torch.tensor([-100, -20, -1.5, 0, .25, 3, 20, 100], dtype=torch.float64)
// for z in (0., 1., .3): print(F.binary_cross_entropy_with_logits(x, torch.full_like(x, z), reduction='none').tolist())
TEST_F(SigmoidCrossEntropyTest, AgreesWithPyTorchForLogitsOfAnySize) {
  const Tensor x = input(Array::of<float>({8}, {-100, -20, -1.5f, 0, 0.25f, 3, 20, 100}));
  const std::vector<double> wanted[] = {{0.0, 2.0611536900435727e-09, 0.20141327798275246, 0.6931471805599453,
                                         0.8259394198788437, 3.048587351573742, 20.000000002061153, 100.0},
                                        {100.0, 20.000000002061153, 1.7014132779827524, 0.6931471805599453,
                                         0.5759394198788437, 0.048587351573741965, 2.0611536900435727e-09, 0.0},
                                        {30.0, 6.000000002061154, 0.6514132779827526, 0.6931471805599453,
                                         0.7509394198788437, 2.1485873515737417, 14.000000002061153, 70.0}};
  const float labels[] = {0, 1, 0.3f};
  for (std::size_t k = 0; k < 3; ++k) {
    const std::vector<float> got = floats(sigmoid_cross_entropy(x, labels[k]));
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(static_cast<double>(got[i]), wanted[k][i], 4e-7 * std::abs(wanted[k][i]) + 1e-30) << k << " " << i;
  }
}

TEST_F(SigmoidCrossEntropyTest, TheLossAndItsGradientInOneRunAreWhatTheyAreAlone) {
  Array values(f32, {40, 3});
  for (std::int64_t i = 0; i < values.elements(); ++i) values.set_item(i, static_cast<double>(i % 17) - 8);
  const Tensor x = input(values), z = input(counting({40, 3}));
  const Tensor loss = reduce_mean(sigmoid_cross_entropy(x, z)), dx = gradients({loss}, {x})[0];
  Session session(graph);
  const Feeds feeds{{x, values}, {z, counting({40, 3})}};
  const std::vector<Array> both = session.run(std::vector<Fetch>{loss, dx}, feeds);
  EXPECT_NE(session.explain({loss, dx}, feeds).find("FusedSigmoidCrossEntropy"), std::string::npos);
  EXPECT_EQ(both[0].item(), run(loss).item());
  EXPECT_TRUE(equal(both[1], run(dx)));
  for (std::int64_t i = 0; i < values.elements(); ++i)
    EXPECT_NEAR(both[1].item(i), (1 / (1 + std::exp(-values.item(i))) - static_cast<double>(i)) / 120, 1e-6);
}

TEST_F(SigmoidCrossEntropyTest, MistakesAreNamed) {
  const Tensor x = placeholder(f32, {2, 3});
  const std::string shape = error_of([&] { sigmoid_cross_entropy(x, placeholder(f32, {2}), "loss"); });
  EXPECT_NE(shape.find("[SigmoidCrossEntropy 'loss'] expected labels of shape [2, 3], got [2]"), std::string::npos)
      << shape;
  EXPECT_NE(error_of([&] {
              sigmoid_cross_entropy(x, placeholder(i32, {2, 3}));
            }).find("expected inputs of one floating type, got f32 and i32. Use cast()"),
            std::string::npos);
}

}  // namespace
}  // namespace belfry
