// A regular file, read where its reader likes. For sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "belfry/base/internal/descriptor.h"

#pragma GCC visibility push(default)
namespace belfry {

// Throws unless it is a regular file.
std::uint64_t size_of_regular(const Descriptor& file, const std::string& path);

class RegularFile {
 public:
  explicit RegularFile(const std::string& path);

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }  // when it was opened

  // Fills all of `to`, or throws FileError. Large pieces go straight to their place.
  void read(std::uint64_t offset, std::span<std::byte> to) const;
  // These bytes will be read soon: the disk may begin while the caller does something else.
  void fetch(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  std::string path_;
  Descriptor file_;
  std::uint64_t size_;
};

}  // namespace belfry
#pragma GCC visibility pop
