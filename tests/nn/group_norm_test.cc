#include "belfry/nn/group_norm.h"

#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

using GroupNormLayerTest = NnTest;

TEST_F(GroupNormLayerTest, NormalisedExamplesHaveMeanZeroAndVarianceOne) {
  const Tensor x = placeholder(f32, {kAny, 5, 5, 8}), y = x | group_norm("gn", {.groups = 4});
  EXPECT_EQ(y.name(), "gn/output");
  Array value(f32, {3, 5, 5, 8});
  for (std::int64_t i = 0; i < value.elements(); ++i) value.set_item(i, static_cast<double>(i * 7919 % 1009));
  Session session(graph);
  session.initialize();
  const Array out = session.run(y, {{x, value}});
  for (std::int64_t n = 0; n < 3; ++n)
    for (std::int64_t g = 0; g < 4; ++g) {
      double sum = 0, squares = 0;
      for (std::int64_t p = 0; p < 25; ++p)
        for (std::int64_t c = 2 * g; c < 2 * g + 2; ++c) {
          const double v = out.item((n * 25 + p) * 8 + c);
          sum += v;
          squares += v * v;
        }
      EXPECT_NEAR(sum / 50, 0, 1e-5);
      EXPECT_NEAR(squares / 50, 1, 1e-4);
    }
}

TEST_F(GroupNormLayerTest, VariablesAndOptionsAreThoseAskedFor) {
  const Tensor x = images(6);
  x | instance_norm("a", {.activation = relu, .gamma_initializer = init::constant(2)});
  x | group_norm({.groups = 3, .center = false})("b");
  x | instance_norm("c", {.center = false, .scale = false});
  group_norm(placeholder(f32, {kAny, 4, 9, 9}), "d", {.groups = 2, .data_format = DataFormat::channels_first});
  EXPECT_EQ(in(collection::kTrainableVariables), (Names{"a/gamma", "a/beta", "b/gamma", "d/gamma", "d/beta"}));
  EXPECT_EQ(graph.get_operation_by_name("a/output").type(), "Relu");
  EXPECT_EQ(graph.get_operation_by_name("b/output").type(), "GroupNorm");
  EXPECT_EQ(variable("a/gamma").shape(), Shape({6}));
  EXPECT_EQ(variable("d/beta").shape(), Shape({4}));
  EXPECT_TRUE(contains(error_of([&] { placeholder(f32, {2, kAny}) | instance_norm("e"); }),
                       "[instance_norm 'e'] expected a known number of channels in axis 1"));
  EXPECT_TRUE(contains(error_of([&] { placeholder(f32, {2}) | group_norm("f"); }),
                       "[group_norm 'f'] expected a batch of rank 2 or more"));
}

}  // namespace
}  // namespace belfry
