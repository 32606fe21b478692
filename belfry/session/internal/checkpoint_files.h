// The files of one checkpoint: reading them, and what is wrong with them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/base/error.h"
#include "belfry/session/checkpoint.h"

namespace belfry {

// Written by a newer version: nothing is damaged, so no older one must silently take its place.
class NewerCheckpoint : public FileError {
 public:
  using FileError::FileError;
};

struct Shard {
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;  // of its header
};
using Shards = std::map<std::string, Shard>;  // by the file's name

inline constexpr std::string_view kShardsMetadata = "belfry_shards";

// The metadata's text, and back. Names are those of shards of `stem` ("model-1200") only. Both throw FileError.
std::string shards_to_json(const Shards& shards, const std::string& where);
Shards shards_from_json(std::string_view text, std::string_view stem, const std::string& where);

// "model-1200.shard-1-of-3.safetensors"; with `copy` above 0, "model-1200.copy-1.shard-1-of-3.safetensors".
std::string shard_name(std::string_view stem, std::size_t number, std::size_t count, std::size_t copy);
// "model-1200" of such a name; "" of any other.
std::string_view stem_of_shard(std::string_view name);
std::vector<std::string> shards_in_directory(const std::string& directory, std::string_view stem);

// The values and, if it has one, the state; all of it is read and checked. Throws FileError.
SavedValues read_saved(const std::string& file);
// A checkpoint: with a state.
Checkpoint read_checkpoint(const std::string& file);

// Everything but the values: sizes, headers, the state. Throws FileError. Returns the bytes of all its files.
std::uint64_t check_checkpoint(const std::string& file);
std::string where_of_checkpoint(const std::string& file);  // begins texts about it
// What a FileError about this file says, without the file's name in front.
std::string reason_in(const FileError& error, const std::string& file);
// The shards that the file lists; none if it cannot be read.
Shards listed_shards(const std::string& file);

std::uint64_t checkpoint_format(std::string_view state, const std::string& where);

}  // namespace belfry
