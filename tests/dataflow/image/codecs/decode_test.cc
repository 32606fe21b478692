#include "belfry/dataflow/image/codecs/decode.h"

#include <fmt/format.h>

#include "belfry/base/log.h"
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

Array first_half(const Array& bytes) { return bytes_array(text_of(bytes).substr(0, bytes.bytes() / 2)); }

Array with_orientation(const Array& jpeg, int orientation) {
  return bytes_array(with_exif(text_of(jpeg), exif_bytes(orientation)));
}

// The JPEG as cameras write it, with a small one in its EXIF header.
Array with_thumbnail(const Array& jpeg, const Array& thumbnail) {
  return bytes_array(with_exif(text_of(jpeg), std::string("MM\0*\0\0\0\x08\0\0\0\0\0\0", 14) + text_of(thumbnail)));
}

// A PNG of one grey pixel, of 16 bits.
Array deep_png(unsigned value) {
  return bytes_array(png_bytes({.width = 1, .height = 1, .bits = 16},
                               {std::string{static_cast<char>(value >> 8), static_cast<char>(value)}}));
}

TEST(DecodeImage, APngComesBackExactly) {
  for (const int channels : {1, 3, 4}) {
    for (const auto& [height, width] : {std::pair{1, 1}, {5, 7}, {300, 200}}) {
      const Array picture = numbered_picture(height, width, channels);
      EXPECT_TRUE(equal(decode_image(encode_png(picture), {.channels = ImageChannels::unchanged}), picture))
          << channels;
    }
  }
  EXPECT_TRUE(equal(decode_image(encode_png(smooth_picture(90, 70))), smooth_picture(90, 70)));
  const Array picture = numbered_picture(5, 7), before = picture.clone();
  EXPECT_TRUE(equal(decode_image(encode_png(picture)), picture));
  EXPECT_TRUE(equal(picture, before));
}

TEST(DecodeImage, AJpegComesBackNearly) {
  const Array picture = smooth_picture(32, 48);
  const Array file = encode_jpeg(picture);
  EXPECT_LE(distance(decode_image(file), picture), 12);
  EXPECT_LT(encode_jpeg(picture, 20).bytes(), file.bytes());
  const auto span = std::span(static_cast<const std::byte*>(file.raw()), file.bytes());
  EXPECT_TRUE(equal(decode_image(span), decode_image(file)));
}

TEST(DecodeImage, ChannelsAreWhatWasAskedFor) {
  const Array red = encode_png(solid_picture(2, 2, {250, 20, 10}));
  EXPECT_EQ(to_string(decode_image(red)), to_string(solid_picture(2, 2, {250, 20, 10})));
  EXPECT_EQ(to_string(decode_image(red, {.channels = ImageChannels::bgr})),
            to_string(solid_picture(2, 2, {10, 20, 250})));
  const Array grey = decode_image(red, {.channels = ImageChannels::grey});
  EXPECT_EQ(grey.shape(), (Shape{2, 2, 1}));
  EXPECT_NEAR(grey.item(), 0.299 * 250 + 0.587 * 20 + 0.114 * 10, 1);
  // Transparency is dropped, grey becomes colour.
  const Array clear = encode_png(solid_picture(2, 2, {1, 2, 3, 128}));
  EXPECT_TRUE(equal(decode_image(clear), solid_picture(2, 2, {1, 2, 3})));
  EXPECT_TRUE(equal(decode_image(encode_png(solid_picture(2, 2, {9}))), solid_picture(2, 2, {9, 9, 9})));
}

TEST(DecodeImage, EveryPixelHasItsColoursInOrderWhateverTheirNumber) {
  for (int width = 1; width <= 40; ++width) {
    const Array picture = numbered_picture(1, width);
    EXPECT_TRUE(equal(decode_image(encode_png(picture)), picture)) << width;
  }
}

TEST(DecodeImage, TurnsPhotosUprightUnlessAskedNotTo) {
  const Array picture = smooth_picture(16, 32), jpeg = encode_jpeg(picture);
  const Array turned = with_orientation(jpeg, 6);  // to be turned by 90 degrees clockwise
  const Array upright = decode_image(turned);
  EXPECT_EQ(upright.shape(), (Shape{32, 16, 3}));
  const Array stored = decode_image(jpeg);
  for (int y = 0; y < 32; ++y)
    for (int x = 0; x < 16; ++x) ASSERT_EQ(pixel(upright, y, x), pixel(stored, 15 - x, y));
  EXPECT_TRUE(equal(decode_image(turned, {.orient = false}), stored));
  EXPECT_TRUE(equal(decode_image(turned, {.channels = ImageChannels::unchanged}), stored));
  EXPECT_EQ(decode_image(turned, {.channels = ImageChannels::grey}).shape(), (Shape{32, 16, 1}));
  EXPECT_EQ(decode_image(turned, {.channels = ImageChannels::grey, .orient = false}).shape(), (Shape{16, 32, 1}));
}

TEST(DecodeImage, SixteenBitsBecomeEightUnlessUnchangedIsAskedFor) {
  const Array deep = deep_png(0x8012);
  EXPECT_TRUE(equal(decode_image(deep, {.channels = ImageChannels::grey}), solid_picture(1, 1, {0x80})));
  EXPECT_EQ(
      error_of([&] { decode_image(deep, {.channels = ImageChannels::unchanged}); }),
      "[decode_image] expected 8 bits a channel, got an image of more. Decode it with ImageChannels::rgb or grey, "
      "which makes them 8.");
}

TEST(DecodeImage, WhatIsNoImageIsAnError) {
  EXPECT_EQ(error_of([] { decode_image(bytes_array("no image")); }),
            "[decode_image] expected a JPEG, PNG or WebP, got 8 bytes that are none of these.");
  EXPECT_EQ(error_of([] { decode_image(bytes_array("")); }),
            "[decode_image] expected the bytes of an image, got none.");
  EXPECT_EQ(error_of([] { decode_image(Array(1.f)); }),
            "[decode_image] expected the bytes of an image file, u8 [n], got f32 [].");
  const Array jpeg = encode_jpeg(smooth_picture(64, 64)), half = first_half(jpeg);
  EXPECT_EQ(error_of([&] { decode_image(half); }),
            fmt::format("[decode_image] expected a whole JPEG, got {} bytes of one that is cut off.", half.bytes()));
  const std::string png = text_of(encode_png(numbered_picture(64, 64)));
  for (const std::size_t length : {std::size_t{8}, std::size_t{12}, std::size_t{40}, png.size() / 2, png.size() - 5})
    EXPECT_EQ(error_of([&] { decode_image(bytes_array(png.substr(0, length))); }),
              fmt::format("[decode_image] expected a whole PNG, got {} bytes of one that is cut off.", length));
  EXPECT_TRUE(equal(decode_image(bytes_array(png + "and more")), numbered_picture(64, 64)));
  const Array with_garbage = bytes_array(text_of(jpeg) + std::string(100, 'x'));
  EXPECT_TRUE(equal(decode_image(with_garbage), decode_image(jpeg)));
}

TEST(DecodeImage, AJpegThatIsCutOffIsRefusedThoughItsThumbnailIsWhole) {
  const Array jpeg = encode_jpeg(numbered_picture(64, 64));
  const Array photo = with_thumbnail(jpeg, encode_jpeg(smooth_picture(16, 16)));
  const std::string file = text_of(photo);
  const std::size_t picture = file.size() - jpeg.bytes();  // where the thumbnail ends
  EXPECT_TRUE(equal(decode_image(photo), decode_image(jpeg)));
  for (const std::size_t length : {std::size_t{3}, std::size_t{5}, picture / 2, picture + 4, picture + 200,
                                   file.size() / 2, file.size() - 200, file.size() - 2, file.size() - 1})
    EXPECT_EQ(error_of([&] { decode_image(bytes_array(file.substr(0, length))); }),
              fmt::format("[decode_image] expected a whole JPEG, got {} bytes of one that is cut off.", length));
  EXPECT_TRUE(equal(decode_image(bytes_array(file + "and more\xFF")), decode_image(jpeg)));
  EXPECT_TRUE(equal(decode_image(bytes_array(file + file.substr(0, 300))), decode_image(jpeg)));  // a second picture
}

TEST(DecodeImage, JpegsOfSeveralScansAndWithRestartsAreRead) {
  const Array picture = smooth_picture(64, 64);
  for (const JpegKind& kind : {JpegKind{.progressive = true}, JpegKind{.restart_interval = 1}})
    EXPECT_LE(distance(decode_image(bytes_array(jpeg_bytes(picture, kind))), picture), 12);
}

TEST(DecodeImage, FormatsThatAreNotReadAreNamed) {
  const auto error = [](const std::string& bytes) { return error_of([&] { decode_image(bytes_array(bytes)); }); };
  const std::string expected = "[decode_image] expected a JPEG, PNG or WebP, got 16 bytes that begin as a ",
                    remedy = " does. Convert it to one of these.";
  const std::string rest(16, '\1');
  const auto begun = [&](const std::string& with) { return with + rest.substr(with.size()); };
  EXPECT_EQ(error(begun("BM")), expected + "BMP" + remedy);
  EXPECT_EQ(error(begun("GIF89a")), expected + "GIF" + remedy);
  EXPECT_EQ(error(begun(std::string("II*\0", 4))), expected + "TIFF" + remedy);
  EXPECT_EQ(error(begun(std::string("MM\0*", 4))), expected + "TIFF" + remedy);
  EXPECT_EQ(error(begun(std::string("\0\0\0\x18"
                                    "ftypavif",
                                    12))),
            expected + "HEIC or an AVIF" + remedy);
  EXPECT_EQ(error(begun("RIFF")), "[decode_image] expected a JPEG, PNG or WebP, got 16 bytes that are none of these.");
}

TEST(EncodeImage, FloatsAreCutToWhiteAndBlack) {
  const Array picture = Array::of<float>({1, 2, 3}, {-1, 0, 0.2f, 0.5f, 1, 7});
  const Array back = decode_image(encode_png(picture));
  EXPECT_TRUE(equal(back, Array::of<std::uint8_t>({1, 2, 3}, {0, 0, 51, 128, 255, 255})));
}

TEST(EncodeImage, WrongPicturesAreErrors) {
  EXPECT_EQ(error_of([] { encode_jpeg(Array(f32, {2, 2})); }),
            "[encode_jpeg] expected an image, u8 or f32 [height, width, 1 to 4 channels], got f32 [2, 2].");
  EXPECT_EQ(error_of([] { write_image("a.png", Array(i32, {2, 2, 1})); }),
            "[write_image] expected an image, u8 or f32 [height, width, 1, 3 or 4 channels], got i32 [2, 2, 1].");
  EXPECT_EQ(error_of([] { encode_jpeg(numbered_picture(2, 2, 4)); }),
            "[encode_jpeg] expected 1 or 3 channels for a JPEG, got 4. Transparency needs a PNG.");
  EXPECT_EQ(error_of([] { encode_jpeg(numbered_picture(2, 2), 0); }),
            "[encode_jpeg] expected a quality from 1 to 100, got 0.");
  EXPECT_EQ(error_of([] { encode_jpeg(numbered_picture(1, 65501, 1)); }),
            "[encode_jpeg] expected sides of at most 65500 pixels for a JPEG, got 65501 x 1. Write a PNG.");
}

TEST(ImageFile, IsReadAsItWasWritten) {
  const TempDir dir;
  const Array picture = numbered_picture(6, 4);
  write_image(dir / "a.PNG", picture);
  EXPECT_TRUE(equal(read_image(dir / "a.PNG"), picture));
  write_image(dir / "b.jpg", smooth_picture(16, 16));
  EXPECT_LE(distance(read_image(dir / "b.jpg"), smooth_picture(16, 16)), 12);
  EXPECT_EQ(dir.names().size(), 2u);  // no temporary is left
}

TEST(ImageFile, ErrorsNameTheFile) {
  const TempDir dir;
  put_bytes(dir / "bad.png", "nothing");
  EXPECT_EQ(file_error_of([&] { read_image(dir / "bad.png"); }),
            "[read_image] expected a JPEG, PNG or WebP, got 7 bytes that are none of these. It is '" +
                (dir / "bad.png") + "'.");
  EXPECT_TRUE(contains(file_error_of([&] { read_image(dir / "absent.png"); }), dir / "absent.png"));
  EXPECT_EQ(error_of([&] { write_image("a.gif", numbered_picture(2, 2)); }),
            "[write_image] expected a name that ends in .jpg, .jpeg or .png, got 'a.gif'.");
}

// Points {file, number}; every third file is damaged.
Flow files(int count, bool damaged) {
  std::vector<DataPoint> points;
  for (int i = 0; i < count; ++i) {
    const Array picture = solid_picture(3, 3, {static_cast<std::uint8_t>(i)});
    points.push_back({damaged && i % 3 == 1 ? first_half(encode_jpeg(picture)) : encode_png(picture), Array(i)});
  }
  return from_list(points);
}

TEST(DecodeImage, StrictFindsDamageInsideAJpeg) {
  const Array whole = encode_jpeg(numbered_picture(64, 64));
  std::string bytes = text_of(whole);
  bytes.erase(bytes.size() / 2, 40);
  const Array damaged = bytes_array(bytes);
  const std::string error = error_of([&] { decode_image(damaged, {.strict = true}); });
  EXPECT_TRUE(
      contains(error, fmt::format("[decode_image] expected a JPEG without damage, got {} bytes of which libjpeg "
                                  "says: Corrupt JPEG data",
                                  bytes.size())))
      << error;
  EXPECT_EQ(decode_image(damaged).shape(), (Shape{64, 64, 3}));  // as other pixels
  EXPECT_TRUE(equal(decode_image(whole, {.strict = true}), decode_image(whole)));
  EXPECT_TRUE(equal(decode_image(encode_png(numbered_picture(5, 7)), {.strict = true}), numbered_picture(5, 7)));
  const std::string text = text_of(whole);
  EXPECT_TRUE(contains(
      error_of([&] { decode_image(bytes_array(text.substr(0, 2) + text.substr(text.size() - 2)), {.strict = true}); }),
      "libjpeg says: "));
  Flow flow = from_list({{damaged}, {whole}}) | decode_images({.strict = true});
  EXPECT_TRUE(contains(error_of([&] { flow.next(); }), "expected a JPEG without damage"));
  const LogRedirect quiet([](LogLevel, std::string_view) {}, LogLevel::warning);
  Flow skipping = from_list({{damaged}, {whole}}) | decode_images({.strict = true, .on_error = OnBadImage::skip});
  EXPECT_TRUE(equal((*skipping.next())[0], decode_image(whole)));
  EXPECT_FALSE(skipping.next());
}

TEST(DecodeImages, DecodesTheComponentOnAnyNumberOfThreads) {
  for (const int threads : {0, 1, 3}) {
    Flow flow = files(20, false) | decode_images({.channels = ImageChannels::grey, .threads = threads});
    EXPECT_EQ(flow.size(), 20);
    for (int i = 0; i < 20; ++i) {
      const DataPoint point = *flow.next();
      EXPECT_TRUE(equal(point[0], solid_picture(3, 3, {static_cast<std::uint8_t>(i)})));
      EXPECT_EQ(point[1].item(), i);
    }
    EXPECT_FALSE(flow.next());
  }
}

TEST(DecodeImages, ADamagedImageIsAnErrorThatNamesThePoint) {
  Flow flow = files(5, true) | decode_images();
  flow.next();
  EXPECT_TRUE(contains(error_of([&] { flow.next(); }),
                       "[decode_images] the function of 'list | decode_images' failed at point 1 of epoch 0: "
                       "[decode_images] expected a whole JPEG, got "));
}

TEST(DecodeImages, DamagedImagesAreSkippedCountedAndMentionedTwice) {
  std::vector<std::string> warnings;
  const LogRedirect redirect([&](LogLevel, std::string_view text) { warnings.emplace_back(text); }, LogLevel::warning);
  const SkippedImages skipped;
  Flow flow = files(10, true) | decode_images({.on_error = OnBadImage::skip, .skipped = skipped, .threads = 2});
  EXPECT_FALSE(flow.size());
  std::vector<int> numbers;
  while (const std::optional<DataPoint> point = flow.next()) numbers.push_back(static_cast<int>((*point)[1].item()));
  EXPECT_EQ(numbers, (std::vector<int>{0, 2, 3, 5, 6, 8, 9}));
  EXPECT_EQ(skipped.count(), 3);
  EXPECT_TRUE(skipped.files().empty());  // they come from nowhere
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_TRUE(contains(warnings[0], "an image is skipped, and so will be others like it: [decode_images] expected a "));
  EXPECT_EQ(warnings[1], "[decode_images] 3 image(s) of '" + flow.describe() + "' were skipped in epoch 0");
  EXPECT_FALSE(flow.next());  // the end is the end: nothing is said again
  EXPECT_EQ(warnings.size(), 2u);
}

TEST(DecodeImages, AWrongComponentIsAnErrorAlsoWhereImagesAreSkipped) {
  Flow flow = numbered(3) | decode_images({.on_error = OnBadImage::skip});
  EXPECT_TRUE(contains(error_of([&] { flow.next(); }), "expected the bytes of an image file, u8 [n], got i32 []."));
  Flow decoded = from_list({{smooth_picture(8, 8)}}) | decode_images({.on_error = OnBadImage::skip});
  EXPECT_TRUE(contains(error_of([&] { decoded.next(); }), "u8 [n], got u8 [8, 8, 3]. It is decoded already"));
  Flow missing = numbered(3) | decode_images({.component = 2, .on_error = OnBadImage::skip});
  EXPECT_TRUE(contains(error_of([&] { missing.next(); }),
                       "[decode_images] expected a point with a component 2, got one of 2 component(s)."));
}

TEST(DecodeImages, SavedPositionsContinueExactly) {
  const LogRedirect silence([](LogLevel, std::string_view) {});
  for (const int threads : {0, 2}) {
    expect_exact_restore([&] { return files(7, false) | shuffle(3) | decode_images({.threads = threads}); });
    expect_exact_restore([&] {
      return files(7, true) | shuffle(3) | decode_images({.on_error = OnBadImage::skip, .threads = threads});
    });
  }
}

}  // namespace
}  // namespace belfry
