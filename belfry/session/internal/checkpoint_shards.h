// The values of a large checkpoint, in files of their own. For checkpoint_writer.cc.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "belfry/array/array.h"
#include "belfry/session/internal/checkpoint_files.h"

namespace belfry {

// Writes the tensors, in the order of their names, into files of at most `most` bytes of data (more only for one tensor
// that is larger). They have names that no file has yet: until the main file lists the new ones, a checkpoint of the
// same step that was saved before needs its own.
Shards write_shards(const std::string& directory, const std::string& stem, const std::map<std::string, Array>& tensors,
                    std::uint64_t most);

// Removes the checkpoint's shards except these. False if one is still there; a warning says why.
bool remove_shards(const std::string& directory, const std::string& stem, const std::vector<std::string>& except);

}  // namespace belfry
