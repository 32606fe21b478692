#include "belfry/dataflow/image/opencv/warp.h"

#include "tests/dataflow/image/augmenting.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

TEST(Rotate, QuarterTurnsAreExact) {
  const Array picture = numbered_picture(5, 5);
  expect_pixels(augmented(picture, rotate(90)), picture, [](auto y, auto x) { return At{x, 4 - y}; });
  expect_pixels(augmented(picture, rotate(180)), picture, [](auto y, auto x) { return At{4 - y, 4 - x}; });
  expect_pixels(augmented(picture, rotate(-90)), picture, [](auto y, auto x) { return At{4 - x, y}; });
  EXPECT_TRUE(equal(augmented(picture, rotate(0)), picture));
  const Array even = numbered_picture(6, 6, 1).cast(f32);
  expect_pixels(augmented(even, rotate(90)), even, [](auto y, auto x) { return At{x, 5 - y}; });
}

TEST(Affine, TheIdentityChangesNothing) {
  for (const Interpolation interpolation : {Interpolation::nearest, Interpolation::linear, Interpolation::area,
                                            Interpolation::cubic, Interpolation::lanczos}) {
    const Array picture = numbered_picture(6, 9);
    EXPECT_TRUE(equal(augmented(picture, affine({.interpolation = interpolation})), picture));
  }
}

TEST(Affine, ScalesAboutTheMiddleAndFillsTheRest) {
  const Array white = solid_picture(9, 9, {255});
  const Array small = augmented(white, affine({.scale = 0.5, .border = {.value = 7}}));
  EXPECT_EQ(pixel(small, 4, 4), 255);
  EXPECT_EQ(pixel(small, 0, 0), 7);
  EXPECT_EQ(pixel(small, 8, 4), 7);
  EXPECT_EQ(error_of([] { affine({.scale = {2, 1}}); }),
            "[affine] expected the scale as a range within 0.001 to 1000, got 2 to 1.");
}

TEST(Warp, ImageMaskAndPointsStayTogether) {
  expect_all_move_together({
      rotate({-30, 30}),
      affine({.degrees = {-20, 20}, .translate_x = 0.1, .translate_y = 0.1, .scale = {0.8, 1.2}, .shear = {-10, 10}}),
      flip_horizontal() | rotate({-10, 10}) | random_crop(64) | flip_vertical() | resize(100),
      random_choice({flip_vertical(1), rotate(90)}) | random_apply(0.5, resize(40)),
      resize_shortest(33, Interpolation::area),
  });
}

TEST(Warp, OutsideOfAMaskIsItsOwnValue) {
  RandomStream random(0);
  const ImageTransform transform = rotate(45, {.border = {.value = 9, .mask_value = 255}}).sample({9, 9, 1}, random);
  EXPECT_EQ(pixel(transform.image(solid_picture(9, 9, {50})), 0, 0), 9);
  EXPECT_EQ(pixel(transform.mask(solid_picture(9, 9, {50})), 0, 0), 255);
}

TEST(Warp, UnknownOptionsAreErrors) {
  EXPECT_EQ(error_of([] { rotate(3, {.interpolation = static_cast<Interpolation>(9)}); }),
            "[rotate] expected an Interpolation, got the number 9.");
  EXPECT_EQ(error_of([] { affine({.border = {.mode = static_cast<BorderMode>(7)}}); }),
            "[affine] expected a BorderMode, got the number 7.");
}

TEST(ResizeByOpencv, KeepsWhatIsUniformAndHasTheSizeAskedFor) {
  for (const Interpolation interpolation : {Interpolation::area, Interpolation::cubic, Interpolation::lanczos})
    for (const DType dtype : {u8, f32}) {
      const Array grey = solid_picture(10, 20, {50, 100, 150}).cast(dtype);
      EXPECT_LE(distance(augmented(grey, resize({5, 7}, interpolation)), solid_picture(5, 7, {50, 100, 150})), 1e-4);
      EXPECT_EQ(augmented(grey, resize(32, interpolation)).shape(), (Shape{32, 32, 3}));
      EXPECT_EQ(augmented(grey, resize_shortest(15, interpolation)).shape(), (Shape{15, 30, 3}));
    }
}

TEST(ResizeByOpencv, AreaIsTheMean) {
  const Array picture = Array::of<std::uint8_t>({2, 4, 1}, {0, 4, 10, 20, 8, 12, 30, 40});
  EXPECT_TRUE(
      equal(augmented(picture, resize({1, 2}, Interpolation::area)), Array::of<std::uint8_t>({1, 2, 1}, {6, 25})));
  const Array wide = Array::of<std::uint8_t>({1, 3, 1}, {0, 3, 9});
  EXPECT_EQ(augmented(wide, resize(1, Interpolation::area)).item(), 4);
}

}  // namespace
}  // namespace belfry
