#include "belfry/dataflow/image/codecs/image_folder.h"

#include <filesystem>

#include "belfry/base/log.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/cache.h"
#include "belfry/dataflow/image/augmentor.h"
#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/mixup.h"
#include "belfry/dataflow/image/opencv/colors.h"
#include "belfry/dataflow/image/pixels.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/shuffle.h"
#include "tests/dataflow/image/codecs/image_bytes.h"
#include "tests/dataflow/image/pictures.h"
#include "tests/dataflow/restore_checks.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::file_error_of;
using testing_support::put_bytes;
using testing_support::TempDir;

// Two classes, whose pictures are of one colour each: their number.
class ImageFolder : public testing::Test {
 protected:
  ImageFolder() {
    for (const char* folder : {"dog", "cat", "cat/more", ".hidden"}) std::filesystem::create_directory(dir_ / folder);
    int number = 0;
    for (const char* file : {"cat/a.png", "cat/b.PNG", "cat/more/c.png", "dog/a.png", "dog/z.png"})
      write_image(dir_ / file, solid_picture(2, 2, {static_cast<std::uint8_t>(number++)}));
    put_bytes(dir_ / "cat/._a.png", "not a picture");
    put_bytes(dir_ / "cat/notes.txt", "not a picture");
    put_bytes(dir_ / "loose.png", "of no class");
  }

  const TempDir dir_;
};

TEST_F(ImageFolder, GivesThePicturesOfEachClassInOrder) {
  EXPECT_EQ(image_folder_classes(dir_.path()), (std::vector<std::string>{"cat", "dog"}));
  Flow flow = image_folder(dir_.path());
  EXPECT_EQ(flow.size(), 5);
  EXPECT_EQ(flow.describe(), "image_folder(\"" + dir_.path() + "\")");
  for (int i = 0; i < 5; ++i) {
    const DataPoint point = *flow.next();
    EXPECT_TRUE(equal(point[0], solid_picture(2, 2, std::vector<std::uint8_t>(3, static_cast<std::uint8_t>(i))))) << i;
    EXPECT_TRUE(equal(point[1], Array(i < 3 ? 0 : 1)));
  }
  EXPECT_FALSE(flow.next());
}

TEST_F(ImageFolder, GivesBytesIfAskedTo) {
  Flow bytes = image_folder(dir_.path(), {.decode = false}) | decode_images({.channels = ImageChannels::grey});
  Flow grey = image_folder(dir_.path(), {.channels = ImageChannels::grey});
  while (const std::optional<DataPoint> point = grey.next()) EXPECT_TRUE(same(*bytes.next(), *point));
  EXPECT_FALSE(bytes.next());
}

TEST_F(ImageFolder, CanBeShuffledAndReadByThreads) {
  const auto read = [&](int threads) {
    Flow flow = image_folder(dir_.path()) | shuffle(1) | map([](DataPoint p) { return p; }, {.threads = threads});
    return pass(flow, 1);
  };
  EXPECT_EQ(read(0), read(3));
  EXPECT_NE(read(0), pass(image_folder(dir_.path()), 1));
}

TEST_F(ImageFolder, SavedPositionsContinueExactly) {
  expect_exact_restore([&] { return image_folder(dir_.path()); });
  expect_exact_restore([&] { return image_folder(dir_.path()) | shuffle(2); });
  expect_exact_restore([&] { return image_files({dir_ / "cat/a.png", dir_ / "dog/z.png"}); });
}

TEST_F(ImageFolder, ADamagedFileIsNamed) {
  put_bytes(dir_ / "dog/b.jpg", "broken");
  Flow flow = image_folder(dir_.path());
  for (int i = 0; i < 4; ++i) flow.next();
  EXPECT_EQ(file_error_of([&] { flow.next(); }),
            "[image_folder] expected a JPEG, PNG or WebP, got 6 bytes that are none of these. It is '" +
                (dir_ / "dog/b.jpg") + "'.");
}

TEST_F(ImageFolder, ErrorsOfStagesBehindItNameTheFile) {
  write_image(dir_ / "dog/b.png", solid_picture(1, 1, {9}));
  const std::string small = dir_ / "dog/b.png";
  const Augmentor crop = random_crop({2, 2});
  for (const int threads : {0, 2}) {
    Flow cropped = image_folder(dir_.path()) | shuffle(3) | augment_images(crop, {.threads = threads});
    const std::string error = error_of([&] { drain(cropped); });
    EXPECT_TRUE(contains(error, " of epoch 0, '" + small + "': [random_crop] expected an image of at least 2 x 2"))
        << error;
  }
  Flow kept = image_folder(dir_.path()) | cache_in_memory() | augment_images(crop);
  EXPECT_TRUE(contains(error_of([&] { drain(kept); }), "at point 4 of epoch 0, '" + small + "': [random_crop] "));
  // Behind stages that make other images of it.
  const auto refuse = [](const DataPoint& point) -> DataPoint {
    if (point[0].shape()[0] == 3) throw std::runtime_error("three rows");
    return point;
  };
  write_image(dir_ / "dog/c.png", solid_picture(3, 3, {9}));
  Flow mapped =
      image_folder(dir_.path(), {.decode = false}) | decode_images() | augment_images(flip_horizontal()) | map(refuse);
  const std::string error = error_of([&] { drain(mapped); });
  EXPECT_TRUE(contains(error, "of epoch 0, '" + (dir_ / "dog/c.png") + "': three rows")) << error;
}

TEST_F(ImageFolder, BytesRememberTheirFile) {
  put_bytes(dir_ / "dog/b.jpg", "broken");
  for (const int threads : {0, 2}) {
    Flow flow = image_folder(dir_.path(), {.decode = false}) | decode_images({.threads = threads});
    const std::string error = error_of([&] { drain(flow); });
    EXPECT_TRUE(contains(error, "failed at point 4 of epoch 0, '" + (dir_ / "dog/b.jpg") + "': [decode_images] "))
        << error;
  }
}

TEST_F(ImageFolder, SkippedFilesAreListedAtTheEndOfEachPass) {
  std::vector<std::string> warnings, bad;
  const LogRedirect redirect([&](LogLevel, std::string_view text) { warnings.emplace_back(text); }, LogLevel::warning);
  for (char name = 'b'; name < 'b' + 12; ++name) {
    bad.push_back(dir_ / ("dog/" + std::string(1, name) + ".jpg"));
    put_bytes(bad.back(), "broken");
  }
  for (const int threads : {0, 2}) {
    warnings.clear();
    const SkippedImages skipped;
    Flow flow = image_folder(dir_.path(), {.decode = false}) | shuffle(1) |
                decode_images({.on_error = OnBadImage::skip, .skipped = skipped, .threads = threads});
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) EXPECT_EQ(pass(flow, epoch).size(), 5u * 2 * 2 * 3);
    EXPECT_EQ(skipped.count(), 24);
    EXPECT_EQ(skipped.files(), bad);
    ASSERT_EQ(warnings.size(), 3u);
    EXPECT_TRUE(contains(warnings[0], " It is '" + dir_.path() + "/dog/")) << warnings[0];
    EXPECT_TRUE(contains(warnings[1], "[decode_images] 12 image(s) of '")) << warnings[1];
    EXPECT_TRUE(contains(warnings[1], "' were skipped in epoch 0: " + bad[0] + ", " + bad[1] + ", ")) << warnings[1];
    EXPECT_TRUE(contains(warnings[1], bad[9] + " and 2 more. SkippedImages::files() has all.")) << warnings[1];
    EXPECT_TRUE(contains(warnings[2], "in epoch 1: ")) << warnings[2];
  }
}

TEST_F(ImageFolder, ReadsWebp) {
  put_bytes(dir_ / "dog/b.webp", webp_bytes(solid_picture(2, 2, {5, 6, 7})));
  Flow flow = image_folder(dir_.path());
  EXPECT_EQ(flow.size(), 6);
  for (int i = 0; i < 4; ++i) flow.next();
  EXPECT_TRUE(equal((*flow.next())[0], solid_picture(2, 2, {5, 6, 7})));
}

TEST_F(ImageFolder, ABitmapIsAnErrorInsteadOfMissing) {
  put_bytes(dir_ / "dog/b.bmp", "BM, and so on");
  Flow flow = image_folder(dir_.path());
  EXPECT_EQ(flow.size(), 6);
  for (int i = 0; i < 4; ++i) flow.next();
  EXPECT_EQ(file_error_of([&] { flow.next(); }),
            "[image_folder] expected a JPEG, PNG or WebP, got 13 bytes that begin as a BMP does. Convert it to one of "
            "these. It is '" +
                (dir_ / "dog/b.bmp") + "'.");
}

TEST_F(ImageFolder, WithoutClassesOrImagesItIsAnError) {
  EXPECT_EQ(file_error_of([&] { image_folder(dir_ / "absent"); }),
            "[image_folder] expected a directory with a folder for each class, got '" + (dir_ / "absent") +
                "', which is not one.");
  EXPECT_EQ(file_error_of([&] { image_folder(dir_ / "dog"); }),
            "[image_folder] expected a folder for each class in '" + (dir_ / "dog") +
                "', found none. For files without classes use image_files().");
  std::filesystem::create_directory(dir_ / "empty");
  EXPECT_EQ(file_error_of([&] { image_folder(dir_.path()); }),
            "[image_folder] expected .jpg, .jpeg, .png or .webp files in '" + (dir_ / "empty") +
                "', found none. Remove the folder if it is no class.");
}

TEST_F(ImageFolder, FilesComeInTheOrderOfThePaths) {
  EXPECT_EQ(drain(image_files({dir_ / "dog/z.png", dir_ / "cat/a.png"}, {.channels = ImageChannels::grey})),
            (std::vector<int>{4, 4, 4, 4, 0, 0, 0, 0}));
  EXPECT_EQ(image_files({}).size(), 0);
  Flow flow = image_files({dir_ / "absent.png"}, {.decode = false});
  EXPECT_TRUE(contains(file_error_of([&] { flow.next(); }), dir_ / "absent.png"));
}

TEST_F(ImageFolder, FeedsATrainingPipelineFromFilesToMixedBatches) {
  namespace bf = belfry;
  const std::string& directory = dir_.path();
  const auto make = [&] {
    const bf::Augmentor train = bf::random_resized_crop(32) | bf::flip_horizontal() |
                                bf::color_jitter({.brightness = 0.4, .contrast = 0.4, .saturation = 0.4}) |
                                bf::normalize({0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f});
    return bf::image_folder(directory) | bf::shuffle(7) | bf::augment_images(train, {.seed = 1, .threads = 2}) |
           bf::batch(2) | bf::mixup({.alpha = 0.2, .classes = 2});
  };
  Flow flow = make();
  EXPECT_EQ(flow.size(), 2);
  const DataPoint batch = *flow.next();
  EXPECT_EQ(batch[0].shape(), (Shape{2, 32, 32, 3}));
  EXPECT_EQ(batch[0].dtype(), f32);
  EXPECT_EQ(batch[1].shape(), (Shape{2, 2}));
  expect_exact_restore(make);
}

}  // namespace
}  // namespace belfry
