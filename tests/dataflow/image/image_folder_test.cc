#include "belfry/dataflow/image/image_folder.h"

#include <filesystem>

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/image/augmentor.h"
#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/mixup.h"
#include "belfry/dataflow/image/pixels.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/shuffle.h"
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
            "[image_folder] expected an image, got 6 bytes that are none, or one that is damaged. It is '" +
                (dir_ / "dog/b.jpg") + "'.");
}

TEST_F(ImageFolder, WithoutClassesOrImagesItIsAnError) {
  EXPECT_EQ(file_error_of([&] { image_folder(dir_ / "absent"); }),
            "[image_folder] expected a directory with a folder for each class, got '" + (dir_ / "absent") +
                "', which is none.");
  EXPECT_EQ(file_error_of([&] { image_folder(dir_ / "dog"); }),
            "[image_folder] expected a folder for each class in '" + (dir_ / "dog") +
                "', found none. For files without classes use image_files().");
  std::filesystem::create_directory(dir_ / "empty");
  EXPECT_EQ(file_error_of([&] { image_folder(dir_.path()); }),
            "[image_folder] expected .jpg, .jpeg or .png files in '" + (dir_ / "empty") +
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
