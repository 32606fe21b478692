// The contents of a regular file, unpacked on the way if the file is gzipped. Internal to the readers of data files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#pragma GCC visibility push(default)
namespace belfry {

class ByteSource {
 public:
  // `reader` names who asks, in error texts. Throws FileError, as does read(), if the file cannot be read or trusted.
  ByteSource(const std::string& path, const char* reader);
  ~ByteSource();

  bool gzipped() const;
  // The contents are no longer than this, and exactly this long if the file is not gzipped. Known before reading, so
  // that a length claimed inside a file can be checked before memory is made for it.
  std::uint64_t max_bytes() const;
  // Fills `to`; fewer than `bytes` only at the end.
  std::size_t read(void* to, std::size_t bytes);
  // Skips this many bytes; in a gzipped file by unpacking them. False if the end comes first.
  bool skip(std::uint64_t bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The most that a gzipped file may unpack to by default: a small one can unpack to a thousand times its size.
inline constexpr std::int64_t kMaxUnpackedBytes = std::int64_t{4} << 30;

struct UnpackLimit {
  std::int64_t bytes = kMaxUnpackedBytes;  // at least 1
  const char* remedy = "If that is right, set .max_unpacked_bytes.";
};

// Appends all of a file's contents; memory grows with what is really there. FileError once a gzipped file has turned
// out longer than the limit; a plain one may have any length, which is plain to see.
void append_contents(std::string& to, const std::string& path, const char* reader, const UnpackLimit& limit);

}  // namespace belfry
#pragma GCC visibility pop
