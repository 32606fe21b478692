#include "belfry/session/internal/checkpoint_files.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "belfry/array/internal/stored_array.h"
#include "belfry/base/check.h"
#include "belfry/base/internal/small_json.h"
#include "belfry/session/internal/checkpoint_index.h"
#include "belfry/session/internal/safetensors_source.h"

namespace belfry {
namespace {

constexpr std::string_view kShard = ".shard-", kOf = "-of-", kCopy = ".copy-";

// Takes a number off the end of `text`; false if there is none.
bool drop_number(std::string_view& text) {
  const std::size_t end = text.find_last_not_of("0123456789");
  const bool found = !text.empty() && end != text.size() - 1;
  if (found) text = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
  return found;
}

bool drop_end(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

std::string_view stem_of(const std::string& name) {
  std::string_view stem = name;
  drop_end(stem, checkpoint_file(""));
  return stem;
}

// A checkpoint's main file and its shards, open: headers checked, and each shard the one that was saved with it.
struct OpenCheckpoint {
  explicit OpenCheckpoint(const std::string& file) : main(file) {
    const auto& metadata = main.header().metadata;
    state = checkpoint_state_in(metadata, file);
    if (state) {
      const std::string& text = metadata.at(std::string(kCheckpointMetadata));
      BELFRY_CHECK_AS(FileError, main.has_checksums() || checkpoint_format(text, where_of_checkpoint(file)) < 2,
                      "{}: expected checksums, which checkpoints of format 2 have, got none. The file is damaged, or "
                      "another program has left out its metadata.",
                      where_of_checkpoint(file));
    }
    const auto listed = metadata.find(std::string(kShardsMetadata));
    if (listed == metadata.end()) return;
    const auto [directory, name] = directory_and_name(file);
    const std::string where = where_of_checkpoint(file) + ", its shards";
    for (const auto& [shard, facts] : shards_from_json(listed->second, stem_of(name), where)) {
      const SafetensorsSource& source = shards.emplace_back(path_in(directory, shard));
      BELFRY_CHECK_AS(FileError, source.bytes() == facts.bytes && source.checksum() == facts.checksum,
                      "{}: expected '{}' with {} bytes and the checksum {:08x}, got {} bytes and {:08x}. It is damaged "
                      "or of another save.",
                      where, shard, facts.bytes, facts.checksum, source.bytes(), source.checksum());
    }
  }

  SafetensorsSource main;
  std::vector<SafetensorsSource> shards;
  std::optional<CheckpointState> state;
};

void check_state(const std::optional<CheckpointState>& state, const std::string& file) {
  BELFRY_CHECK_AS(FileError, state.has_value(),
                  "{}: expected a checkpoint, got a safetensors file without its state. Is it an exported model? "
                  "read_safetensors() and SaverRestore read it.",
                  where_of_checkpoint(file));
}

}  // namespace

std::string where_of_checkpoint(const std::string& file) { return fmt::format("[checkpoint] '{}'", file); }

std::string shards_to_json(const Shards& shards, const std::string& where) {
  nlohmann::json bytes = nlohmann::json::object(), checksums = bytes;
  for (const auto& [name, shard] : shards) {
    bytes[name] = shard.bytes;
    checksums[name] = shard.checksum;
  }
  return small_json::format({{"bytes", bytes}, {"checksums", checksums}}, where);
}

Shards shards_from_json(std::string_view text, std::string_view stem, const std::string& where) {
  const nlohmann::json in = small_json::parse(text, where);
  const auto bytes = small_json::numbers(in, "bytes", where), checksums = small_json::numbers(in, "checksums", where);
  Shards out;
  for (const auto& [name, size] : bytes) {
    const auto checksum = checksums.find(name);
    const bool is_valid = stem_of_shard(name) == stem && checksum != checksums.end() &&
                          checksum->second <= std::numeric_limits<std::uint32_t>::max();
    BELFRY_CHECK_AS(FileError, is_valid && checksums.size() == bytes.size(),
                    "{}: expected files called '{}{}<n>{}<n>', each with its size and checksum, got {}. The file is "
                    "damaged, or was given another name.",
                    where, stem, kShard, kOf, in_quotes(name));
    out[name] = {.bytes = size, .checksum = static_cast<std::uint32_t>(checksum->second)};
  }
  return out;
}

std::string shard_name(std::string_view stem, std::size_t number, std::size_t count, std::size_t copy) {
  const std::string again = copy == 0 ? "" : fmt::format("{}{}", kCopy, copy);
  return checkpoint_file(fmt::format("{}{}{}{}{}{}", stem, again, kShard, number, kOf, count));
}

std::string_view stem_of_shard(std::string_view name) {
  const bool is_shard = drop_end(name, checkpoint_file("")) && drop_number(name) && drop_end(name, kOf) &&
                        drop_number(name) && drop_end(name, kShard) && name.find('/') == std::string_view::npos;
  if (!is_shard) return "";
  std::string_view stem = name;
  return drop_number(stem) && drop_end(stem, kCopy) ? stem : name;
}

std::vector<std::string> shards_in_directory(const std::string& directory, std::string_view stem) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    if (!stem.empty() && stem_of_shard(name) == stem) out.push_back(std::move(name));
  }
  return out;
}

SavedValues read_saved(const std::string& file) {
  OpenCheckpoint open(file);
  SavedValues out{.tensors = open.main.read(), .state = std::move(open.state), .path = file};
  for (const SafetensorsSource& shard : open.shards) {
    std::map<std::string, Array> more = shard.read();
    out.tensors.merge(more);
    BELFRY_CHECK_AS(FileError, more.empty(), "{}: expected every tensor in one of its files, got {} in two.",
                    where_of_checkpoint(file), in_quotes(more.begin()->first));
  }
  return out;
}

Checkpoint read_checkpoint(const std::string& file) {
  SavedValues saved = read_saved(file);
  check_state(saved.state, file);
  return {.tensors = std::move(saved.tensors), .state = *std::move(saved.state), .path = std::move(saved.path)};
}

std::uint64_t check_checkpoint(const std::string& file) {
  const OpenCheckpoint open(file);
  check_state(open.state, file);
  std::uint64_t bytes = open.main.bytes();
  for (const SafetensorsSource& shard : open.shards) bytes += shard.bytes();
  return bytes;
}

std::string reason_in(const FileError& error, const std::string& file) {
  const std::string text = error.what(), name = fmt::format("'{}'", file);
  const std::size_t at = text.find(name), start = at == std::string::npos ? at : at + name.size();
  for (const std::string_view mark : {": ", ", its "})
    if (start != std::string::npos && text.compare(start, mark.size(), mark) == 0) return text.substr(start + 2);
  return text;
}

Shards listed_shards(const std::string& file) try {
  const SafetensorsSource main(file);
  const auto at = main.header().metadata.find(std::string(kShardsMetadata));
  if (at == main.header().metadata.end()) return {};
  const std::string name = directory_and_name(file).second;
  return shards_from_json(at->second, stem_of(name), where_of_checkpoint(file));
} catch (const FileError&) {
  return {};
}

}  // namespace belfry
