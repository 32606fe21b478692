// What is read of the three formats: kinds of pixels, transparency, EXIF.
#include <functional>

#include "belfry/dataflow/image/codecs/decode.h"
#include "belfry/dataflow/image/codecs/internal/exif.h"
#include "tests/dataflow/image/codecs/image_bytes.h"
#include "tests/dataflow/image/pictures.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

Array decoded(const std::string& bytes, ImageChannels channels = ImageChannels::rgb) {
  return decode_image(bytes_array(bytes), {.channels = channels});
}

Array bytes_image(const Shape& shape, const std::vector<std::uint8_t>& values) {
  return Array::of<std::uint8_t>(shape, values);
}

TEST(JpegFormat, InksBecomeColours) {
  // Inverted: 255 is no ink. All ink but black's is left out of the first half, and some red is left in the other.
  Array inks(u8, {16, 16, 4});
  for (int i = 0; i < 16 * 16; ++i) {
    const std::vector<std::uint8_t> pixel =
        i < 128 ? std::vector<std::uint8_t>{255, 255, 255, 100} : std::vector<std::uint8_t>{200, 50, 50, 255};
    for (std::size_t c = 0; c < 4; ++c) inks.values<std::uint8_t>()[static_cast<std::size_t>(i) * 4 + c] = pixel[c];
  }
  for (const J_COLOR_SPACE stored : {JCS_CMYK, JCS_YCCK}) {
    const std::string file = jpeg_bytes(inks, {.colours = JCS_CMYK, .stored = stored});
    for (const ImageChannels channels : {ImageChannels::rgb, ImageChannels::unchanged}) {
      const Array picture = decoded(file, channels);
      EXPECT_EQ(picture.shape(), (Shape{16, 16, 3}));
      EXPECT_NEAR(pixel(picture, 0, 0, 1), 100, 4);
      EXPECT_NEAR(pixel(picture, 15, 15, 0), 200, 4);
      EXPECT_NEAR(pixel(picture, 15, 15, 2), 50, 4);
    }
    EXPECT_NEAR(pixel(decoded(file, ImageChannels::bgr), 15, 15, 2), 200, 4);
    const Array grey = decoded(file, ImageChannels::grey);
    EXPECT_EQ(grey.shape(), (Shape{16, 16, 1}));
    EXPECT_NEAR(pixel(grey, 15, 15), 0.299 * 200 + 0.701 * 50, 4);
  }
}

TEST(JpegFormat, GreyAndColoursAreWhatWasAskedFor) {
  const Array red = solid_picture(16, 16, {220, 30, 60});
  for (const J_COLOR_SPACE stored : {JCS_YCbCr, JCS_RGB}) {
    const std::string file = jpeg_bytes(red, {.stored = stored});
    EXPECT_LE(distance(decoded(file), red), 3);
    EXPECT_LE(distance(decoded(file, ImageChannels::bgr), solid_picture(16, 16, {60, 30, 220})), 3);
    EXPECT_LE(distance(decoded(file, ImageChannels::grey), solid_picture(16, 16, {90})), 3);
  }
  const Array grey = solid_picture(16, 16, {77});
  const std::string file = jpeg_bytes(grey, {.colours = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE});
  EXPECT_TRUE(equal(decoded(file, ImageChannels::unchanged), grey));
  EXPECT_TRUE(equal(decoded(file), solid_picture(16, 16, {77, 77, 77})));
}

TEST(PngFormat, FewBitsBecomeEight) {
  EXPECT_TRUE(equal(decoded(png_bytes({.width = 4, .height = 1, .bits = 1}, {"\xA0"}), ImageChannels::unchanged),
                    bytes_image({1, 4, 1}, {255, 0, 255, 0})));
  EXPECT_TRUE(equal(decoded(png_bytes({.width = 4, .height = 1, .bits = 2}, {"\x1B"}), ImageChannels::grey),
                    bytes_image({1, 4, 1}, {0, 85, 170, 255})));
  EXPECT_TRUE(equal(decoded(png_bytes({.width = 2, .height = 1, .bits = 4}, {"\x1F"})),
                    bytes_image({1, 2, 3}, {17, 17, 17, 255, 255, 255})));
}

TEST(PngFormat, PalettesBecomeColoursAndAreTransparentWhereTheySay) {
  const std::string palette = png_chunk("PLTE", std::string("\x0A\x14\x1E\xFA\xF0\xE6", 6));
  PngKind kind{.width = 2, .height = 1, .bits = 1, .colours = PNG_COLOR_TYPE_PALETTE, .chunks = palette};
  EXPECT_TRUE(equal(decoded(png_bytes(kind, {"\x40"}), ImageChannels::unchanged),
                    bytes_image({1, 2, 3}, {10, 20, 30, 250, 240, 230})));
  EXPECT_TRUE(equal(decoded(png_bytes(kind, {"\x40"}), ImageChannels::bgr),
                    bytes_image({1, 2, 3}, {30, 20, 10, 230, 240, 250})));
  kind.chunks += png_chunk("tRNS", "\x64");
  EXPECT_TRUE(equal(decoded(png_bytes(kind, {"\x40"}), ImageChannels::unchanged),
                    bytes_image({1, 2, 4}, {10, 20, 30, 100, 250, 240, 230, 255})));
  EXPECT_TRUE(equal(decoded(png_bytes(kind, {"\x40"})), bytes_image({1, 2, 3}, {10, 20, 30, 250, 240, 230})));
}

TEST(PngFormat, TransparencyOfGreysAndOfOneColour) {
  const PngKind grey{.width = 2, .height = 1, .colours = PNG_COLOR_TYPE_GRAY_ALPHA};
  const std::string file = png_bytes(grey, {"\x05\x80\x09\xFF"});
  EXPECT_TRUE(equal(decoded(file, ImageChannels::unchanged), bytes_image({1, 2, 4}, {5, 5, 5, 128, 9, 9, 9, 255})));
  EXPECT_TRUE(equal(decoded(file, ImageChannels::grey), bytes_image({1, 2, 1}, {5, 9})));
  const PngKind colours{.width = 2,
                        .height = 1,
                        .colours = PNG_COLOR_TYPE_RGB,
                        .chunks = png_chunk("tRNS", std::string("\0\x01\0\x02\0\x03", 6))};
  EXPECT_TRUE(equal(decoded(png_bytes(colours, {"\x01\x02\x03\x04\x05\x06"}), ImageChannels::unchanged),
                    bytes_image({1, 2, 4}, {1, 2, 3, 0, 4, 5, 6, 255})));
  EXPECT_TRUE(
      equal(decoded(png_bytes(colours, {"\x01\x02\x03\x04\x05\x06"})), bytes_image({1, 2, 3}, {1, 2, 3, 4, 5, 6})));
}

TEST(PngFormat, InterlacedRowsAreInOrder) {
  for (const auto& [height, width] : {std::pair{1, 1}, {3, 5}, {37, 53}}) {
    const Array picture = numbered_picture(height, width);
    EXPECT_TRUE(equal(decoded(interlaced_png_bytes(picture)), picture)) << height;
  }
}

TEST(PngFormat, SixteenBitsOfColoursAndTransparencyBecomeEight) {
  const PngKind kind{.width = 1, .height = 1, .bits = 16, .colours = PNG_COLOR_TYPE_RGB_ALPHA};
  EXPECT_TRUE(
      equal(decoded(png_bytes(kind, {"\x10\xFF\x20\xFF\x30\xFF\x40\xFF"})), bytes_image({1, 1, 3}, {16, 32, 48})));
}

TEST(WebpFormat, ComesBackExactlyWhereItIsLossless) {
  const Array picture = numbered_picture(13, 17), clear = numbered_picture(13, 17, 4);
  EXPECT_TRUE(equal(decoded(webp_bytes(picture)), picture));
  EXPECT_TRUE(equal(decoded(webp_bytes(picture), ImageChannels::unchanged), picture));
  EXPECT_TRUE(
      equal(decoded(webp_bytes(solid_picture(3, 4, {1, 2, 3})), ImageChannels::bgr), solid_picture(3, 4, {3, 2, 1})));
  EXPECT_LE(distance(decoded(webp_bytes(smooth_picture(64, 64), false)), smooth_picture(64, 64)), 20);
  const Array unchanged = decoded(webp_bytes(solid_picture(3, 4, {9, 8, 7, 100})), ImageChannels::unchanged);
  EXPECT_TRUE(equal(unchanged, solid_picture(3, 4, {9, 8, 7, 100})));
  EXPECT_TRUE(equal(decoded(webp_bytes(solid_picture(3, 4, {9, 8, 7, 100}))), solid_picture(3, 4, {9, 8, 7})));
  EXPECT_TRUE(
      equal(decoded(webp_bytes(solid_picture(3, 4, {250, 20, 10})), ImageChannels::grey), solid_picture(3, 4, {88})));
}

TEST(WebpFormat, AnAnimationIsRefused) {
  EXPECT_EQ(error_of([] { decoded(webp_file_of(webp_header_chunk(0x02, 4, 3))); }),
            "[decode_image] expected a picture, got a WebP of several, an animation. Save one of them.");
}

// For each orientation where the pixel (y, x) of the upright picture is stored, of one of 3 x 5.
std::pair<int, int> stored_place(int orientation, int y, int x) {
  constexpr int bottom = 2, right = 4;
  switch (orientation) {
    case 2: return {y, right - x};
    case 3: return {bottom - y, right - x};
    case 4: return {bottom - y, x};
    case 5: return {x, y};
    case 6: return {bottom - x, y};
    case 7: return {bottom - x, right - y};
    case 8: return {x, right - y};
    default: return {y, x};
  }
}

void expect_turned(const std::function<std::string(int)>& file, const std::string& what) {
  for (const ImageChannels channels : {ImageChannels::rgb, ImageChannels::grey}) {
    const Array stored = decode_image(bytes_array(file(1)), {.channels = channels});
    for (int orientation = 0; orientation <= 9; ++orientation) {
      const Array bytes = bytes_array(file(orientation)), upright = decode_image(bytes, {.channels = channels});
      const bool swapped = orientation >= 5 && orientation <= 8;
      ASSERT_EQ(upright.shape()[0], swapped ? 5 : 3) << what << orientation;
      for (int y = 0; y < upright.shape()[0]; ++y)
        for (int x = 0; x < upright.shape()[1]; ++x) {
          const auto [from_y, from_x] = stored_place(orientation, y, x);
          for (std::int64_t c = 0; c < stored.shape()[2]; ++c)
            ASSERT_EQ(pixel(upright, y, x, c), pixel(stored, from_y, from_x, c)) << what << orientation;
        }
      EXPECT_TRUE(equal(decode_image(bytes, {.channels = channels, .orient = false}), stored)) << what << orientation;
    }
  }
}

TEST(Exif, TurnsEveryFormatFromEveryOrientation) {
  const Array picture = numbered_picture(3, 5);
  const std::string jpeg = jpeg_bytes(picture), webp = webp_bytes(picture);
  std::vector<std::string> rows;
  for (std::size_t y = 0; y < 3; ++y) rows.push_back(text_of(picture).substr(15 * y, 15));
  for (const bool big : {true, false}) {
    expect_turned([&](int orientation) { return with_exif(jpeg, exif_bytes(orientation, big)); }, "JPEG ");
    expect_turned(
        [&](int orientation) {
          return png_bytes({.width = 5,
                            .height = 3,
                            .colours = PNG_COLOR_TYPE_RGB,
                            .chunks = png_chunk("eXIf", exif_bytes(orientation, big))},
                           rows);
        },
        "PNG ");
    expect_turned(
        [&](int orientation) {
          return webp_file_of(webp_header_chunk(0x08, 5, 3) + webp.substr(12) +
                              webp_chunk_bytes("EXIF", exif_bytes(orientation, big)));
        },
        "WebP ");
  }
}

TEST(Exif, ALargePictureIsTurnedWhole) {
  const Array picture = smooth_picture(70, 130);
  const std::string jpeg = jpeg_bytes(picture);
  const Array stored = decoded(jpeg), upright = decoded(with_exif(jpeg, exif_bytes(8)));
  ASSERT_EQ(upright.shape(), (Shape{130, 70, 3}));
  for (int y = 0; y < 130; ++y)
    for (int x = 0; x < 70; ++x)
      for (int c = 0; c < 3; ++c) ASSERT_EQ(pixel(upright, y, x, c), pixel(stored, x, 129 - y, c));
}

TEST(Exif, WhatCannotBeReadTurnsNothing) {
  const auto orientation = [](const std::string& exif) { return exif_orientation(std::as_bytes(std::span(exif))); };
  EXPECT_EQ(orientation(exif_bytes(6)), 6);
  EXPECT_EQ(orientation(std::string("Exif\0\0", 6) + exif_bytes(3, false)), 3);
  for (const bool big : {true, false}) {
    const std::string whole = exif_bytes(6, big);
    for (std::size_t size = 0; size < 20; ++size) EXPECT_EQ(orientation(whole.substr(0, size)), 1) << size;
  }
  EXPECT_EQ(orientation("XX" + exif_bytes(6).substr(2)), 1);
  std::string far = exif_bytes(6);
  far[4] = '\x7F';  // where its directory is said to be
  EXPECT_EQ(orientation(far), 1);
  std::string text = exif_bytes(6);
  text[13] = '\x02';  // a text instead of a number
  EXPECT_EQ(orientation(text), 1);
  // XMP is in the same kind of segment.
  const std::string jpeg = jpeg_bytes(numbered_picture(3, 5));
  const std::string both = with_segment(with_exif(jpeg, exif_bytes(6)), '\xE1', "http://ns.adobe.com/xap/1.0/");
  EXPECT_EQ(decoded(both).shape(), (Shape{5, 3, 3}));
}

}  // namespace
}  // namespace belfry
