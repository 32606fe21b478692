#include <zlib.h>

#include <algorithm>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/session/zip.h"

namespace belfry {
namespace {

// zlib takes pointers to mutable input but does not write through them.
Bytef* zlib_bytes(const std::byte* bytes) { return reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes)); }

}  // namespace

// zlib counts in 32 bits; entries are below 4 GiB, so input and output fit.
struct ZipStream::State {
  const ZipEntry& entry;
  std::string where;
  std::size_t taken = 0;  // bytes handed out so far
  uLong crc = crc32(0, nullptr, 0);
  z_stream inflater{};

  State(const ZipEntry& from, std::string text) : entry(from), where(std::move(text)) {
    if (!entry.deflated) return;
    inflater.next_in = zlib_bytes(entry.data.data());
    inflater.avail_in = static_cast<uInt>(entry.data.size());
    constexpr int kRawDeflate = -15;  // no zlib header, the largest window
    BELFRY_CHECK_AS(FileError, inflateInit2(&inflater, kRawDeflate) == Z_OK,
                    "{}: expected memory to decompress it, got none.", where);
  }
  ~State() {
    if (entry.deflated) inflateEnd(&inflater);
  }

  void inflate_into(std::span<std::byte> to) {
    inflater.next_out = zlib_bytes(to.data());
    inflater.avail_out = static_cast<uInt>(to.size());
    while (inflater.avail_out > 0) {
      const int result = inflate(&inflater, Z_NO_FLUSH);
      const std::size_t missing = inflater.avail_out;
      BELFRY_CHECK_AS(FileError, result == Z_OK || (result == Z_STREAM_END && missing == 0),
                      "{}: expected {} bytes of deflated data, got {} after {}. The file is damaged.", where,
                      entry.size, result == Z_STREAM_END ? "their end" : "an error", taken + to.size() - missing);
    }
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
  s.crc = crc32(s.crc, zlib_bytes(to.data()), static_cast<uInt>(to.size()));
}

void ZipStream::finish() {
  State& s = *state_;
  bool at_end = s.taken == s.entry.size;
  if (at_end && s.entry.deflated) {
    // The last block's end may still be unread; it must come now, without another byte, and use up the input.
    Bytef beyond = 0;
    s.inflater.next_out = &beyond;
    s.inflater.avail_out = 1;
    at_end = inflate(&s.inflater, Z_FINISH) == Z_STREAM_END && s.inflater.avail_out == 1 && s.inflater.avail_in == 0;
  }
  BELFRY_CHECK_AS(FileError, at_end, "{}: expected {} bytes of content, got another number. The file is damaged.",
                  s.where, s.entry.size);
  BELFRY_CHECK_AS(FileError, s.crc == s.entry.crc, "{}: expected the checksum {:08x}, got {:08x}. The file is damaged.",
                  s.where, s.entry.crc, s.crc);
}

}  // namespace belfry
