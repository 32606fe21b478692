#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/dataflow/image/codecs/internal/decoded.h"
#include "belfry/dataflow/image/codecs/internal/exif.h"
#include "belfry/dataflow/image/codecs/internal/jpeg_calls.h"

namespace belfry {
namespace {

constexpr int kExifMarker = JPEG_APP0 + 1;
// Each scan goes over the whole picture. Progressive files have about ten; one of thousands is made to waste time.
constexpr int kMostScans = 500;
// A block, 8 pixels wide and 8 to 32 high where another component has more rows, takes a bit at least.
constexpr std::uint64_t kMostPixelsPerByte = 8 * 32 * 8;

// libjpeg's reader, with what it has to let go.
class Reader {
 public:
  explicit Reader(const EncodedImage& file) : file_(file), calls_(file.options.strict) {
    jpeg_.err = calls_.manager();
    progress_.progress_monitor = limit_scans;
  }
  ~Reader() { jpeg_destroy_decompress(&jpeg_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void read_header();
  int orientation() const;
  Array read_pixels(ImageChannels channels);

 private:
  template <class Calls>
  void call(Calls calls) {
    const bool complete = calls_.complete(calls);
    BELFRY_CHECK(complete, "[{}] expected a JPEG without damage, got {} bytes of which libjpeg says: {}.", file_.where,
                 file_.bytes.size(), calls_.complaint());
  }
  bool inked() const { return jpeg_.out_color_space == JCS_CMYK; }
  void read_rows(std::uint8_t* pixels, std::size_t row_bytes);
  void read_inked_rows(std::uint8_t* pixels, std::size_t row_bytes, ImageChannels channels);
  static void limit_scans(j_common_ptr codec);

  const EncodedImage& file_;
  JpegCalls calls_;
  jpeg_decompress_struct jpeg_{};
  jpeg_progress_mgr progress_{};
};

void Reader::limit_scans(j_common_ptr codec) {
  if (reinterpret_cast<j_decompress_ptr>(codec)->input_scan_number > kMostScans)
    JpegCalls::give_up(codec, "Too many scans");
}

void Reader::read_header() {
  call([&] {
    jpeg_create_decompress(&jpeg_);
    jpeg_.progress = &progress_;
    jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(file_.bytes.data()), file_.bytes.size());
    if (file_.must_orient()) jpeg_save_markers(&jpeg_, kExifMarker, 0xFFFF);
    jpeg_read_header(&jpeg_, TRUE);
  });
  file_.check_pixels(jpeg_.image_width, jpeg_.image_height);
  BELFRY_CHECK(std::uint64_t{jpeg_.image_width} * jpeg_.image_height <= kMostPixelsPerByte * file_.bytes.size(),
               "[{}] expected a JPEG without damage, got {} bytes that cannot hold the {} x {} pixels they claim.",
               file_.where, file_.bytes.size(), jpeg_.image_width, jpeg_.image_height);
}

// Others write into this marker, too: XMP, say. It was kept only if it is needed.
int Reader::orientation() const {
  for (const jpeg_marker_struct* marker = jpeg_.marker_list; marker != nullptr; marker = marker->next) {
    const auto data = std::as_bytes(std::span(marker->data, marker->data_length));
    if (marker->marker != kExifMarker) continue;
    if (const int orientation = exif_orientation(data); orientation != 1) return orientation;
  }
  return 1;
}

Array Reader::read_pixels(ImageChannels channels) {
  if (channels == ImageChannels::unchanged)
    channels = jpeg_.num_components == 1 ? ImageChannels::grey : ImageChannels::rgb;
  if (jpeg_.num_components == 4)
    jpeg_.out_color_space = JCS_CMYK;
  else
    jpeg_.out_color_space = channels == ImageChannels::grey  ? JCS_GRAYSCALE
                            : channels == ImageChannels::bgr ? JCS_EXT_BGR
                                                             : JCS_RGB;
  call([&] { jpeg_start_decompress(&jpeg_); });
  Array image(u8, {jpeg_.output_height, jpeg_.output_width, channels == ImageChannels::grey ? 1 : 3});
  const std::size_t row_bytes = image.bytes() / jpeg_.output_height;
  std::uint8_t* const pixels = image.values<std::uint8_t>().data();
  call([&] {
    if (inked())
      read_inked_rows(pixels, row_bytes, channels);
    else
      read_rows(pixels, row_bytes);
    jpeg_finish_decompress(&jpeg_);  // what follows the pixels is read, too
  });
  return image;
}

void Reader::read_rows(std::uint8_t* pixels, std::size_t row_bytes) {
  constexpr JDIMENSION kRows = 8;  // it gives fewer: as many as it makes at once
  while (jpeg_.output_scanline < jpeg_.output_height) {
    JSAMPROW rows[kRows];
    const JDIMENSION count = std::min(kRows, jpeg_.output_height - jpeg_.output_scanline);
    for (JDIMENSION i = 0; i < count; ++i) rows[i] = pixels + (jpeg_.output_scanline + i) * row_bytes;
    jpeg_read_scanlines(&jpeg_, rows, count);
  }
}

// Of four inks, which files have inverted, as Photoshop began to: 255 is no ink.
void Reader::read_inked_rows(std::uint8_t* pixels, std::size_t row_bytes, ImageChannels channels) {
  const JDIMENSION width = jpeg_.output_width;
  auto* const codec = reinterpret_cast<j_common_ptr>(&jpeg_);
  JSAMPARRAY inks = jpeg_.mem->alloc_sarray(codec, JPOOL_IMAGE, 4 * width, 1);
  JSAMPARRAY grey_of = jpeg_.mem->alloc_sarray(codec, JPOOL_IMAGE, 3 * width, 1);
  while (jpeg_.output_scanline < jpeg_.output_height) {
    std::uint8_t* const row = pixels + jpeg_.output_scanline * row_bytes;
    std::uint8_t* const rgb = channels == ImageChannels::grey ? grey_of[0] : row;
    jpeg_read_scanlines(&jpeg_, inks, 1);
    for (JDIMENSION x = 0; x < width; ++x) {
      const unsigned black = inks[0][4 * x + 3];
      for (unsigned i = 0; i < 3; ++i) {
        const unsigned to = channels == ImageChannels::bgr ? 2 - i : i;
        rgb[3 * x + to] = static_cast<std::uint8_t>(black - ((255 - inks[0][4 * x + i]) * black >> 8));
      }
    }
    if (channels == ImageChannels::grey) to_grey(rgb, width, row);
  }
}

}  // namespace

DecodedImage read_jpeg(const EncodedImage& file) {
  Reader reader(file);
  reader.read_header();
  const int orientation = reader.orientation();
  return {reader.read_pixels(file.options.channels), orientation};
}

}  // namespace belfry
