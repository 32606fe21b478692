#include "belfry/dataflow/image/codecs/internal/write_jpeg.h"

#include <cstdlib>

#include "belfry/base/check.h"
#include "belfry/dataflow/image/codecs/internal/jpeg_calls.h"

namespace belfry {
namespace {

// libjpeg's writer, with what it has to let go.
class Writer {
 public:
  Writer() : calls_(false) { jpeg_.err = calls_.manager(); }
  ~Writer() {
    jpeg_destroy_compress(&jpeg_);
    std::free(file_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  std::string write(const char* where, const BytePixels& pixels, int quality);

 private:
  JpegCalls calls_;
  jpeg_compress_struct jpeg_{};
  unsigned char* file_ = nullptr;  // libjpeg's, by malloc(); set when the file is complete
};

std::string Writer::write(const char* where, const BytePixels& pixels, int quality) {
  unsigned char* file = nullptr;  // while libjpeg writes it is not ours to free: it may have moved on
  unsigned long size = 0;
  const bool complete = calls_.complete([&] {
    jpeg_create_compress(&jpeg_);
    jpeg_mem_dest(&jpeg_, &file, &size);
    jpeg_.image_width = static_cast<JDIMENSION>(pixels.width);
    jpeg_.image_height = static_cast<JDIMENSION>(pixels.height);
    jpeg_.input_components = pixels.channels;
    jpeg_.in_color_space = pixels.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&jpeg_);
    jpeg_set_quality(&jpeg_, quality, TRUE);
    jpeg_start_compress(&jpeg_, TRUE);
    while (jpeg_.next_scanline < jpeg_.image_height) {
      auto* row = const_cast<std::uint8_t*>(pixels.first + jpeg_.next_scanline * pixels.step);
      jpeg_write_scanlines(&jpeg_, &row, 1);
    }
    jpeg_finish_compress(&jpeg_);
    file_ = file;
  });
  BELFRY_CHECK(complete, "[{}] expected to make a JPEG of {} x {} pixels, but libjpeg says: {}.", where, pixels.width,
               pixels.height, calls_.complaint());
  return {reinterpret_cast<const char*>(file_), size};
}

}  // namespace

std::string write_jpeg(const char* where, const BytePixels& pixels, int quality) {
  BELFRY_CHECK(pixels.width <= JPEG_MAX_DIMENSION && pixels.height <= JPEG_MAX_DIMENSION,
               "[{}] expected sides of at most {} pixels for a JPEG, got {} x {}. Write a PNG.", where,
               JPEG_MAX_DIMENSION, pixels.width, pixels.height);
  return Writer().write(where, pixels, quality);
}

}  // namespace belfry
