#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "belfry/base/check.h"
#include "belfry/dataflow/image/codecs/internal/decoded.h"
#include "belfry/dataflow/image/codecs/internal/exif.h"

namespace belfry {
namespace {

constexpr std::uint64_t kMostPerByte = 1032;  // bytes that zlib can make of one

// libpng's reader, with what it has to let go.
class PngReader {
 public:
  explicit PngReader(const EncodedImage& file);
  ~PngReader() { png_destroy_read_struct(&png_, &info_, &end_); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  void read_header();
  Array read_pixels(ImageChannels channels);
  int orientation();  // after the pixels: EXIF may stand behind them

 private:
  // calls(), of libpng. C has no exceptions: an error jumps back. Nothing in calls() may have a destructor.
  template <class Calls>
  void call(Calls calls) {
    BELFRY_CHECK(complete(calls), "[{}] expected a PNG without damage, got {} bytes of which libpng says: {}.",
                 file_.where, file_.bytes.size(), complaint_);
  }
  template <class Calls>
  bool complete(Calls calls) {
    if (setjmp(back_) != 0) return false;
    calls();
    return true;
  }
  bool has_alpha() const;
  void choose_transforms(ImageChannels channels);

  static void jump_back(png_structp png, png_const_charp text);
  static void give_bytes(png_structp png, png_bytep to, std::size_t count);

  const EncodedImage& file_;
  std::span<const std::byte> rest_;  // of its bytes, what was not read yet
  png_structp png_ = nullptr;
  png_infop info_ = nullptr, end_ = nullptr;
  png_uint_32 width_ = 0, height_ = 0;
  int depth_ = 0, colours_ = 0;
  std::jmp_buf back_{};
  char complaint_[256] = {};
};

PngReader::PngReader(const EncodedImage& file) : file_(file), rest_(file.bytes) {
  png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, jump_back, [](png_structp, png_const_charp) {});
  if (png_ != nullptr) info_ = png_create_info_struct(png_);
  if (info_ != nullptr) end_ = png_create_info_struct(png_);
  BELFRY_CHECK(end_ != nullptr, "[{}] expected memory for libpng, got none.", file.where);
  png_set_read_fn(png_, this, give_bytes);
  // Chunks without which there is a picture are passed over where their checksums are wrong.
  if (file.options.strict) png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
}

void PngReader::jump_back(png_structp png, png_const_charp text) {
  auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
  std::snprintf(reader->complaint_, sizeof(reader->complaint_), "%s", text);
  std::longjmp(reader->back_, 1);
}

void PngReader::give_bytes(png_structp png, png_bytep to, std::size_t count) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (count > reader->rest_.size()) png_error(png, "Read Error");
  std::memcpy(to, reader->rest_.data(), count);
  reader->rest_ = reader->rest_.subspan(count);
}

void PngReader::read_header() {
  call([&] {
    png_read_info(png_, info_);
    png_get_IHDR(png_, info_, &width_, &height_, &depth_, &colours_, nullptr, nullptr, nullptr);
  });
  file_.check_pixels(width_, height_);
  const std::uint64_t unpacked = std::uint64_t{png_get_rowbytes(png_, info_)} * height_;
  BELFRY_CHECK(unpacked <= kMostPerByte * file_.bytes.size(),
               "[{}] expected a PNG without damage, got {} bytes that cannot hold the {} x {} pixels they claim.",
               file_.where, file_.bytes.size(), width_, height_);
}

// Whether something is transparent in it. (Of a grey one, a grey that is to be so does not make it a colour.)
bool PngReader::has_alpha() const {
  if ((colours_ & PNG_COLOR_MASK_ALPHA) != 0) return true;
  return colours_ != PNG_COLOR_TYPE_GRAY && png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
}

void PngReader::choose_transforms(ImageChannels channels) {
  const bool keep_alpha = channels == ImageChannels::unchanged && has_alpha();
  const bool grey =
      channels == ImageChannels::grey || (channels == ImageChannels::unchanged && colours_ == PNG_COLOR_TYPE_GRAY);
  if (depth_ == 16) png_set_strip_16(png_);
  if (colours_ == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
  if (colours_ == PNG_COLOR_TYPE_GRAY && depth_ < 8) png_set_expand_gray_1_2_4_to_8(png_);
  if (keep_alpha)
    png_set_tRNS_to_alpha(png_);
  else
    png_set_strip_alpha(png_);
  if (grey)
    png_set_rgb_to_gray(png_, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
  else
    png_set_gray_to_rgb(png_);
  if (channels == ImageChannels::bgr) png_set_bgr(png_);
}

Array PngReader::read_pixels(ImageChannels channels) {
  BELFRY_CHECK(channels != ImageChannels::unchanged || depth_ <= 8,
               "[{}] expected 8 bits a channel, got an image of more. Decode it with ImageChannels::rgb or grey, which "
               "makes them 8.",
               file_.where);
  int passes = 0;
  call([&] {
    choose_transforms(channels);
    passes = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
  });
  Array image(u8, {height_, width_, png_get_channels(png_, info_)});
  const std::size_t row_bytes = image.bytes() / height_;
  BELFRY_BUG_IF(png_get_rowbytes(png_, info_) != row_bytes, "libpng gives rows of {} bytes, {} were expected",
                png_get_rowbytes(png_, info_), row_bytes);
  std::uint8_t* const pixels = image.values<std::uint8_t>().data();
  call([&] {
    for (int pass = 0; pass < passes; ++pass)
      for (png_uint_32 y = 0; y < height_; ++y) png_read_row(png_, pixels + y * row_bytes, nullptr);
    png_read_end(png_, end_);
  });
  return image;
}

int PngReader::orientation() {
  for (const png_infop info : {info_, end_}) {
    png_uint_32 count = 0;
    png_bytep exif = nullptr;
    if (png_get_eXIf_1(png_, info, &count, &exif) != 0) return exif_orientation(std::as_bytes(std::span(exif, count)));
  }
  return 1;
}

}  // namespace

DecodedImage read_png(const EncodedImage& file) {
  PngReader reader(file);
  reader.read_header();
  DecodedImage decoded{reader.read_pixels(file.options.channels), 1};
  if (file.must_orient()) decoded.orientation = reader.orientation();
  return decoded;
}

}  // namespace belfry
