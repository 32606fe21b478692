#include "belfry/dataflow/image/mixup.h"

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/shuffle.h"
#include "tests/dataflow/image/pictures.h"
#include "tests/dataflow/restore_checks.h"

namespace belfry {
namespace {

// Images whose pixels are all i, with the label i.
Flow numbers(int count) {
  std::vector<DataPoint> points;
  for (int i = 0; i < count; ++i) points.push_back({Array::full(f32, {2, 2, 1}, i), Array(i)});
  return from_list(points);
}

TEST(Mixup, ImagesAndLabelsAreMixedAlike) {
  Flow flow = numbers(40) | batch(8) | mixup({.alpha = 1, .classes = 40});
  int batches = 0;
  double off = 0;
  while (const std::optional<DataPoint> point = flow.next()) {
    ++batches;
    const Array &images = (*point)[0], &labels = (*point)[1];
    ASSERT_EQ(images.shape(), (Shape{8, 2, 2, 1}));
    ASSERT_EQ(labels.shape(), (Shape{8, 40}));
    for (int row = 0; row < 8; ++row) {
      double sum = 0, mean = 0;
      for (int k = 0; k < 40; ++k) {
        const double weight = labels.item(row * 40 + k);
        EXPECT_GE(weight, 0);
        sum += weight, mean += weight * k;
      }
      EXPECT_NEAR(sum, 1, 1e-5);
      for (int p = 0; p < 4; ++p) EXPECT_NEAR(images.item(row * 4 + p), mean, 1e-3);
      off += std::abs(images.item(row * 4) - (8 * (batches - 1) + row));
    }
  }
  EXPECT_EQ(batches, 5);
  EXPECT_GT(off, 1);
}

TEST(Mixup, LambdaIsOfTheBetaDistribution) {
  for (const double alpha : {0.2, 1.0, 5.0}) {
    // Two images, 0 and 1, mixed with each other or themselves: the smaller weight tells lambda.
    Flow flow = from_list(std::vector<DataPoint>(
                    20000, {Array::of<float>({2, 1}, {0, 1}), Array::of<std::int32_t>({2}, {0, 1})})) |
                mixup({.alpha = alpha, .classes = 2});
    double count = 0, squares = 0;
    while (const std::optional<DataPoint> point = flow.next()) {
      const double first = (*point)[0].item(0), second = (*point)[0].item(1);
      if (first == 0 && second == 1) continue;  // each with itself
      ++count, squares += (second - 0.5) * (second - 0.5);
    }
    EXPECT_GT(count, 5000);
    EXPECT_NEAR(squares / count, 1 / (4 * (2 * alpha + 1)), 0.006) << alpha;  // the variance
  }
}

TEST(Mixup, WithAlphaZeroLabelsBecomeOneHotAndNothingElseChanges) {
  Flow flow = numbers(2) | batch(2) | mixup({.alpha = 0, .classes = 3});
  const DataPoint point = *flow.next();
  EXPECT_TRUE(equal(point[0], Array::of<float>({2, 2, 2, 1}, {0, 0, 0, 0, 1, 1, 1, 1})));
  EXPECT_TRUE(equal(point[1], Array::of<float>({2, 3}, {1, 0, 0, 0, 1, 0})));
}

TEST(Mixup, SoftLabelsAreMixedAsTheyAre) {
  Flow flow =
      from_list({{Array::full(f32, {2, 1}, 1), Array::of<float>({2, 2}, {0.5f, 0.5f, 0.5f, 0.5f})}}) | mixup({});
  const Array labels = (*flow.next())[1];
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(labels.item(i), 0.5, 1e-6);
}

TEST(Mixup, IsTheSameOnAnyNumberOfThreadsAndAfterARestore) {
  const auto make = [](int threads) {
    return numbers(24) | shuffle(1) | batch(4) | mixup({.classes = 24, .seed = 9, .threads = threads});
  };
  for (const int threads : {0, 2}) expect_exact_restore([&] { return make(threads); });
  Flow one = make(0), many = make(3);
  while (const std::optional<DataPoint> point = one.next()) EXPECT_TRUE(same(*point, *many.next()));
  one.start_epoch(1), many.start_epoch(0);
  EXPECT_FALSE(same(*one.next(), *many.next()));
}

TEST(Mixup, MistakesAreErrors) {
  const auto error = [](DataPoint point, const MixupOptions& options) {
    Flow flow = from_list({std::move(point)}) | mixup(options);
    const std::string text = error_of([&] { flow.next(); });
    return text.substr(text.find(": ") + 2);
  };
  const Array images = Array::zeros(f32, {2, 1}), labels = Array::zeros(i32, {2});
  EXPECT_EQ(error({images, labels}, {}),
            "[mixup] expected the number of classes, as labels are i32, got 0. Give .classes.");
  EXPECT_EQ(error({images, Array::full(i32, {2}, 5)}, {.classes = 5}), "[mixup] expected labels from 0 to 4, got 5.");
  EXPECT_EQ(
      error({images.cast(u8), labels}, {.classes = 5}),
      "[mixup] expected a batch of images, f32 [n, ...], got u8 [2, 1]. Put to_float() or normalize(), and batch(), "
      "before it.");
  EXPECT_EQ(error({images, Array::zeros(f32, {2, 3})}, {.classes = 5}),
            "[mixup] expected labels i32 [n] or f32 [n, classes], got f32 [2, 3] for 5 classes.");
  EXPECT_EQ(error({images, Array::zeros(i32, {3})}, {.classes = 5}),
            "[mixup] expected as many labels as images, got 3 and 2.");
  EXPECT_EQ(error_of([] { mixup({.alpha = -1}); }), "[mixup] expected an alpha of 0 or more, got -1.");
}

}  // namespace
}  // namespace belfry
