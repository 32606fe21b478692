// What the fuzz targets share. A target is `extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t)`:
// whatever the bytes are, a parser reads them or throws Error; anything else ends the process, and is a bug.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "belfry/array/array.h"
#include "belfry/base/error.h"
#include "belfry/dataflow/flow.h"
#include "tools/scratch_directory.h"

namespace belfry::fuzzing {

// An InternalError is our own mistake, not a valid answer to a bad file: it is not caught, and ends the process.
template <class Read>
int refused_or_read(Read&& read) {
  try {
    read();
  } catch (const InternalError&) {
    throw;
  } catch (const Error&) {
  }
  return 0;
}

inline void require(bool condition) {
  if (!condition) std::abort();
}

// So much may come of a gzipped input: unpacking gigabytes would be all of a fuzzer's time.
inline constexpr std::int64_t kMaxUnpacked = 1 << 20;

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// A file that is only in memory, for readers that take a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    require(descriptor_ >= 0);
    replace(bytes);
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  void replace(std::string_view bytes) {
    require(::ftruncate(descriptor_, 0) == 0);
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t written = ::pwrite(descriptor_, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
      require(written > 0);
      at += static_cast<std::size_t>(written);
    }
  }

 private:
  int descriptor_;
};

// A folder with one such file, for readers that look for it by its name. Keep it from input to input: making a folder
// takes far longer than reading a small file.
class MemoryFolder {
 public:
  explicit MemoryFolder(const std::string& name) : file_("") {
    require(::symlink(file_.path().c_str(), (path() + "/" + name).c_str()) == 0);
  }

  const std::string& path() const { return folder_.path(); }
  MemoryFile& file() { return file_; }

 private:
  MemoryFile file_;
  tools::ScratchDirectory folder_;
};

// Reads every byte, so that a sanitizer sees an array that points outside of its memory.
inline void touch(const Array& array) {
  unsigned sum = 0;
  for (const std::byte b : std::span(static_cast<const std::byte*>(array.raw()), array.bytes()))
    sum += std::to_integer<unsigned>(b);
  volatile unsigned keep = sum;  // the loop is not to be optimised away
  static_cast<void>(keep);
}

inline void touch(const DataPoint& point) {
  for (const Array& component : point) touch(component);
}

// The points of a pass, and what must hold for a flow with a size.
inline void touch(Flow flow) {
  std::int64_t count = 0;
  for (; const std::optional<DataPoint> point = flow.next(); ++count) touch(*point);
  require(!flow.size() || *flow.size() == count);
}

}  // namespace belfry::fuzzing
