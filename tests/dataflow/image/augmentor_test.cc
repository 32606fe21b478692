#include "belfry/dataflow/image/augmentor.h"

#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/shuffle.h"
#include "tests/dataflow/image/pictures.h"
#include "tests/dataflow/restore_checks.h"

namespace belfry {
namespace {

Flow pictures(int count) {
  std::vector<DataPoint> points;
  for (int i = 0; i < count; ++i)
    points.push_back({numbered_picture(8 + i % 3, 9), Array(i), numbered_picture(8 + i % 3, 9, 1),
                      Array::of<float>({1, 2}, {1, static_cast<float>(i)})});
  return from_list(points);
}

const Augmentor& some() {
  static const Augmentor augmentor =
      random_crop(8, {.padding = 2}) | flip_horizontal() | random_apply(0.5, resize({10, 9}));
  return augmentor;
}

TEST(AugmentImages, IsTheSameOnAnyNumberOfThreadsAndAnotherInEachEpoch) {
  const auto make = [](int threads) {
    return pictures(12) | augment_images(some(), {.mask = 2, .points = 3, .seed = 5, .threads = threads});
  };
  std::vector<std::vector<DataPoint>> epochs;
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    Flow one = make(0);
    EXPECT_EQ(one.size(), 12);
    one.start_epoch(epoch);
    epochs.push_back(points_left(one));
    for (const int threads : {1, 2, 4}) {
      Flow many = make(threads);
      many.start_epoch(epoch);
      const std::vector<DataPoint> points = points_left(many);
      ASSERT_EQ(points.size(), epochs[epoch].size());
      for (std::size_t i = 0; i < points.size(); ++i) EXPECT_TRUE(same(points[i], epochs[epoch][i]));
    }
  }
  int alike = 0;
  for (std::size_t i = 0; i < 12; ++i) alike += same(epochs[0][i], epochs[1][i]) ? 1 : 0;
  EXPECT_LT(alike, 6);
}

TEST(AugmentImages, ChangesImageMaskAndPointsAlikeAndNothingElse) {
  Flow flow = pictures(6) | augment_images(flip_horizontal(1) | center_crop({8, 7}), {.mask = 2, .points = 3});
  Flow plain = pictures(6);
  for (int i = 0; i < 6; ++i) {
    const DataPoint point = *flow.next(), before = *plain.next();
    EXPECT_EQ(point[0].shape(), (Shape{8, 7, 3}));
    EXPECT_EQ(point[2].shape(), (Shape{8, 7, 1}));
    EXPECT_EQ(pixel(point[0], 0, 0), pixel(before[0], i % 3 / 2, 7));
    EXPECT_EQ(pixel(point[2], 0, 0), pixel(before[2], i % 3 / 2, 7));
    EXPECT_EQ(point[3].item(0), 8 - 1 - 1);
    EXPECT_TRUE(equal(point[1], before[1]));
  }
}

TEST(AugmentImages, LeavesTheSourceAsItWas) {
  const std::vector<DataPoint> points{{numbered_picture(8, 8)}};
  Flow flow = from_list(points) | augment_images(some());
  flow.next();
  EXPECT_TRUE(equal(points[0][0], numbered_picture(8, 8)));
}

TEST(AugmentImages, SavedPositionsContinueExactly) {
  for (const int threads : {0, 2})
    expect_exact_restore([&] {
      return pictures(7) | shuffle(1) | augment_images(some(), {.mask = 2, .points = 3, .seed = 3, .threads = threads});
    });
  expect_exact_restore(
      [&] { return pictures(7) | augment_images(some(), {.seed = 3}) | shuffle(1) | augment_images(some()); });
}

TEST(AugmentImages, MistakesAreErrorsThatNameThePoint) {
  const auto error = [](const AugmentImagesOptions& options, Flow source) {
    Flow flow = std::move(source) | augment_images(some(), options);
    return error_of([&] { flow.next(); });
  };
  EXPECT_EQ(error({.image = 4}, pictures(1)),
            "[augment_images] the function of 'list | augment_images' failed at point 0 of epoch 0: [augment_images] "
            "expected a point with a component 4, got one of 4 component(s).");
  EXPECT_TRUE(contains(error({.image = 1}, pictures(1)),
                       "[augment] expected the shape of an image, [height, width, channels], got []."));
  EXPECT_TRUE(contains(error({.points = 1}, pictures(1)), "[augment] expected points, f32 [n, 2], got i32 []."));
  EXPECT_TRUE(contains(error({.mask = 1}, pictures(1)),
                       "[augment] expected a mask, u8, i32 or f32 [height, width] or [height, width, 1 to 4 channels], "
                       "got i32 []."));
  const Flow other_mask = from_list({{numbered_picture(8, 8), numbered_picture(7, 8, 1)}});
  EXPECT_TRUE(contains(error({.mask = 1}, other_mask),
                       "[augment] expected a mask of 8 x 8 pixels, as the transform was sampled for, got [7, 8, 1]."));
  const Flow wrong_type = from_list({{Array(i64, {8, 8, 3})}});
  EXPECT_TRUE(contains(error({}, wrong_type),
                       "[augment] expected an image, u8 or f32 [height, width, 1 to 4 channels], got i64 [8, 8, 3]."));
}

TEST(Augmentor, TheSameRandomNumbersGiveTheSameTransform) {
  const Array picture = numbered_picture(9, 9);
  RandomStream a(7), b(7), c(8);
  const Array first = augment(picture, some(), a);
  EXPECT_TRUE(equal(augment(picture, some(), b), first));
  EXPECT_FALSE(equal(augment(picture, some(), c), first));
}

TEST(Augmentor, ATransformIsForImagesOfOneShape) {
  RandomStream random(0);
  const ImageTransform transform = some().sample({8, 8, 3}, random);
  EXPECT_EQ(error_of([&] { transform.image(numbered_picture(9, 8)); }),
            "[augment] expected an image of shape [8, 8, 3], as the transform was sampled for, got [9, 8, 3].");
}

TEST(Augmentor, WithoutStepsTheImageIsNotCopied) {
  const Array picture = numbered_picture(4, 4);
  RandomStream random(0);
  EXPECT_EQ(augment(picture, Augmentor(), random).raw(), picture.raw());
  EXPECT_EQ(augment(picture, flip_vertical(1) | flip_vertical(1), random).raw(), picture.raw());
}

TEST(Augmentor, ChoosesAmongAllWithTheSameProbability) {
  const Augmentor choice = random_choice({resize(1), resize(2), resize(3)});
  int counts[4] = {};
  RandomStream random(1);
  for (int i = 0; i < 3000; ++i) ++counts[choice.sample({5, 5, 1}, random).result()[0]];
  for (int side = 1; side <= 3; ++side) EXPECT_NEAR(counts[side], 1000, 120);
  EXPECT_EQ(error_of([] { random_choice({}); }), "[random_choice] expected at least one augmentor, got none.");
  EXPECT_EQ(error_of([] { random_apply(-1, {}); }), "[random_apply] expected a probability from 0 to 1, got -1.");
}

TEST(Augmentor, OneOfTheUsersOwnWorksLikeTheOthers) {
  const Augmentor darker = custom_augmentor([](const Shape& shape, RandomStream& random) {
    EXPECT_EQ(shape, (Shape{3, 3, 1}));
    const auto by = static_cast<double>(random.below(3) + 1);
    return CustomTransform{.image = [by](Array image) {
      Array made = image.clone();
      for (std::int64_t i = 0; i < made.elements(); ++i) made.set_item(i, made.item(i) - by);
      return made;
    }};
  });
  RandomStream random(3);
  const ImageTransform transform = (center_crop(3) | darker | flip_vertical(1)).sample({5, 5, 1}, random);
  const Array made = transform.image(solid_picture(5, 5, {10}));
  EXPECT_GE(made.item(), 7);
  EXPECT_LE(made.item(), 9);
  EXPECT_EQ(transform.mask(solid_picture(5, 5, {10})).item(), 10);
  const Augmentor liar = custom_augmentor([](const Shape&, RandomStream&) {
    return CustomTransform{.image = [](Array) { return Array::zeros(u8, {1, 1, 1}); }};
  });
  EXPECT_EQ(
      error_of([&] { augment(solid_picture(5, 5, {1}), liar, random); }),
      "[custom_augmentor] expected an image of shape [5, 5, 1], got [1, 1, 1]. Say in CustomTransform::result what "
      "shape comes out.");
}

TEST(Augmentor, OneOfTheUsersOwnThatChangesTheSizeMustSayWhatBecomesOfMasks) {
  const auto smaller = [](Array) { return Array::zeros(u8, {3, 3, 1}); };
  RandomStream random(0);
  const auto sampled = [&](const CustomTransform& custom) {
    const auto give = [custom](const Shape&, RandomStream&) { return custom; };
    return (custom_augmentor(give) | center_crop(2)).sample({5, 5, 1}, random);
  };
  const Array mask = Array::zeros(u8, {5, 5, 1});
  const ImageTransform without = sampled({.image = smaller, .result = Shape{3, 3, 1}});
  EXPECT_EQ(without.image(mask).shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(
      error_of([&] { without.mask(mask); }),
      "[custom_augmentor] expected a mask of 3 x 3 pixels, as the image has, got 5 x 5. Let CustomTransform::mask "
      "change it along with the image.");
  EXPECT_EQ(sampled({.image = smaller, .mask = smaller, .result = Shape{3, 3, 1}}).mask(mask).shape(),
            (Shape{2, 2, 1}));
  EXPECT_TRUE(contains(error_of([&] { sampled({.mask = smaller}).mask(mask); }),
                       "[custom_augmentor] expected a mask of 5 x 5 pixels, as the image has, got 3 x 3."));
}

TEST(Augmentor, OneOfTheUsersOwnPromisesOnlyImagesThatItMakes) {
  RandomStream random(0);
  const auto error = [&](const CustomTransform& custom) {
    const Augmentor augmentor = custom_augmentor([custom](const Shape&, RandomStream&) { return custom; });
    return error_of([&] { augmentor.sample({5, 5, 1}, random); });
  };
  EXPECT_EQ(error({.result = Shape{3, 3, 1}}),
            "[custom_augmentor] expected CustomTransform::image, which makes the image of shape [3, 3, 1] that .result "
            "promises, got none. Give both or neither.");
  EXPECT_EQ(error({.image = [](Array image) { return image; }, .result = Shape{0, 3, 1}}),
            "[custom_augmentor] expected the shape of an image, [height, width, channels], got [0, 3, 1].");
}

TEST(Augmentor, SidesThatNoPictureHasAreRefused) {
  RandomStream random(0);
  EXPECT_EQ(error_of([&] { resize_shortest(3).sample({std::int64_t{1} << 32, 1, 3}, random); }),
            "[augment] expected an image of at most 2^28 x 2^28 pixels, got [4294967296, 1, 3].");
}

}  // namespace
}  // namespace belfry
