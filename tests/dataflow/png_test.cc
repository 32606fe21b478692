#include "belfry/dataflow/png.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <limits>

#include "belfry/base/file.h"
#include "belfry/base/random.h"
#include "tests/dataflow/image/pictures.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::file_error_of;
using testing_support::TempDir;

std::size_t number_at(std::string_view bytes, std::size_t at) {
  std::size_t number = 0;
  for (std::size_t i = at; i < at + 4; ++i) number = number << 8 | static_cast<unsigned char>(bytes.at(i));
  return number;
}

struct Png {
  std::string header, data;
  int data_chunks = 0;
};

// The chunks of a file; fails unless they are whole and in order.
Png chunks_of(std::string_view file) {
  Png png;
  EXPECT_EQ(file.substr(0, 8), "\x89PNG\r\n\x1a\n");
  std::string types;
  for (std::size_t at = 8; at < file.size();) {
    const std::size_t size = number_at(file, at);
    const std::string_view body = file.substr(at + 4, size + 4), type = body.substr(0, 4), data = body.substr(4);
    EXPECT_EQ(number_at(file, at + 8 + size),
              crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())));
    if (type == "IHDR") png.header = data;
    if (type == "IDAT") {
      png.data += data;
      ++png.data_chunks;
    }
    if (types.empty() || type != "IDAT" || !types.ends_with("IDAT")) types += type;
    at += size + 12;
  }
  EXPECT_EQ(types, "IHDRIDATIEND");
  return png;
}

// The specification's words, for one byte: from those at its left (a), above (b) and above at the left (c).
int undo(int filter, int a, int b, int c) {
  const int p = a + b - c, pa = std::abs(p - a), pb = std::abs(p - b), pc = std::abs(p - c);
  switch (filter) {
    case 0: return 0;
    case 1: return a;
    case 2: return b;
    case 3: return (a + b) / 2;
    case 4: return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
    default: ADD_FAILURE() << "filter " << filter; return 0;
  }
}

// A reader of our own: the picture must not depend on what OpenCV forgives. `filters`, if asked for: one for each row.
Array read_png(const Array& file, std::vector<int>* filters = nullptr) {
  const Png png = chunks_of({static_cast<const char*>(file.raw()), file.bytes()});
  const std::size_t width = number_at(png.header, 0), height = number_at(png.header, 4);
  EXPECT_EQ(png.header.size(), 13u);
  EXPECT_EQ(png.header[8], 8);
  EXPECT_EQ(png.header.substr(10), std::string(3, '\0'));
  const std::size_t channels = png.header[9] == 0 ? 1 : png.header[9] == 2 ? 3 : png.header[9] == 6 ? 4 : 0;
  const std::size_t row = width * channels;
  std::string rows(height * (row + 1), '\0');
  uLongf size = rows.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(rows.data()), &size, reinterpret_cast<const Bytef*>(png.data.data()),
                       png.data.size()),
            Z_OK);
  EXPECT_EQ(size, rows.size());
  Array out(u8, {static_cast<std::int64_t>(height), static_cast<std::int64_t>(width), static_cast<int>(channels)});
  const auto pixels = out.values<std::uint8_t>();
  for (std::size_t y = 0; y < height; ++y) {
    const int filter = rows[y * (row + 1)];
    if (filters != nullptr) filters->push_back(filter);
    for (std::size_t x = 0; x < row; ++x) {
      const int a = x < channels ? 0 : pixels[y * row + x - channels], b = y == 0 ? 0 : pixels[(y - 1) * row + x];
      const int c = x < channels || y == 0 ? 0 : pixels[(y - 1) * row + x - channels];
      pixels[y * row + x] = static_cast<std::uint8_t>(rows[y * (row + 1) + 1 + x] + undo(filter, a, b, c));
    }
  }
  return out;
}

Array noise(int height, int width, int channels) {
  RandomStream random(3);
  Array out(u8, {height, width, channels});
  for (std::uint8_t& value : out.values<std::uint8_t>()) value = static_cast<std::uint8_t>(random.below(256));
  return out;
}

TEST(EncodePng, EveryPictureComesBackExactly) {
  for (const int channels : {1, 3, 4})
    for (const auto& [height, width] : {std::pair{1, 1}, {1, 9}, {9, 1}, {5, 7}, {64, 33}}) {
      const Array numbered = numbered_picture(height, width, channels), before = numbered.clone();
      EXPECT_TRUE(equal(read_png(encode_png(numbered)), numbered)) << height << " " << width << " " << channels;
      EXPECT_TRUE(equal(numbered, before));
      EXPECT_TRUE(equal(read_png(encode_png(noise(height, width, channels))), noise(height, width, channels)));
    }
  EXPECT_TRUE(equal(encode_png(noise(20, 20, 3)), encode_png(noise(20, 20, 3))));
}

TEST(EncodePng, RowsTakeTheFilterThatSuitsThem) {
  Array picture(u8, {6, 32, 1});
  RandomStream random(5);
  for (int x = 0; x < 32; ++x) {
    const double other = static_cast<double>(random.below(256));
    const auto put = [&](int y, double value) { picture.set_item(place_of(picture, y, x), value); };
    put(0, 0);                                           // as it is
    put(1, 3 * x + 60);                                  // a slope: what is at its left
    put(2, other);                                       //
    put(3, other);                                       // what is above
    put(4, x == 0 ? other : pixel(picture, 3, x) - 40);  // a step down; at the left, above and corner decide
    put(5, ((x == 0 ? 0 : pixel(picture, 5, x - 1)) + pixel(picture, 4, x)) / 2);  // halfway
  }
  std::vector<int> filters;
  EXPECT_TRUE(equal(read_png(encode_png(picture), &filters), picture));
  EXPECT_EQ(filters[0], 0);
  EXPECT_EQ(filters[1], 1);
  EXPECT_EQ(filters[3], 2);
  EXPECT_EQ(filters[4], 4);
  EXPECT_EQ(filters[5], 3);
}

TEST(EncodePng, SmoothPicturesAreSmallAndLargeOnesHaveSeveralChunks) {
  const Array smooth = smooth_picture(200, 300);
  EXPECT_LT(encode_png(smooth).bytes(), smooth.bytes() / 50);
  const Array large = noise(300, 300, 3), file = encode_png(large);
  EXPECT_GT(chunks_of({static_cast<const char*>(file.raw()), file.bytes()}).data_chunks, 1);
  EXPECT_TRUE(equal(read_png(file), large));
}

TEST(EncodePng, FloatsAreCutToBlackAndWhiteAndNaNIsBlack) {
  const float inf = std::numeric_limits<float>::infinity();
  const Array picture = Array::of<float>({3, 3, 1}, {-1, 0, 0.2f, 0.5f, 1, 7, inf, -inf, NAN});
  EXPECT_TRUE(
      equal(read_png(encode_png(picture)), Array::of<std::uint8_t>({3, 3, 1}, {0, 0, 51, 128, 255, 255, 255, 0, 0})));
}

TEST(EncodePng, WrongPicturesAreErrors) {
  const auto text = [](DType dtype, const Shape& shape) { return error_of([&] { encode_png(Array(dtype, shape)); }); };
  const std::string rule = "[encode_png] expected an image, u8 or f32 [height, width, 1, 3 or 4 channels], got ";
  EXPECT_EQ(text(i32, {2, 2, 1}), rule + "i32 [2, 2, 1].");
  EXPECT_EQ(text(f32, {28, 28}), rule + "f32 [28, 28].");
  EXPECT_EQ(text(f32, {8, 28, 28, 1}), rule + "f32 [8, 28, 28, 1]. The images of a batch are rows_of(batch).");
  EXPECT_EQ(text(u8, {2, 2, 2}), rule + "u8 [2, 2, 2].");
  EXPECT_EQ(text(u8, {2, 2, 5}), rule + "u8 [2, 2, 5].");
  EXPECT_EQ(text(u8, {0, 2, 1}), rule + "u8 [0, 2, 1].");
  std::uint8_t nothing = 0;
  const Array wide(u8, {1, std::int64_t{1} << 31, 1}, &nothing, nullptr);  // refused before a pixel is read
  EXPECT_EQ(error_of([&] { encode_png(wide); }),
            "[encode_png] expected sides of at most 2147483647 pixels, got [1, 2147483648, 1].");
}

TEST(WritePng, LeavesAWholeFileOrNone) {
  const TempDir dir;
  const Array picture = numbered_picture(6, 4);
  write_png(dir / "a.png", picture);
  const Array file = encode_png(picture);
  EXPECT_EQ(read_file(dir / "a.png"), std::string(static_cast<const char*>(file.raw()), file.bytes()));
  EXPECT_EQ(error_of([&] { write_png(dir / "b.png", Array(f32, {3})); }),
            "[write_png] expected an image, u8 or f32 [height, width, 1, 3 or 4 channels], got f32 [3].");
  EXPECT_EQ(dir.names(), std::vector<std::string>{"a.png"});
  EXPECT_TRUE(contains(file_error_of([&] { write_png(dir / "no/c.png", picture); }), dir / "no/"));
}

}  // namespace
}  // namespace belfry
