#include <zlib.h>

#include <algorithm>
#include <utility>

#include "belfry/array/internal/zip.h"
#include "belfry/base/check.h"

namespace belfry {
namespace {

// zlib takes pointers to mutable input but does not write through them.
Bytef* zlib_bytes(const std::byte* bytes) { return reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes)); }

constexpr std::size_t kPiece = std::size_t{1} << 30;  // zlib counts in 32 bits

}  // namespace

struct ZipStream::State {
  const ZipEntry& entry;
  std::string where;
  std::size_t taken = 0;  // bytes handed out so far
  uLong crc = crc32(0, nullptr, 0);
  z_stream inflater{};
  std::span<const std::byte> packed;  // what the inflater has not been given yet

  State(const ZipEntry& from, std::string text) : entry(from), where(std::move(text)), packed(from.data) {
    if (!entry.deflated) return;
    constexpr int kRawDeflate = -15;  // no zlib header, the largest window
    BELFRY_CHECK_AS(FileError, inflateInit2(&inflater, kRawDeflate) == Z_OK,
                    "{}: expected memory to decompress it, got none.", where);
  }
  ~State() {
    if (entry.deflated) inflateEnd(&inflater);
  }

  void refill() {
    if (inflater.avail_in > 0 || packed.empty()) return;
    const std::span<const std::byte> piece = packed.first(std::min(packed.size(), kPiece));
    inflater.next_in = zlib_bytes(piece.data());
    inflater.avail_in = static_cast<uInt>(piece.size());
    packed = packed.subspan(piece.size());
  }

  void inflate_into(std::span<std::byte> to) {
    std::size_t filled = 0;
    while (filled < to.size()) {
      refill();
      const std::size_t room = std::min(to.size() - filled, kPiece);
      inflater.next_out = zlib_bytes(to.data() + filled);
      inflater.avail_out = static_cast<uInt>(room);
      const int result = inflate(&inflater, Z_NO_FLUSH);
      filled += room - inflater.avail_out;
      BELFRY_CHECK_AS(FileError, result == Z_OK || (result == Z_STREAM_END && filled == to.size()),
                      "{}: expected {} bytes of deflated data, got {} after {}. The file is damaged.", where,
                      entry.size, result == Z_STREAM_END ? "their end" : "an error", taken + filled);
    }
  }

  // The last block's end may still be unread; it must come now, without another byte, and use up the input.
  bool inflates_no_further() {
    refill();
    Bytef beyond = 0;
    inflater.next_out = &beyond;
    inflater.avail_out = 1;
    return inflate(&inflater, Z_FINISH) == Z_STREAM_END && inflater.avail_out == 1 && inflater.avail_in == 0 &&
           packed.empty();
  }
};

ZipStream::ZipStream(const ZipEntry& entry, std::string where)
    : state_(std::make_unique<State>(entry, std::move(where))) {}
ZipStream::~ZipStream() = default;

void ZipStream::read(std::span<std::byte> to) {
  State& s = *state_;
  BELFRY_CHECK_AS(FileError, to.size() <= s.entry.size - s.taken, "{}: expected {} more bytes, got {}.", s.where,
                  to.size(), s.entry.size - s.taken);
  if (to.empty()) return;
  if (s.entry.deflated) {
    s.inflate_into(to);
  } else {
    std::ranges::copy(s.entry.data.subspan(s.taken, to.size()), to.begin());
  }
  s.taken += to.size();
  s.crc = crc32_z(s.crc, zlib_bytes(to.data()), to.size());
}

void ZipStream::finish() {
  State& s = *state_;
  const bool at_end = s.taken == s.entry.size && (!s.entry.deflated || s.inflates_no_further());
  BELFRY_CHECK_AS(FileError, at_end, "{}: expected {} bytes of content, got another number. The file is damaged.",
                  s.where, s.entry.size);
  BELFRY_CHECK_AS(FileError, s.crc == s.entry.crc, "{}: expected the checksum {:08x}, got {:08x}. The file is damaged.",
                  s.where, s.entry.crc, s.crc);
}

}  // namespace belfry
