// Files that are damaged are errors, and never more than that.
#include <fmt/format.h>

#include <random>

#include "belfry/dataflow/image/codecs/decode.h"
#include "tests/dataflow/image/codecs/image_bytes.h"
#include "tests/dataflow/image/pictures.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

struct File {
  const char* kind;
  std::string bytes;
};

std::vector<File> files_of_every_kind() {
  const Array picture = numbered_picture(19, 27), clear = numbered_picture(19, 27, 4);
  return {{"JPEG", jpeg_bytes(picture)},
          {"JPEG", jpeg_bytes(picture, {.progressive = true})},
          {"JPEG", jpeg_bytes(picture, {.restart_interval = 1})},
          {"JPEG", jpeg_bytes(clear, {.colours = JCS_CMYK, .stored = JCS_CMYK})},
          {"JPEG", with_exif(jpeg_bytes(picture), exif_bytes(6))},
          {"PNG", text_of(encode_png(picture))},
          {"PNG", text_of(encode_png(clear))},
          {"PNG", interlaced_png_bytes(picture)},
          {"WebP", webp_bytes(picture)},
          {"WebP", webp_bytes(clear)},
          {"WebP", webp_bytes(picture, false)},
          {"WebP", webp_bytes(clear, false)}};
}

// The error's text, or "" if the bytes are an image.
std::string error_in(const std::string& bytes, const DecodeOptions& options = {}) {
  try {
    const Array image = decode_image(bytes_array(bytes), options);
    EXPECT_EQ(image.shape().rank(), 3);
    return "";
  } catch (const InternalError& e) {
    ADD_FAILURE() << e.what();
    return e.what();
  } catch (const Error& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("[decode_image] expected ")) << e.what();
    return e.what();
  }
}

TEST(DamagedImage, OneThatIsCutOffAnywhereIsAnError) {
  for (const File& file : files_of_every_kind()) {
    EXPECT_EQ(error_in(file.bytes), "") << file.kind;
    for (std::size_t size = 1; size < file.bytes.size(); ++size) {
      const std::string error = error_in(file.bytes.substr(0, size));
      ASSERT_FALSE(error.empty()) << file.kind << ", " << size << " of " << file.bytes.size();
      if (size >= 12) {
        EXPECT_EQ(error, fmt::format("[decode_image] expected a whole {}, got {} bytes of one that is cut off.",
                                     file.kind, size));
      }
    }
  }
}

// What is cut out of the middle, with an end that says that all is there.
TEST(DamagedImage, OneWhoseDataEndEarlyIsAnErrorOrForAJpegOneInStrictMode) {
  for (const File& file : files_of_every_kind()) {
    const std::string& bytes = file.bytes;
    std::string hollow;
    if (bytes.starts_with("RIFF")) {  // the lengths of the file and of its only chunk say so
      if (bytes.substr(12, 4) == "VP8X") continue;
      const std::size_t size = (bytes.size() - 20) / 2;
      hollow = webp_file_of(webp_chunk_bytes(bytes.substr(12, 4), bytes.substr(20, size)));
    } else {
      hollow = bytes.substr(0, bytes.size() * 2 / 3) + bytes.substr(bytes.size() - (file.kind[0] == 'J' ? 2 : 12));
    }
    const std::string error = error_in(hollow, {.strict = true});
    EXPECT_FALSE(error.empty()) << file.kind;
    if (file.kind[0] != 'J') {
      EXPECT_EQ(error_in(hollow), error);
    }
  }
}

TEST(DamagedImage, BytesThatChangedAreAnErrorOrOtherPixels) {
  std::mt19937 random(1);
  for (const File& file : files_of_every_kind()) {
    int errors = 0, strict_errors = 0;
    for (int i = 0; i < 400; ++i) {
      std::string bytes = file.bytes;
      const int changes = 1 + static_cast<int>(random() % 4);
      for (int c = 0; c < changes; ++c) bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
      const DecodeOptions options{.channels = static_cast<ImageChannels>(random() % 4), .orient = i % 2 == 0};
      const bool failed = !error_in(bytes, options).empty();
      const bool strict_failed =
          !error_in(bytes, {.channels = options.channels, .orient = options.orient, .strict = true}).empty();
      EXPECT_TRUE(strict_failed || !failed) << file.kind << i;
      errors += failed;
      strict_errors += strict_failed;
    }
    // Every part of a PNG has a checksum, and in these no part can be left out. The others have none.
    if (file.kind == std::string("PNG")) {
      EXPECT_EQ(errors, 400);
    }
    if (file.kind == std::string("JPEG")) {
      EXPECT_GT(strict_errors, errors);
    }
  }
}

TEST(DamagedImage, EachDecoderSaysWhatIsWrong) {
  std::string png = text_of(encode_png(numbered_picture(5, 7)));
  png[png.size() - 13] ^= 1;  // the checksum of the pixels
  EXPECT_EQ(error_in(png), fmt::format("[decode_image] expected a PNG without damage, got {} bytes of which libpng "
                                       "says: IDAT: CRC error.",
                                       png.size()));
  std::string jpeg = jpeg_bytes(numbered_picture(5, 7));
  jpeg[jpeg.find("\xFF\xC0") + 4] = 13;  // bits a channel
  EXPECT_EQ(error_in(jpeg), fmt::format("[decode_image] expected a JPEG without damage, got {} bytes of which libjpeg "
                                        "says: Unsupported JPEG data precision 13.",
                                        jpeg.size()));
  std::string webp = webp_bytes(numbered_picture(5, 7));
  webp[20] ^= 1;  // how a picture without loss begins
  EXPECT_EQ(error_in(webp), fmt::format("[decode_image] expected a WebP without damage, got {} bytes of which libwebp "
                                        "says: bitstream error.",
                                        webp.size()));
}

TEST(DamagedImage, StrictMindsTheChecksumsOfAPngsOtherChunks) {
  std::string note = png_chunk("tEXt", std::string("a\0b", 3));
  note.back() ^= 1;
  const std::string file = png_bytes({.width = 1, .height = 1, .chunks = note}, {"\x07"});
  EXPECT_EQ(error_in(file), "");
  EXPECT_EQ(error_in(file, {.strict = true}),
            fmt::format("[decode_image] expected a PNG without damage, got {} bytes of which libpng says: tEXt: CRC "
                        "error.",
                        file.size()));
}

// The size in a JPEG's frame header.
std::string with_size(std::string jpeg, unsigned height, unsigned width) {
  const std::size_t at = jpeg.find("\xFF\xC0") + 5;
  for (const auto& [place, value] :
       {std::pair{at, height >> 8}, {at + 1, height}, {at + 2, width >> 8}, {at + 3, width}})
    jpeg[place] = static_cast<char>(value);
  return jpeg;
}

// Before memory is made for them.
TEST(DamagedImage, PixelsThatAFileOnlyClaimsAreAnError) {
  const std::string jpeg = jpeg_bytes(numbered_picture(5, 7));
  EXPECT_EQ(error_in(with_size(jpeg, 65'000, 65'000)),
            "[decode_image] expected an image of at most 1073741824 pixels, got 65000 x 65000.");
  EXPECT_EQ(
      error_in(with_size(jpeg, 30'000, 20'000)),
      fmt::format("[decode_image] expected a JPEG without damage, got {} bytes that cannot hold the 20000 x 30000 "
                  "pixels they claim.",
                  jpeg.size()));
  const std::string png = png_bytes({.width = 1'000'000, .height = 1'000}, {"\x07"});
  EXPECT_EQ(error_in(png),
            fmt::format("[decode_image] expected a PNG without damage, got {} bytes that cannot hold the "
                        "1000000 x 1000 pixels they claim.",
                        png.size()));
  EXPECT_EQ(error_in(png_bytes({.width = 1'000'000, .height = 1'000'000}, {"\x07"})),
            "[decode_image] expected an image of at most 1073741824 pixels, got 1000000 x 1000000.");
  // What compresses best is read: here a byte holds more than a thousand.
  const std::vector<std::string> empty(1'000, std::string(1'000, '\0'));
  EXPECT_EQ(error_in(png_bytes({.width = 8'000, .height = 1'000, .bits = 1}, empty)), "");
}

TEST(DamagedImage, AJpegOfThousandsOfScansIsRefused) {
  const std::string jpeg = jpeg_bytes(numbered_picture(5, 7), {.progressive = true});
  const std::size_t last = jpeg.rfind("\xFF\xDA");
  std::string scans;
  for (int i = 0; i < 600; ++i) scans += jpeg.substr(last, jpeg.size() - 2 - last);
  const std::string file = jpeg.substr(0, last) + scans + jpeg.substr(jpeg.size() - 2);
  EXPECT_EQ(error_in(file), fmt::format("[decode_image] expected a JPEG without damage, got {} bytes of which libjpeg "
                                        "says: Too many scans.",
                                        file.size()));
}

}  // namespace
}  // namespace belfry
