#include "belfry/session/internal/checkpoint_shards.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/session/internal/checkpoint_index.h"
#include "belfry/session/internal/safetensors_writer.h"

namespace belfry {
namespace {

using Values = std::map<std::string, Array>;

std::vector<Values> split(const Values& tensors, std::uint64_t most) {
  std::vector<Values> out(1);
  std::uint64_t bytes = 0;
  for (const auto& [name, array] : tensors) {
    if (!out.back().empty() && bytes + array.bytes() > most) {
      out.emplace_back();
      bytes = 0;
    }
    bytes += array.bytes();
    out.back().emplace_hint(out.back().end(), name, array);
  }
  return out;
}

// The first number that no shard of this checkpoint has in its name.
std::size_t free_copy(const std::vector<std::string>& there, const std::string& stem) {
  for (std::size_t copy = 0;; ++copy) {
    const std::string name = shard_name(stem, 1, 1, copy);
    const std::string front = name.substr(0, name.rfind("1-of-1"));
    if (std::ranges::none_of(there, [&](const std::string& n) { return n.starts_with(front); })) return copy;
  }
}

}  // namespace

Shards write_shards(const std::string& directory, const std::string& stem, const Values& tensors, std::uint64_t most) {
  const std::vector<Values> parts = split(tensors, most);
  const std::size_t copy = free_copy(shards_in_directory(directory, stem), stem);
  Shards out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string name = shard_name(stem, i + 1, parts.size(), copy);
    const SafetensorsWritten written = write_safetensors_file(path_in(directory, name), parts[i], {});
    out[name] = {.bytes = written.bytes, .checksum = written.checksum};
  }
  return out;
}

bool remove_shards(const std::string& directory, const std::string& stem, const std::vector<std::string>& except) {
  bool is_clean = true;
  for (const std::string& name : shards_in_directory(directory, stem)) {
    if (std::ranges::find(except, name) != except.end()) continue;
    const std::string path = path_in(directory, name);
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) continue;
    log_warning(fmt::format("[Saver] expected to remove the old file '{}', got: {}. A later save tries again.", path,
                            std::generic_category().message(errno)));
    is_clean = false;
  }
  return is_clean;
}

}  // namespace belfry
