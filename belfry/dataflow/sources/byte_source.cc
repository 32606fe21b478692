#include "belfry/dataflow/sources/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "belfry/base/check.h"

namespace belfry {
namespace {

constexpr std::uint64_t kMaxInflation = 1032;  // deflate's best: 258 bytes from 2 bits
constexpr int kGzip = 16 + MAX_WBITS;          // tells zlib to expect gzip's header and checksum

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

struct ByteSource::Impl {
  std::string path;
  const char* reader = "";
  std::unique_ptr<std::FILE, CloseFile> file;
  std::uint64_t file_bytes = 0;
  bool gzipped = false;
  z_stream stream{};
  bool member_ended = false;  // of the gzip file; another may follow
  std::array<unsigned char, 1 << 16> packed{};

  std::size_t read_file(void* to, std::size_t bytes) {
    const std::size_t got = std::fread(to, 1, bytes, file.get());
    if (got < bytes && std::ferror(file.get()) != 0)
      fail<FileError>("[{}] cannot read '{}': {}.", reader, path, std::strerror(errno));
    return got;
  }

  // False at the end of the file.
  bool refill() {
    if (stream.avail_in > 0) return true;
    stream.next_in = packed.data();
    stream.avail_in = static_cast<uInt>(read_file(packed.data(), packed.size()));
    return stream.avail_in > 0;
  }

  std::size_t read_gzip(unsigned char* to, std::size_t bytes) {
    std::size_t done = 0;
    while (done < bytes) {
      if (!refill()) {
        BELFRY_CHECK_AS(FileError, member_ended,
                        "[{}] expected a complete gzip file, got the end of '{}' too early. It is truncated: fetch it "
                        "again.",
                        reader, path);
        break;
      }
      if (member_ended) {
        inflateReset(&stream);
        member_ended = false;
      }
      const std::size_t wanted = std::min<std::size_t>(bytes - done, 1u << 30);  // zlib counts in 32 bits
      stream.next_out = to + done;
      stream.avail_out = static_cast<uInt>(wanted);
      const int result = inflate(&stream, Z_NO_FLUSH);
      done += wanted - stream.avail_out;
      BELFRY_CHECK_AS(
          FileError, result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR,
          "[{}] expected gzip data, got something else in '{}' ({}). It is damaged, or has garbage at its end: "
          "fetch it again.",
          reader, path, stream.msg != nullptr ? stream.msg : "unknown");
      member_ended = result == Z_STREAM_END;
    }
    return done;
  }
};

ByteSource::ByteSource(const std::string& path, const char* reader) : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  impl_->reader = reader;
  // O_NONBLOCK: opening a pipe must not wait for its writer before we can say that it is not a regular file.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor >= 0) impl_->file.reset(::fdopen(descriptor, "rb"));
  if (impl_->file == nullptr) fail<FileError>("[{}] cannot open '{}': {}.", reader, path, std::strerror(errno));
  struct stat info{};
  const bool regular = fstat(fileno(impl_->file.get()), &info) == 0 && S_ISREG(info.st_mode);
  BELFRY_CHECK_AS(FileError, regular, "[{}] expected a regular file, got '{}', which is not one.", reader, path);
  impl_->file_bytes = static_cast<std::uint64_t>(info.st_size);
  unsigned char magic[2] = {0, 0};
  impl_->gzipped = impl_->read_file(magic, 2) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
  std::rewind(impl_->file.get());
  if (impl_->gzipped) {
    const int result = inflateInit2(&impl_->stream, kGzip);
    BELFRY_BUG_IF(result != Z_OK, "inflateInit2 gave {}", result);
  }
}

ByteSource::~ByteSource() {
  if (impl_->gzipped) inflateEnd(&impl_->stream);
}

bool ByteSource::gzipped() const { return impl_->gzipped; }

std::uint64_t ByteSource::max_bytes() const { return impl_->file_bytes * (impl_->gzipped ? kMaxInflation : 1); }

std::size_t ByteSource::read(void* to, std::size_t bytes) {
  return impl_->gzipped ? impl_->read_gzip(static_cast<unsigned char*>(to), bytes) : impl_->read_file(to, bytes);
}

void append_contents(std::string& to, const std::string& path, const char* reader, const UnpackLimit& limit) {
  BELFRY_CHECK(limit.bytes >= 1, "[{}] expected .max_unpacked_bytes of at least 1, got {}.", reader, limit.bytes);
  ByteSource file(path, reader);
  if (!file.gzipped()) to.reserve(to.size() + file.max_bytes());
  const std::size_t before = to.size();
  std::vector<char> piece(std::size_t{1} << 16);
  while (const std::size_t got = file.read(piece.data(), piece.size())) {
    const bool allowed = !file.gzipped() || to.size() - before + got <= static_cast<std::size_t>(limit.bytes);
    BELFRY_CHECK_AS(FileError, allowed, "[{}] expected at most {} bytes in '{}' when it is unpacked, got more. {}",
                    reader, limit.bytes, path, limit.remedy);
    to.append(piece.data(), got);
  }
}

bool ByteSource::skip(std::uint64_t bytes) {
  if (!impl_->gzipped) {
    std::FILE* file = impl_->file.get();
    const auto at = static_cast<std::uint64_t>(::ftello(file));
    return at <= impl_->file_bytes && bytes <= impl_->file_bytes - at &&
           ::fseeko(file, static_cast<off_t>(at + bytes), SEEK_SET) == 0;
  }
  std::array<unsigned char, 1 << 14> dropped;
  while (bytes > 0) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, dropped.size()));
    if (read(dropped.data(), wanted) < wanted) return false;
    bytes -= wanted;
  }
  return true;
}

}  // namespace belfry
