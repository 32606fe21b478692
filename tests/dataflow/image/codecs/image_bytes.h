// Files as other programs write them: the contents, made with the libraries that read them.
#pragma once

// clang-format off: jpeglib.h needs what is before it, and does not include it
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <png.h>
#include <webp/encode.h>
#include <zlib.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "belfry/array/array.h"

namespace belfry {

inline Array bytes_array(const std::string& bytes) {
  return Array::of<std::uint8_t>({static_cast<std::int64_t>(bytes.size())},
                                 std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
}

inline std::string text_of(const Array& bytes) { return {static_cast<const char*>(bytes.raw()), bytes.bytes()}; }

struct JpegKind {
  bool progressive = false;
  unsigned restart_interval = 0;     // blocks of 16 x 16 pixels; 0: none
  J_COLOR_SPACE colours = JCS_RGB;   // of the picture
  J_COLOR_SPACE stored = JCS_YCbCr;  // and in the file
};

inline std::string jpeg_bytes(Array picture, const JpegKind& kind = {}) {
  jpeg_error_mgr errors;
  jpeg_compress_struct jpeg{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_height = static_cast<JDIMENSION>(picture.shape()[0]);
  jpeg.image_width = static_cast<JDIMENSION>(picture.shape()[1]);
  jpeg.input_components = static_cast<int>(picture.shape()[2]);
  jpeg.in_color_space = kind.colours;
  jpeg_set_defaults(&jpeg);
  jpeg_set_colorspace(&jpeg, kind.stored);
  jpeg_set_quality(&jpeg, 95, TRUE);
  jpeg.restart_interval = kind.restart_interval;
  if (kind.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  const std::size_t row_bytes = picture.bytes() / jpeg.image_height;
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = picture.values<std::uint8_t>().data() + jpeg.next_scanline * row_bytes;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string file(reinterpret_cast<const char*>(bytes), size);
  jpeg_destroy_compress(&jpeg);
  std::free(bytes);
  return file;
}

inline std::string big_endian(std::size_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

inline std::string little_endian(std::size_t value) {
  std::string bytes;
  for (int shift = 0; shift <= 24; shift += 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

inline std::string png_chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  return big_endian(data.size()) + body +
         big_endian(crc32(0, reinterpret_cast<const Bytef*>(body.data()), body.size()));
}

struct PngKind {
  std::size_t width = 0, height = 0;
  int bits = 8, colours = PNG_COLOR_TYPE_GRAY;
  std::string chunks{};  // between header and pixels
};

// Of rows as the format stores them, all of the same length.
inline std::string png_bytes(const PngKind& kind, const std::vector<std::string>& rows) {
  std::string data;
  for (const std::string& row : rows) data += '\0' + row;  // without a filter
  std::string packed(compressBound(data.size()), '\0');
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(data.data()), data.size());
  const std::string form{static_cast<char>(kind.bits), static_cast<char>(kind.colours), '\0', '\0', '\0'};
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", big_endian(kind.width) + big_endian(kind.height) + form) +
         kind.chunks + png_chunk("IDAT", packed.substr(0, size)) + png_chunk("IEND", "");
}

inline std::string interlaced_png_bytes(Array picture) {  // u8 RGB
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto append = [](png_structp to, png_bytep bytes, std::size_t count) {
    static_cast<std::string*>(png_get_io_ptr(to))->append(reinterpret_cast<const char*>(bytes), count);
  };
  png_set_write_fn(png, &file, append, nullptr);
  const auto height = static_cast<png_uint_32>(picture.shape()[0]),
             width = static_cast<png_uint_32>(picture.shape()[1]);
  png_set_IHDR(png, info, width, height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_ADAM7, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_bytep> rows;
  for (png_uint_32 y = 0; y < height; ++y)
    rows.push_back(picture.values<std::uint8_t>().data() + std::size_t{y} * width * 3);
  png_write_info(png, info);
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

// Of RGB or RGBA; lossless, or of a quality.
inline std::string webp_bytes(const Array& picture, bool lossless = true) {
  const int height = static_cast<int>(picture.shape()[0]), width = static_cast<int>(picture.shape()[1]);
  const auto* pixels = picture.values<std::uint8_t>().data();
  std::uint8_t* bytes = nullptr;
  std::size_t size = 0;
  if (picture.shape()[2] == 4)
    size = lossless ? WebPEncodeLosslessRGBA(pixels, width, height, 4 * width, &bytes)
                    : WebPEncodeRGBA(pixels, width, height, 4 * width, 90, &bytes);
  else
    size = lossless ? WebPEncodeLosslessRGB(pixels, width, height, 3 * width, &bytes)
                    : WebPEncodeRGB(pixels, width, height, 3 * width, 90, &bytes);
  std::string file(reinterpret_cast<const char*>(bytes), size);
  WebPFree(bytes);
  return file;
}

inline std::string webp_chunk_bytes(const std::string& name, const std::string& data) {
  return name + little_endian(data.size()) + data + std::string(data.size() % 2, '\0');
}

inline std::string webp_file_of(const std::string& chunks) {
  return "RIFF" + little_endian(chunks.size() + 4) + "WEBP" + chunks;
}

// The chunk that says what others there are, as flags.
inline std::string webp_header_chunk(char flags, std::size_t width, std::size_t height) {
  return webp_chunk_bytes("VP8X", std::string{flags, 0, 0, 0} + little_endian(width - 1).substr(0, 3) +
                                      little_endian(height - 1).substr(0, 3));
}

// EXIF that asks for a turn, in either order of bytes.
inline std::string exif_bytes(int orientation, bool big = true) {
  const std::string value(1, static_cast<char>(orientation));
  return big ? std::string("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0", 19) + value + std::string(6, '\0')
             : std::string("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0", 18) + value + std::string(7, '\0');
}

// The JPEG with one more segment at its beginning.
inline std::string with_segment(const std::string& jpeg, char marker, const std::string& payload) {
  const std::size_t length = payload.size() + 2;
  const std::string header{'\xFF', marker, static_cast<char>(length >> 8), static_cast<char>(length)};
  return jpeg.substr(0, 2) + header + payload + jpeg.substr(2);
}

inline std::string with_exif(const std::string& jpeg, const std::string& exif) {
  return with_segment(jpeg, '\xE1', std::string("Exif\0\0", 6) + exif);
}

}  // namespace belfry
