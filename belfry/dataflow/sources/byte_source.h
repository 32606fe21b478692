// The contents of a regular file, unpacked on the way if the file is gzipped. Internal to the readers of data files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

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
  // Goes on so many bytes further; in a gzipped file by unpacking what lies between. False if the end comes first.
  bool skip(std::uint64_t bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Appends all of a file's contents; memory grows with what is really there.
void append_contents(std::string& to, const std::string& path, const char* reader);

}  // namespace belfry
