#include "belfry/ops/leaky_relu.h"

#include <limits>

#include "belfry/graph/gradients.h"
#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;
const bool leaky_relu_rows[] = {
    gradient_row("LeakyRelu", {"LeakyRelu", "LeakyReluGrad"}, [](X x) { return leaky_relu(x[0]); },
                 {{{2, 3}}, {{}}, {{0, 3}}}),
    gradient_row("LeakyReluBelowZero", {"LeakyRelu", "LeakyReluGrad"}, [](X x) { return leaky_relu(x[0], -0.5); },
                 {{{2, 3}}}),
    gradient_row("LeakyReluInAChain", {"LeakyRelu"}, [](X x) { return tanh(leaky_relu(x[0] * x[1], 0.3)) * 2.f; },
                 {{{2, 3}, {2, 3}}}),
};

using LeakyReluTest = OpTest;

TEST_F(LeakyReluTest, ScalesWhatIsBelowZero) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = input(Array::of<float>({5}, {-2, 0, 3, -inf, inf}));
  EXPECT_EQ(floats(leaky_relu(x)), (std::vector<float>{-0.4f, 0, 3, -inf, inf}));
  EXPECT_EQ(floats(leaky_relu(x, 0.5)), (std::vector<float>{-1, 0, 3, -inf, inf}));
  EXPECT_EQ(floats(LeakyRelu{0.25}(x, "named")), (std::vector<float>{-0.5f, 0, 3, -inf, inf}));
  EXPECT_EQ(graph.get_tensor_by_name("named").shape(), Shape({5}));
}

TEST_F(LeakyReluTest, KeepsNaN) {
  const Tensor x = input(Array::of<float>({1}, {std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_TRUE(std::isnan(floats(leaky_relu(x))[0]));
}

TEST_F(LeakyReluTest, TheGradientAtZeroIsAlpha) {
  const Tensor x = input(Array::of<float>({3}, {-1, 0, 1}));
  EXPECT_EQ(floats(gradients({leaky_relu(x)}, {x})[0]), (std::vector<float>{0.2f, 0.2f, 1}));
}

TEST_F(LeakyReluTest, MistakesAreNamed) {
  EXPECT_NE(error_of([] { leaky_relu(placeholder(i32, {2})); }).find("[LeakyRelu 'LeakyRelu'] expected"),
            std::string::npos);
  EXPECT_NE(error_of([] {
              leaky_relu(placeholder(f32, {2}), std::numeric_limits<double>::infinity());
            }).find("expected a finite alpha, got inf"),
            std::string::npos);
}

}  // namespace
}  // namespace belfry
