#include "belfry/dataflow/png.h"

#include <zlib.h>

#include <cstdlib>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/dataflow/internal/byte_image.h"
#include "belfry/dataflow/internal/png_writer.h"

namespace belfry {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t kPiece = std::size_t{1} << 16;  // of compressed pixels in a chunk

void put_number(std::string& out, std::size_t number) {  // 32 bits, the highest first
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift);
}

void put_chunk(std::string& out, std::string_view type, std::string_view data) {
  put_number(out, data.size());
  const std::size_t body = out.size();
  out += type;
  out += data;
  put_number(out, crc32_z(0, reinterpret_cast<const Bytef*>(out.data() + body), out.size() - body));
}

enum Filter : std::uint8_t { kNone, kLeft, kAbove, kMean, kPaeth, kFilters };

// What a filter expects of a byte, from the same channel of the pixels at its left, above it, and above at the left.
// Paeth: the one of them that is nearest to left + above - corner.
int expected(Filter filter, int left, int above, int corner) {
  switch (filter) {
    case kLeft: return left;
    case kAbove: return above;
    case kMean: return (left + above) / 2;
    case kPaeth: {
      const int to_left = std::abs(above - corner), to_above = std::abs(left - corner);
      const int to_corner = std::abs(left + above - 2 * corner);
      if (to_left <= to_above && to_left <= to_corner) return left;
      return to_above <= to_corner ? above : corner;
    }
    default: return 0;
  }
}

// The filter's number, then by how much each byte differs from what it expects.
void filter_row(Filter filter, Bytes row, Bytes above, std::size_t channels, std::string& out) {
  out.assign(1, static_cast<char>(filter));
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool first = i < channels;
    out += static_cast<char>(
        row[i] - expected(filter, first ? 0 : row[i - channels], above[i], first ? 0 : above[i - channels]));
  }
}

// Small differences, of either sign, compress well.
std::int64_t cost_of(std::string_view filtered) {
  std::int64_t sum = 0;
  for (const char difference : filtered.substr(1)) sum += std::abs(static_cast<signed char>(difference));
  return sum;
}

// Each row, filtered by what is cheapest for it.
std::string filter_rows(const Array& image) {
  const auto channels = static_cast<std::size_t>(image.shape()[2]);
  const std::size_t width = static_cast<std::size_t>(image.shape()[1]) * channels;
  const Bytes pixels = image.values<std::uint8_t>();
  const std::vector<std::uint8_t> nothing(width);
  std::string out, best, tried;
  out.reserve(pixels.size() + static_cast<std::size_t>(image.shape()[0]));
  for (std::size_t at = 0; at < pixels.size(); at += width) {
    const Bytes row = pixels.subspan(at, width), above = at == 0 ? Bytes(nothing) : pixels.subspan(at - width, width);
    filter_row(kNone, row, above, channels, best);
    for (int filter = kLeft; filter < kFilters; ++filter) {
      filter_row(static_cast<Filter>(filter), row, above, channels, tried);
      if (cost_of(tried) < cost_of(best)) best.swap(tried);
    }
    out += best;
  }
  return out;
}

std::string compressed(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  const int status =
      compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  BELFRY_BUG_IF(status != Z_OK, "zlib did not compress {} bytes: {}", bytes.size(), status);
  out.resize(size);
  return out;
}

}  // namespace

std::string png_file(const char* where, const Array& image) {
  check_picture(where, image);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const std::int64_t height = image.shape()[0], width = image.shape()[1], channels = image.shape()[2];
  BELFRY_CHECK(height <= most && width <= most, "[{}] expected sides of at most {} pixels, got {}.", where, most,
               to_string(image.shape()));

  std::string header;
  put_number(header, static_cast<std::size_t>(width));
  put_number(header, static_cast<std::size_t>(height));
  // 8 bits; grey, RGB or RGBA; the only compression, the only set of filters, rows from top to bottom
  const char colour = channels == 1 ? 0 : channels == 3 ? 2 : 6;
  header += {8, colour, 0, 0, 0};

  const std::string data = compressed(filter_rows(to_bytes(image)));
  std::string file = "\x89PNG\r\n\x1a\n";
  put_chunk(file, "IHDR", header);
  for (std::size_t at = 0; at < data.size(); at += kPiece)
    put_chunk(file, "IDAT", std::string_view(data).substr(at, kPiece));
  put_chunk(file, "IEND", "");
  return file;
}

Array encode_png(const Array& image) {
  const auto file = std::make_shared<std::string>(png_file("encode_png", image));
  return Array(u8, {static_cast<std::int64_t>(file->size())}, file->data(), file);
}

void write_png(const std::string& path, const Array& image) {
  write_file_atomically(path, png_file("write_png", image));
}

}  // namespace belfry
