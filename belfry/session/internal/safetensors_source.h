// A safetensors file that is open: its header is read and checked at once, its data only when they are asked for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "belfry/array/array.h"
#include "belfry/base/internal/regular_file.h"
#include "belfry/session/internal/safetensors_header.h"

namespace belfry {

class SafetensorsSource {
 public:
  // Throws FileError if the header says anything that is not so; the file's length is part of that.
  explicit SafetensorsSource(const std::string& path);

  const SafetensorsHeader& header() const { return header_; }  // its metadata without the checksums
  bool has_checksums() const { return !checksums_.empty(); }
  std::uint32_t checksum() const { return has_checksums() ? checksums_.front() : 0; }  // the header's
  std::uint64_t bytes() const { return file_.size(); }

  // All tensors, in one block of memory that they share. Throws FileError if one has not its checksum.
  std::map<std::string, Array> read() const;

 private:
  void check_layout() const;

  RegularFile file_;
  SafetensorsHeader header_;
  std::vector<std::uint32_t> checksums_;  // the header's and those of the tensors by name; empty if the file has none
  std::uint64_t data_begin_ = 0;
};

}  // namespace belfry
