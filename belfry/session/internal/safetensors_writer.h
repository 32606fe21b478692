// Writing a safetensors file, for those who have to know what was written.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "belfry/array/array.h"

namespace belfry {

struct SafetensorsWritten {
  std::uint64_t bytes = 0;     // of the file
  std::uint32_t checksum = 0;  // of its header, and so of all: the header has the checksums of the data
};

// What write_safetensors() does.
SafetensorsWritten write_safetensors_file(const std::string& path, const std::map<std::string, Array>& tensors,
                                          const std::map<std::string, std::string>& metadata);

}  // namespace belfry
