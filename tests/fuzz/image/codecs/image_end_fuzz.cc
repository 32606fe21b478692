#include <algorithm>
#include <vector>

#include "belfry/dataflow/image/codecs/internal/exif.h"
#include "belfry/dataflow/image/codecs/internal/image_end.h"
#include "belfry/dataflow/image/codecs/internal/webp_chunks.h"
#include "tests/fuzz/fuzzing.h"

using namespace belfry::fuzzing;  // NOLINT(google-build-using-namespace)

namespace {

// What follows the end does not matter, and a part of a file that is cut is cut, if it still shows what it is.
template <class IsCut>
void check(IsCut is_cut, std::span<const std::byte> bytes, std::size_t signature) {
  const bool cut = is_cut(bytes);
  std::vector<std::byte> longer(bytes.begin(), bytes.end());
  longer.push_back(std::byte{0xFF});
  require(cut || !is_cut(longer) || bytes.size() < signature);
  for (const std::size_t part : {bytes.size() / 2, bytes.size() - std::min<std::size_t>(bytes.size(), 1)})
    require(!cut || part < signature || is_cut(bytes.first(part)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check(belfry::is_cut_jpeg, bytes, 2);
  check(belfry::is_cut_png, bytes, 8);
  check(belfry::is_cut_webp, bytes, 12);
  const int orientation = belfry::exif_orientation(bytes);
  require(orientation >= 1 && orientation <= 8);
  const auto chunk = belfry::webp_chunk(bytes, "EXIF");
  require(chunk.empty() || (chunk.data() >= bytes.data() && chunk.size() <= bytes.size()));
  return 0;
}
