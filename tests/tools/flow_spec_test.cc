#include "tools/flow_spec.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "belfry/array/npz.h"
#include "belfry/dataflow/sources/list.h"
#include "belfry/dataflow/sources/tfrecord.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tools/flow_words.h"
#ifdef BELFRY_TOOLS_IMAGES
#include "belfry/dataflow/image/codecs/decode.h"
#endif

namespace belfry::tools {
namespace {

using testing_support::put_bytes;
using testing_support::TempDir;

Shape first_shape(const std::string& spec) { return (*flow_from_spec(spec).next())[0].shape(); }

TEST(FlowSpec, FakeImagesNeedNoFiles) {
  Flow flow = flow_from_spec("fake");
  EXPECT_EQ(flow.size(), 1000);
  const DataPoint point = *flow.next();
  ASSERT_EQ(point.size(), 2u);
  EXPECT_EQ(point[0].shape(), (Shape{32, 32, 3}));
  EXPECT_EQ(point[1].dtype(), i32);

  Flow small = flow_from_spec("fake(side=4, classes=1, size=3)");
  EXPECT_EQ(small.size(), 3);
  while (const std::optional<DataPoint> next = small.next()) {
    EXPECT_EQ((*next)[0].shape(), (Shape{4, 4, 3}));
    EXPECT_EQ((*next)[1].item(), 0);
  }
  EXPECT_EQ(first_shape("fake(4)"), (Shape{4, 4, 3})) << "by position";
}

TEST(FlowSpec, ReadsFilesOfArraysAndTexts) {
  const TempDir dir;
  write_npz(dir / "points.npz",
            {{"x", Array::of<float>({3, 2}, {1, 2, 3, 4, 5, 6})}, {"y", Array::of<float>({3}, {7, 8, 9})}});
  Flow rows = flow_from_spec("npz(" + (dir / "points.npz") + ")");
  EXPECT_EQ(rows.size(), 3);
  EXPECT_EQ((*rows.next())[0].item(1), 2);

  put_bytes(dir / "a text, with (signs).txt", "one two three four five six seven");
  const std::string path = "'" + (dir / "a text, with (signs).txt") + "'";
  EXPECT_EQ(first_shape("text(" + path + ", length=3)"), Shape{3});
  EXPECT_EQ(flow_from_spec("text(" + path + ", length=3)").size(), 2);
  EXPECT_EQ(first_shape("text(" + path + ", characters, 5)"), Shape{5});
  EXPECT_EQ(error_of([&] { flow_from_spec("text(" + path + ", unit=lines)"); }),
            "[text] expected words or characters for unit, got 'lines'.");
}

#ifdef BELFRY_TOOLS_IMAGES
TEST(FlowSpec, ReadsAFolderOfImages) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "cat");
  write_image(dir / "cat/a.png", Array::full(u8, {6, 8, 3}, 200));
  const std::string folder = "image_folder(" + dir.path() + ")";
  EXPECT_EQ(first_shape(folder), (Shape{6, 8, 3}));
  EXPECT_EQ(first_shape("image_folder(" + dir.path() + ", decode=false)").rank(), 1);
  EXPECT_EQ(first_shape("image_folder(" + dir.path() + ", decode=false) | decode(threads=1)"), (Shape{6, 8, 3}));
  EXPECT_EQ(first_shape(folder + " | resize_shortest(3)"), (Shape{3, 4, 3}));
  EXPECT_EQ(first_shape(folder + " | flip"), (Shape{6, 8, 3}));
}

TEST(FlowSpec, ReadsImageFiles) {
  const TempDir dir;
  write_image(dir / "a.png", Array::full(u8, {6, 8, 3}, 200));
  write_image(dir / "b.png", Array::full(u8, {3, 2, 3}, 100));
  EXPECT_EQ(first_shape("image_files(" + (dir / "a.png") + ")"), (Shape{6, 8, 3}));
  EXPECT_EQ(first_shape("image_files(" + (dir / "a.png") + ", decode=false)").rank(), 1);
  Flow both = flow_from_spec("image_files(" + (dir / "a.png") + ";" + (dir / "b.png") + ")");
  EXPECT_EQ(both.size(), 2);
  both.next();
  EXPECT_EQ((*both.next())[0].shape(), (Shape{3, 2, 3}));
  EXPECT_EQ(error_of([] { flow_from_spec("image_files"); }), "[image_files] expected a value for path, got none.");
}

TEST(FlowSpec, StrictRefusesAJpegThatIsDamagedInside) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "cat");
  Array picture(u8, {64, 64, 3});
  for (std::int64_t i = 0; i < picture.elements(); ++i) picture.set_item(i, static_cast<double>(i * 7 % 251));
  const Array whole = encode_jpeg(picture);
  std::string bytes(static_cast<const char*>(whole.raw()), whole.bytes());
  bytes.erase(bytes.size() / 2, 40);
  put_bytes(dir / "cat/a.jpg", bytes);
  const std::string folder = "image_folder(" + dir.path(), file = "image_files(" + (dir / "cat/a.jpg");
  for (const std::string& spec : {folder + ")", file + ")", folder + ", decode=false) | decode"})
    EXPECT_EQ(first_shape(spec), (Shape{64, 64, 3})) << spec;
  for (const std::string& spec :
       {folder + ", strict=true)", file + ", strict=true)", folder + ", decode=false) | decode(strict=true)"}) {
    const std::string error = error_of([&] { first_shape(spec); });
    EXPECT_TRUE(contains(error, "expected a JPEG without damage") || contains(error, "built without it"))
        << spec << ": " << error;
  }
}
#endif

// The first pixel of a picture of 4 x 4 pixels whose columns are 0, 40, 80 and 120, and whose last row is 200.
double pixel_of(const std::string& stage) {
  const TempDir dir;
  Array pictures(u8, {1, 4, 4, 3});
  for (std::int64_t i = 0; i < pictures.elements(); ++i)
    pictures.set_item(i, i >= 36 ? 200 : static_cast<double>(i / 3 % 4 * 40));
  write_npz(dir / "a.npz", {{"pictures", pictures}});
  return (*flow_from_spec("npz(" + (dir / "a.npz") + ") | " + stage).next())[0].item();
}

TEST(FlowSpec, ChangesImages) {
  const std::string picture = "fake(side=6) | ";
  EXPECT_EQ(first_shape(picture + "resize(5)"), (Shape{5, 5, 3}));
  EXPECT_EQ(first_shape(picture + "resize_shortest(3)"), (Shape{3, 3, 3}));
  EXPECT_EQ(first_shape(picture + "center_crop(4)"), (Shape{4, 4, 3}));
  EXPECT_EQ(first_shape(picture + "random_crop(2, seed=1)"), (Shape{2, 2, 3}));
  EXPECT_EQ(first_shape(picture + "random_resized_crop(7, threads=1)"), (Shape{7, 7, 3}));
  EXPECT_EQ(first_shape(picture + "pad(2)"), (Shape{10, 10, 3}));
  EXPECT_EQ(pixel_of("flip(0)"), 0);
  EXPECT_EQ(pixel_of("flip(1)"), 120);
  EXPECT_EQ(pixel_of("flip_vertical(1)"), 200);
  EXPECT_EQ(pixel_of("pad(2, value=9)"), 9);
  EXPECT_EQ(pixel_of("pad(2, reflect)"), 80);
  EXPECT_EQ(pixel_of("flip(1) | pad(pixels=2, border=replicate)"), 120);
  EXPECT_NEAR(pixel_of("normalize(0.5, 0.25)"), -2, 1e-6);
  EXPECT_NEAR(pixel_of("normalize(mean=0.3;0.4;0.5, deviation=0.1;0.2;0.3)"), -3, 1e-6);
  EXPECT_NEAR(pixel_of("flip(1) | to_float"), 120 / 255.0, 1e-6);
  EXPECT_EQ(pixel_of("cutout(side=9, value=77)"), 77);
  EXPECT_EQ(pixel_of("random_crop(8, padding=2)"), 0);
  EXPECT_EQ(error_of([] { pixel_of("pad(border=mirror)"); }),
            "[pad] expected constant, replicate or reflect for border, got 'mirror'.");
}

TEST(FlowSpec, MixesBatches) {
  const DataPoint point = *flow_from_spec("fake(side=4, classes=3) | batch(8) | mixup(alpha=1, classes=3)").next();
  EXPECT_EQ(point[0].shape(), (Shape{8, 4, 4, 3}));
  EXPECT_EQ(point[1].shape(), (Shape{8, 3}));
}

#ifdef BELFRY_TOOLS_IMAGES
TEST(FlowSpec, WarpsImagesAndChangesColours) {
  EXPECT_EQ(pixel_of("rotate(180)"), 200);
  EXPECT_EQ(pixel_of("rotate(90;90)"), 120);
  EXPECT_EQ(pixel_of("affine(degrees=90)"), 120);
  EXPECT_EQ(pixel_of("affine(scale=1;1, translate_x=0, shear=0)"), 0);
  EXPECT_EQ(pixel_of("flip(1) | color_jitter"), 120) << "of nothing";
  EXPECT_NE(pixel_of("flip(1) | color_jitter(brightness=0.5, seed=3)"), 120);
  EXPECT_EQ(pixel_of("flip(1) | random_gamma(2)"), 56);
  EXPECT_EQ(pixel_of("flip(1) | gaussian_noise(0)"), 120);
  EXPECT_NE(pixel_of("flip(1) | gaussian_noise(0.3;0.4, seed=1)"), 120);
  EXPECT_GT(pixel_of("gaussian_blur(sigma=1, kernel=3)"), 0);
  EXPECT_GE(pixel_of("flip(1) | jpeg_noise(1;2)"), 0);
  EXPECT_EQ(error_of([] { pixel_of("rotate"); }), "[rotate] expected a value for degrees, got none.");
  EXPECT_EQ(error_of([] { pixel_of("rotate(1;2;3)"); }),
            "[rotate] expected a number or a range, low;high, for degrees, got 3 numbers.");
  EXPECT_EQ(error_of([] { pixel_of("color_jitter(hue=red)"); }),
            "[color_jitter] expected a number for hue, got 'red'.");
}
#endif

TEST(FlowSpec, ReadsTheFeaturesOfExamples) {
  const TempDir dir;
  const std::string path = dir / "examples";
  write_tfrecord(from_list({{Array(7), Array(2.5f)}}), path, {.features = {"label", "weight"}});
  const DataPoint point = *flow_from_spec("tfrecord(" + path + ", features=weight;label)").next();
  ASSERT_EQ(point.size(), 2u);
  EXPECT_EQ(point[0].item(), 2.5);
  EXPECT_EQ(point[1].item(), 7);
  EXPECT_EQ((*flow_from_spec("tfrecord(" + path + ")").next())[0].dtype(), u8);
}

TEST(FlowSpec, KnowsTheLibrarysNames) {
  const TempDir dir;
  write_npz(dir / "points.npz", {{"x", Array::of<float>({3}, {1, 2, 3})}});
  for (const auto& [word, function] : std::vector<std::pair<std::string, std::string>>{
           {"npz(" + (dir / "points.npz") + ")", "from_npz(" + (dir / "points.npz") + ")"},
           {"fake", "fake_data"},
           {"fake | cache", "fake | cache_in_memory"},
           {"fake | flip", "fake | flip_horizontal"},
#ifdef BELFRY_TOOLS_IMAGES
           {"fake | decode", "fake | decode_images"},
#endif
       })
    EXPECT_EQ(flow_from_spec(function).describe(), flow_from_spec(word).describe());
  EXPECT_TRUE(contains(flow_spec_help(), "[cache_in_memory]"));
  // Where the library has no such function, neither have we.
  EXPECT_TRUE(contains(error_of([] { flow_from_spec("from_mnist(x)"); }),
                       "[flow] expected the name of a source, got 'from_mnist'."));
  EXPECT_TRUE(contains(error_of([] { flow_from_spec("fake | from_batch"); }),
                       "[flow] expected the name of a stage, got 'from_batch'."));
}

// Of 10 points of shape [2, 2, 3]: how many come out, and the shape of the first.
struct Result {
  std::string stage;
  std::optional<std::int64_t> points;
  Shape shape;
};

TEST(FlowSpec, KnowsTheStages) {
  const Shape one{2, 2, 3};
  for (const Result& expected : {Result{"shuffle(seed=3)", 10, one},
                                 {"shuffle_local(4, 1)", 10, one},
                                 {"batch(4)", 2, {4, 2, 2, 3}},
                                 {"batch(4, remainder=keep)", 3, {4, 2, 2, 3}},
                                 {"batch_by_shape(5)", std::nullopt, {5, 2, 2, 3}},
                                 {"repeat(3)", 30, one},
                                 {"repeat", std::nullopt, one},
                                 {"repeat_each(2)", 20, one},
                                 {"fixed_size(7)", 7, one},
                                 {"select(1)", 10, {}},
                                 {"select(1, 0)", 10, {}},
                                 {"take(3)", 3, one},
                                 {"skip(3)", 7, one},
                                 {"shard(rank=1, size=4)", 3, one},
                                 {"cache", 10, one},
                                 {"prefetch(2)", 10, one},
                                 {"shuffle | batch(2) | prefetch", 5, {2, 2, 2, 3}}}) {
    Flow flow = flow_from_spec("fake(side=2, size=10) | " + expected.stage);
    EXPECT_EQ(flow.size(), expected.points) << expected.stage;
    EXPECT_EQ((*flow.next())[0].shape(), expected.shape) << expected.stage;
  }
}

// Behind it, in a build without a part, the part is named.
void expect_unknown(const std::string& spec, const std::string& expected) {
  const std::string error = error_of([&] { flow_from_spec(spec); });
  EXPECT_TRUE(error.starts_with(expected)) << error;
#if defined(BELFRY_TOOLS_IMAGES) && defined(BELFRY_TOOLS_LMDB)
  EXPECT_EQ(error, expected);
#else
  EXPECT_TRUE(contains(error, " This build lacks the words of: ")) << error;
#endif
}

TEST(FlowSpec, UnknownNamesGetTheNearestOnes) {
  expect_unknown("fashion_mnst(train)",
                 "[flow] expected the name of a source, got 'fashion_mnst'. Did you mean 'fashion_mnist'? belfry data "
                 "words lists them.");
  expect_unknown("fake | shufle",
                 "[flow] expected the name of a stage, got 'shufle'. Did you mean 'shuffle'? belfry data words lists "
                 "them.");
  expect_unknown("fake | zzzzzzzzzzzz",
                 "[flow] expected the name of a stage, got 'zzzzzzzzzzzz'. belfry data words lists them.");
}

TEST(FlowSpec, ArgumentsThatNobodyAskedForAreErrors) {
  EXPECT_EQ(error_of([] { flow_from_spec("fake(colour=red)"); }), "[fake] expected no further argument, got 'colour'.");
  EXPECT_EQ(error_of([] { flow_from_spec("fake | batch(4, keep, 7)"); }),
            "[batch] expected no further argument, got '7'.");
  EXPECT_EQ(error_of([] { flow_from_spec("fake | batch(4, remainder=half)"); }),
            "[batch] expected drop or keep for remainder, got 'half'.");
  EXPECT_EQ(error_of([] { flow_from_spec("fake | cache(all)"); }), "[cache] expected no further argument, got 'all'.");
  EXPECT_EQ(error_of([] { flow_from_spec("npz"); }), "[npz] expected a value for path, got none.");
  EXPECT_EQ(error_of([] { flow_from_spec("fashion_mnist(train, shuffle=maybe)"); }),
            "[fashion_mnist] expected true or false for shuffle, got 'maybe'.");
}

TEST(FlowSpec, TheHelpNamesEveryWord) {
  const std::string help = flow_spec_help();
  for (const SourceWord& word : source_words()) EXPECT_TRUE(contains(help, "\n  " + word.usage)) << word.names[0];
  for (const StageWord& word : stage_words()) EXPECT_TRUE(contains(help, "\n  " + word.usage)) << word.names[0];
}

}  // namespace
}  // namespace belfry::tools
