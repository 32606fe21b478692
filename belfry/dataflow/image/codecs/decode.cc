#include "belfry/dataflow/image/codecs/decode.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/dataflow/image/codecs/internal/decoded.h"
#include "belfry/dataflow/image/codecs/internal/decoding.h"
#include "belfry/dataflow/image/codecs/internal/image_end.h"
#include "belfry/dataflow/image/codecs/internal/turn.h"
#include "belfry/dataflow/image/codecs/internal/webp_chunks.h"

namespace belfry {
namespace {

// How files of a format begin: `bytes`, at the position `at`.
struct Signature {
  std::size_t at = 0;
  std::string_view bytes;
  const char* format = "";
};

constexpr Signature kOthers[] = {
    {0, "BM", "BMP"},
    {0, "GIF8", "GIF"},
    {0, {"II*\0", 4}, "TIFF"},
    {0, {"MM\0*", 4}, "TIFF"},
    {4, "ftyp", "HEIC or an AVIF"},
    {4, "jP  ", "JPEG 2000"},
};

[[noreturn]] void refuse_format(const EncodedImage& file) {
  const std::string_view text(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  for (const Signature& other : kOthers)
    BELFRY_CHECK(text.size() < other.at || !text.substr(other.at).starts_with(other.bytes),
                 "[{}] expected a JPEG, PNG or WebP, got {} bytes that begin as a {} does. Convert it to one of these.",
                 file.where, text.size(), other.format);
  fail("[{}] expected a JPEG, PNG or WebP, got {} bytes that are none of these.", file.where, text.size());
}

void check_whole(const EncodedImage& file, const char* format, bool cut) {
  BELFRY_CHECK(!cut, "[{}] expected a whole {}, got {} bytes of one that is cut off.", file.where, format,
               file.bytes.size());
}

DecodedImage decode_stored(const EncodedImage& file) {
  if (is_jpeg(file.bytes)) {
    check_whole(file, "JPEG", is_cut_jpeg(file.bytes));
    return read_jpeg(file);
  }
  if (is_png(file.bytes)) {
    check_whole(file, "PNG", is_cut_png(file.bytes));
    return read_png(file);
  }
  if (is_webp(file.bytes)) {
    check_whole(file, "WebP", is_cut_webp(file.bytes));
    return read_webp(file);
  }
  refuse_format(file);
}

}  // namespace

void EncodedImage::check_pixels(std::uint64_t width, std::uint64_t height) const {
  BELFRY_CHECK(width * height <= most_pixels, "[{}] expected an image of at most {} pixels, got {} x {}.", where,
               most_pixels, width, height);
}

void to_grey(const std::uint8_t* rgb, std::size_t count, std::uint8_t* grey) {
  constexpr unsigned kRed = 9798, kGreen = 19235, kBlue = 3735, kBits = 15;  // the sum of the three is 2^15
  for (std::size_t i = 0; i < count; ++i, rgb += 3)
    grey[i] =
        static_cast<std::uint8_t>((kRed * rgb[0] + kGreen * rgb[1] + kBlue * rgb[2] + (1u << (kBits - 1))) >> kBits);
}

Array decode_picture(const EncodedImage& file) {
  const std::size_t size = file.bytes.size();
  BELFRY_CHECK(size > 0, "[{}] expected the bytes of an image, got none.", file.where);
  BELFRY_CHECK(size <= 0x7fffffff, "[{}] expected at most 2 GiB, got {} bytes.", file.where, size);
  const DecodedImage stored = decode_stored(file);
  return turned_upright(stored.image, stored.orientation);
}

Array decode_as(const char* where, std::span<const std::byte> bytes, const DecodeOptions& options) {
  return decode_picture({.where = where, .bytes = bytes, .options = options});
}

Array decode_image(std::span<const std::byte> bytes, DecodeOptions options) {
  return decode_as("decode_image", bytes, options);
}

std::span<const std::byte> bytes_of(const Array& bytes, const char* where) {
  BELFRY_CHECK(bytes.dtype() == u8 && bytes.shape().rank() == 1,
               "[{}] expected the bytes of an image file, u8 [n], got {} {}.{}", where, name_of(bytes.dtype()),
               to_string(bytes.shape()),
               bytes.shape().rank() == 3 ? " It is decoded already: image_folder() and image_files() do so unless "
                                           ".decode = false is given."
                                         : "");
  return {static_cast<const std::byte*>(bytes.raw()), bytes.bytes()};
}

Array decode_image(const Array& bytes, DecodeOptions options) {
  return decode_as("decode_image", bytes_of(bytes, "decode_image"), options);
}

Array read_image_as(const char* where, const std::string& path, const DecodeOptions& options) {
  const std::string file = read_file(path);
  try {
    return decode_as(where, std::as_bytes(std::span(file)), options);
  } catch (const Error& e) {
    fail<FileError>("{} It is '{}'.", e.what(), path);
  }
}

std::string extension_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension;
}

Array read_image(const std::string& path, DecodeOptions options) { return read_image_as("read_image", path, options); }

}  // namespace belfry
