// Just enough of the zip format for .npz: entries stored or deflated, of any size (zip64), one disk, no encryption.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/base/file.h"

namespace belfry {

struct ZipEntry {
  std::string name;
  bool deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t size = 0;           // uncompressed, as declared; possible for this much data
  std::span<const std::byte> data;  // as stored in the file
};

// The entries of an archive in memory, in the order of its directory. All of them lie inside `file`, none overlap, and
// no two share a name. Throws FileError; `path` is for its texts.
std::vector<ZipEntry> zip_entries(std::span<const std::byte> file, const std::string& path);

// Reads one entry from its beginning to its end. Throws FileError, with `where` in front, when the data end early, are
// damaged, or do not match size and checksum.
class ZipStream {
 public:
  ZipStream(const ZipEntry& entry, std::string where);  // borrows the entry
  ~ZipStream();
  ZipStream(const ZipStream&) = delete;
  ZipStream& operator=(const ZipStream&) = delete;

  void read(std::span<std::byte> to);  // fills all of it
  void finish();                       // everything was read: is that really the end, and is the checksum right?

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Writes through an AtomicFile. Equal content gives equal bytes.
class ZipWriter {
 public:
  // Numbers from `zip64_from` on are written as zip64 has it; only tests have reason to choose it.
  explicit ZipWriter(const std::string& path, bool deflate = false, std::uint64_t zip64_from = 0xffffffff);

  // An entry whose content is `front` followed by `body`.
  void add(const std::string& name, std::string_view front, std::span<const std::byte> body);
  void commit();

 private:
  struct Record;
  void write_headers(const Record& record);
  std::string end64() const;

  std::string path_;
  AtomicFile file_;
  bool deflate_;
  std::uint64_t zip64_from_;
  std::string directory_;
  std::uint64_t entries_ = 0;
};

}  // namespace belfry
