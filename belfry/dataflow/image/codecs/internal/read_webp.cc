#include <webp/decode.h>

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/dataflow/image/codecs/internal/decoded.h"
#include "belfry/dataflow/image/codecs/internal/exif.h"
#include "belfry/dataflow/image/codecs/internal/webp_chunks.h"

namespace belfry {
namespace {

const char* text_of(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY: return "out of memory";
    case VP8_STATUS_BITSTREAM_ERROR: return "bitstream error";
    case VP8_STATUS_UNSUPPORTED_FEATURE: return "unsupported feature";
    case VP8_STATUS_NOT_ENOUGH_DATA: return "not enough data";
    default: return "invalid file";
  }
}

}  // namespace

DecodedImage read_webp(const EncodedImage& file) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(file.bytes.data());
  const auto check = [&](VP8StatusCode status) {
    BELFRY_CHECK(status == VP8_STATUS_OK,
                 "[{}] expected a WebP without damage, got {} bytes of which libwebp says: {}.", file.where,
                 file.bytes.size(), text_of(status));
  };
  WebPDecoderConfig config;
  BELFRY_BUG_IF(WebPInitDecoderConfig(&config) == 0, "libwebp is another one than its headers");
  check(WebPGetFeatures(data, file.bytes.size(), &config.input));
  BELFRY_CHECK(config.input.has_animation == 0,
               "[{}] expected a picture, got a WebP of several, an animation. Save one of them.", file.where);
  file.check_pixels(static_cast<std::uint64_t>(config.input.width), static_cast<std::uint64_t>(config.input.height));

  const bool alpha = file.options.channels == ImageChannels::unchanged && config.input.has_alpha != 0;
  Array image(u8, {config.input.height, config.input.width, alpha ? 4 : 3});
  WebPDecBuffer& output = config.output;
  output.colorspace = alpha ? MODE_RGBA : file.options.channels == ImageChannels::bgr ? MODE_BGR : MODE_RGB;
  output.is_external_memory = 1;
  output.u.RGBA.rgba = image.values<std::uint8_t>().data();
  output.u.RGBA.stride = config.input.width * (alpha ? 4 : 3);
  output.u.RGBA.size = image.bytes();
  check(WebPDecode(data, file.bytes.size(), &config));

  if (file.options.channels == ImageChannels::grey) {
    Array grey(u8, {config.input.height, config.input.width, 1});
    to_grey(image.values<std::uint8_t>().data(), grey.bytes(), grey.values<std::uint8_t>().data());
    image = grey;
  }
  return {image, file.must_orient() ? exif_orientation(webp_chunk(file.bytes, "EXIF")) : 1};
}

}  // namespace belfry
