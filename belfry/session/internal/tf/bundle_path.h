// Where the files of a checkpoint of TensorFlow are.
#pragma once

#include <cstdint>
#include <string>

namespace belfry {

// The prefix of the files: of PREFIX, PREFIX.index, PREFIX.meta, PREFIX.data-00000-of-00001; of a directory, or its
// file "checkpoint", the latest one that this file names. PREFIX.index exists. Throws FileError, with its own text for
// files of the older format.
std::string bundle_prefix(const std::string& path);

std::string bundle_index_path(const std::string& prefix);
std::string bundle_data_path(const std::string& prefix, std::uint64_t file, std::uint64_t files);

}  // namespace belfry
