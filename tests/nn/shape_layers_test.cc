#include "belfry/nn/shape_layers.h"

#include "belfry/nn/prelu.h"
#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

class ShapeLayersTest : public NnTest {
 protected:
  std::vector<float> floats(const Tensor& t, const Feeds& feeds = {}) {
    Session session(graph);
    session.initialize();
    const Array out = session.run(t, feeds);
    return {out.values<float>().begin(), out.values<float>().end()};
  }
  static Tensor row(const Shape& shape, const std::vector<float>& values) {
    return constant(Array::of<float>(shape, values));
  }
};

TEST_F(ShapeLayersTest, UpsamplingEnlargesImagesByEitherMethod) {
  const Tensor x = row({1, 1, 2, 1}, {0, 4});
  const Tensor y = x | upsample("up");
  EXPECT_EQ(y.name(), "up/output");
  EXPECT_EQ(floats(y), (std::vector<float>{0, 0, 4, 4, 0, 0, 4, 4}));
  EXPECT_EQ(floats(x | upsample("linear", {.scale = {1, 2}, .method = Upsampling::bilinear})),
            (std::vector<float>{0, 1, 3, 4}));
  EXPECT_EQ(floats(x | upsample("aligned", {.scale = {1, 2}, .method = Upsampling::bilinear, .align_corners = true})),
            (std::vector<float>{0, 4.f / 3, 8.f / 3, 4}));
  EXPECT_EQ((placeholder(f32, {kAny, 3, kAny, 5}) | upsample("f", {.data_format = DataFormat::nchw})).shape(),
            Shape({kAny, 3, kAny, 10}));
  EXPECT_TRUE(contains(error_of([&] { x | upsample("bad", {.scale = 0}); }),
                       "[upsample 'bad'] expected a .scale of 1 or more in both directions, got 0 x 0 (at "
                       "shape_layers_test.cc:"));
  EXPECT_TRUE(contains(error_of([&] { row({2}, {1, 2}) | upsample("flat"); }), "expected images (rank 4)"));
}

TEST_F(ShapeLayersTest, ConcatWithPutsOthersBehind) {
  const Tensor a = row({2, 1}, {1, 2}), b = row({2, 2}, {3, 4, 5, 6});
  const Tensor y = a | concat_with("both", b);
  EXPECT_EQ(y.name(), "both/output");
  EXPECT_EQ(floats(y), (std::vector<float>{1, 3, 4, 2, 5, 6}));
  EXPECT_EQ((b | concat_with("more", {b, b}, 0)).shape(), Shape({6, 2}));
  EXPECT_TRUE(contains(error_of([&] { a | concat_with("wrong", b, 0); }), "expected dimensions that agree"));
}

TEST_F(ShapeLayersTest, MaxoutTakesTheLargestOfNeighbouringChannels) {
  const Tensor x = placeholder(f32, {kAny, kAny, 6});
  const Tensor y = x | maxout("m", 3);
  EXPECT_EQ(y.shape(), Shape({kAny, kAny, 2}));
  EXPECT_EQ(y.name(), "m/output");
  const Array value = Array::of<float>({1, 2, 6}, {1, 9, 2, -3, -1, -2, 0, 0, 1, 7, 6, 5});
  EXPECT_EQ(floats(y, {{x, value}}), (std::vector<float>{9, -1, 1, 7}));
  EXPECT_EQ(floats(gradients({y}, {x})[0], {{x, value}}), (std::vector<float>{0, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0}));
  EXPECT_EQ((placeholder(f32, {2, 6, 4, 4}) | maxout("n", {.units = 2, .data_format = DataFormat::nchw})).shape(),
            Shape({2, 3, 4, 4}));
  EXPECT_EQ((x | maxout("one", 1)).name(), "one/output");
  EXPECT_TRUE(contains(error_of([&] { x | maxout("bad", 4); }),
                       "[maxout 'bad'] expected .units that divide the 6 channels, got 4"));
}

TEST_F(ShapeLayersTest, GlobalMaxPoolingAndFlatteningGiveMatrices) {
  const Tensor x = row({1, 2, 2, 2}, {1, -5, 3, -4, 2, -9, 0, -7});
  EXPECT_EQ(floats(x | global_max_pool("g")), (std::vector<float>{3, -4}));
  EXPECT_EQ(floats(x | global_max_pool("h", DataFormat::nchw)), (std::vector<float>{3, 2}));
  EXPECT_EQ((x | batch_flatten("flat")).shape(), Shape({1, 8}));
  EXPECT_EQ((x | batch_flatten("again")).name(), "again/output");
}

TEST_F(ShapeLayersTest, PreluLearnsASlopeForEachChannel) {
  const Tensor x = row({2, 2}, {-4, -8, 4, 8});
  const Tensor y = x | prelu("p");
  EXPECT_EQ(floats(y), (std::vector<float>{-1, -2, 4, 8}));
  EXPECT_EQ(variable("p/alpha").shape(), Shape({2}));
  EXPECT_EQ(floats(gradients(y, {variable("p/alpha")})[0]), (std::vector<float>{-4, -8}));
  x | prelu("q", {.shared = true, .initializer = init::constant(0.5)});
  EXPECT_EQ(variable("q/alpha").shape(), Shape({}));
  const Tensor first = placeholder(f32, {kAny, 3, 4, 4}) | prelu({.data_format = DataFormat::nchw})("r");
  EXPECT_EQ(variable("r/alpha").shape(), Shape({3}));
  EXPECT_EQ(first.shape(), Shape({kAny, 3, 4, 4}));
  EXPECT_EQ(in(collection::kTrainableVariables), (Names{"p/alpha", "q/alpha", "r/alpha"}));
  EXPECT_TRUE(contains(error_of([&] { placeholder(f32, {2, kAny}) | prelu("s"); }),
                       "[prelu 's'] expected a known number of channels in axis 1"));
}

}  // namespace
}  // namespace belfry
