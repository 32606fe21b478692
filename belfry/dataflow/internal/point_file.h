// A file of points with random access: what cache_on_disk() writes.
//
//   "BELFRYC1"  the points, each as encoding.h has it
//   u64 where each point begins [count]   u32 its CRC-32 [count]   a text that says whose points they are
//   u64 count   u64 where the index begins   u64 bytes of the text   u32 CRC-32 from the index to here   "CEND"
//
// Numbers are little-endian. What describes the points comes after them, so that a file can be written in one go.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "belfry/base/file.h"
#include "belfry/dataflow/dataflow.h"

namespace belfry {

class PointFileWriter {
 public:
  explicit PointFileWriter(const std::string& path);
  void add(const DataPoint& point);
  void commit(const std::string& text);  // nothing is at `path` before

  std::int64_t count() const { return static_cast<std::int64_t>(offsets_.size()); }

 private:
  AtomicFile file_;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint32_t> checksums_;
};

// Throws FileError if the file is not what a PointFileWriter wrote; what concerns one point when that is read.
class PointFile {
 public:
  explicit PointFile(const std::string& path);
  const std::string& text() const { return text_; }
  std::int64_t count() const { return static_cast<std::int64_t>(count_); }
  DataPoint at(std::int64_t index) const;  // from any thread

 private:
  std::uint64_t offset(std::uint64_t index) const;

  const std::string path_;
  const MappedFile file_;
  std::uint64_t count_ = 0, index_at_ = 0;
  std::string text_;
};

}  // namespace belfry
