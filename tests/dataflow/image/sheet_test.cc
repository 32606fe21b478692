#include "belfry/dataflow/image/sheet.h"

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
  EXPECT_EQ(pixel(sheet, 1, 8, 0), 100);
  EXPECT_EQ(pixel(sheet, 1, 8, 2), 100);
  EXPECT_EQ(pixel(sheet, 1, 15), 255);    // beyond white
  EXPECT_EQ(pixel(sheet, 6, 1, 0), 255);  // transparent
  EXPECT_EQ(pixel(sheet, 0, 0), 255);
}

TEST(ImageSheet, WritesLabelsUnderImages) {
  const std::vector<Array> images{solid_picture(20, 40, {255, 255, 255}), solid_picture(20, 40, {255, 255, 255})};
  const Array plain = image_sheet(images, {.columns = 1}),
              labelled = image_sheet(images, {.columns = 1, .labels = {"cat", ""}});
  EXPECT_GT(labelled.shape()[0], plain.shape()[0]);
  const auto dark = [&](std::int64_t first, std::int64_t last) {
    int count = 0;
    for (std::int64_t y = first; y < last; ++y)
      for (std::int64_t x = 0; x < labelled.shape()[1]; ++x) count += pixel(labelled, y, x) < 128 ? 1 : 0;
    return count;
  };
  EXPECT_GT(dark(24, 40), 5);
  EXPECT_EQ(dark(40, labelled.shape()[0]), 0);
  EXPECT_EQ(error_of([&] { image_sheet(images, {.labels = {"one"}}); }),
            "[image_sheet] expected a label for each of 2 images, or none, got 1.");
  EXPECT_EQ(error_of([] { image_sheet({}); }), "[image_sheet] expected at least one image, got none.");
}

}  // namespace
}  // namespace belfry
