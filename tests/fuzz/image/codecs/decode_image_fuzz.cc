#include "belfry/dataflow/image/codecs/internal/decoded.h"
#include "tests/fuzz/fuzzing.h"

using namespace belfry::fuzzing;  // NOLINT(google-build-using-namespace)

// The first byte says how to decode; the rest is the file. A few bytes may well hold a large picture, whose pixels
// would be all of a fuzzer's time.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const belfry::EncodedImage file{.where = "fuzz",
                                  .bytes = std::as_bytes(std::span(data + 1, size - 1)),
                                  .options = {.channels = static_cast<belfry::ImageChannels>(data[0] & 3),
                                              .orient = (data[0] & 4) != 0,
                                              .strict = (data[0] & 8) != 0},
                                  .most_pixels = 1 << 18};
  return refused_or_read([&] { touch(decode_picture(file)); });
}
