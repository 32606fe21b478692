#include "belfry/dataflow/image_sheet.h"

#include <cmath>

#include "belfry/dataflow/internal/glyphs.h"
#include "tests/dataflow/image/pictures.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

TEST(ImageSheet, PutsImagesOfAnyKindInRows) {
  const Array sheet = image_sheet({solid_picture(4, 6, {255, 0, 0}), solid_picture(2, 2, {100}),
                                   Array::full(f32, {4, 4, 3}, 2), solid_picture(3, 3, {0, 0, 200, 0})},
                                  {.columns = 3, .gap = 1});
  ASSERT_EQ(sheet.shape(), (Shape{2 * 5 + 1, 3 * 7 + 1, 3}));
  EXPECT_EQ(pixel(sheet, 1, 1, 1), 0);  // red
  EXPECT_EQ(pixel(sheet, 4, 6, 0), 255);
  EXPECT_EQ(pixel(sheet, 4, 7, 1), 255);  // the gap
  EXPECT_EQ(pixel(sheet, 5, 6, 1), 255);
  EXPECT_EQ(pixel(sheet, 1, 8, 0), 100);
  EXPECT_EQ(pixel(sheet, 1, 8, 2), 100);
  EXPECT_EQ(pixel(sheet, 1, 15), 255);    // beyond white
  EXPECT_EQ(pixel(sheet, 6, 1, 0), 255);  // transparent
  EXPECT_EQ(pixel(sheet, 0, 0), 255);
}

TEST(ImageSheet, TransparentPixelsLetTheWhiteThroughAndNaNIsBlack) {
  const Array sheet =
      image_sheet({solid_picture(1, 1, {0, 100, 200, 51}), Array::full(f32, {1, 1, 1}, NAN)}, {.columns = 2, .gap = 0});
  EXPECT_TRUE(equal(sheet, Array::of<std::uint8_t>({1, 2, 3}, {204, 224, 244, 0, 0, 0})));
}

TEST(ImageSheet, TakesTheRowsOfABatch) {
  Array batch = Array::zeros(u8, {3, 2, 2, 1});
  batch.set_item(11, 9);  // the last pixel of the last image
  const Array sheet = image_sheet(rows_of(batch), {.columns = 8, .gap = 0});
  ASSERT_EQ(sheet.shape(), (Shape{2, 6, 3}));  // no places for images that are not there
  EXPECT_EQ(pixel(sheet, 1, 5), 9);
  EXPECT_EQ(pixel(sheet, 1, 4), 0);
}

TEST(ImageSheet, SmallImagesCanBeDrawnLarger) {
  const Array small = Array::of<std::uint8_t>({2, 1, 1}, {10, 20}), large = solid_picture(1, 2, {30, 31, 32});
  const Array sheet = image_sheet({small, large}, {.gap = 1, .scale = 2});
  ASSERT_EQ(sheet.shape(), (Shape{4 + 2, 2 * 4 + 3, 3}));
  for (const auto& [y, x, value] :
       {std::tuple{1, 1, 10}, {2, 2, 10}, {3, 1, 20}, {4, 2, 20}, {1, 3, 255}, {1, 6, 30}, {2, 9, 30}, {3, 6, 255}})
    EXPECT_EQ(pixel(sheet, y, x), value) << y << " " << x;
}

// The part of a sheet below the first row of images, as text.
std::vector<std::string> drawn(const Array& sheet, std::int64_t first) {
  std::vector<std::string> lines;
  for (std::int64_t y = first; y < sheet.shape()[0]; ++y) {
    lines.emplace_back();
    for (std::int64_t x = 0; x < sheet.shape()[1]; ++x) lines.back() += pixel(sheet, y, x) < 128 ? '#' : ' ';
  }
  return lines;
}

TEST(ImageSheet, WritesLabelsUnderImages) {
  const Array white = solid_picture(4, 18, {255});
  EXPECT_EQ(drawn(image_sheet({white}, {.labels = {"4pg and so on"}, .gap = 0}), 6),
            (std::vector<std::string>{"   #              ",  //
                                      "  ##              ",  //
                                      " # #  ####   #### ",  //
                                      "#  #  #   # #   # ",  //
                                      "##### #   # #   # ",  //
                                      "   #  ####   #### ",  //
                                      "   #  #         # ",  //
                                      "      #      ###  ",  //
                                      "                  "}));
  const std::vector<Array> two{white, white};
  const Array plain = image_sheet(two), labelled = image_sheet(two, {.labels = {"", "\xc3\x84"}});
  EXPECT_GT(labelled.shape()[0], plain.shape()[0]);
  EXPECT_TRUE(equal(image_sheet(two, {.labels = {"", "??"}}), labelled));  // what is not ASCII
}

TEST(ImageSheet, EveryLetterHasAShapeOfItsOwn) {
  const auto shape_of = [](char letter) {
    std::string shape;
    for (int y = 0; y < kGlyphHeight; ++y)
      for (int x = 0; x < kGlyphWidth; ++x) shape += glyph_pixel(letter, x, y) ? '#' : ' ';
    return shape;
  };
  for (char a = ' '; a <= '~'; ++a)
    for (char b = ' '; b < a; ++b) EXPECT_NE(shape_of(a), shape_of(b)) << a << b;
  EXPECT_EQ(shape_of(' ').find('#'), std::string::npos);
}

TEST(ImageSheet, WrongArgumentsAreErrors) {
  const std::vector<Array> images(2, solid_picture(1, 1, {9}));
  EXPECT_EQ(error_of([&] { image_sheet(images, {.labels = {"one"}}); }),
            "[image_sheet] expected a label for each of 2 images, or none, got 1.");
  EXPECT_EQ(error_of([] { image_sheet({}); }), "[image_sheet] expected at least one image, got none.");
  EXPECT_EQ(error_of([&] { image_sheet(images, {.columns = 0}); }),
            "[image_sheet] expected 1 or more columns, a gap of 0 or more and a scale of 1 or more, got 0, 4 and 1.");
  EXPECT_EQ(
      error_of([] { image_sheet({Array(f32, {2, 28, 28, 1})}); }),
      "[image_sheet] expected an image, u8 or f32 [height, width, 1, 3 or 4 channels], got f32 [2, 28, 28, 1]. The "
      "images of a batch are rows_of(batch).");
}

}  // namespace
}  // namespace belfry
