#include "tools/checkpoint_list.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <tuple>

#include "belfry/base/error.h"
#include "belfry/session/checkpoint.h"

namespace belfry::tools {
namespace {

namespace fs = std::filesystem;

// 1200 for "model-1200"; a part of a checkpoint, "model-1200.shard-1-of-3", is none.
std::optional<std::int64_t> step_in(const std::string& name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string::npos || dash == 0 || name.find(".shard-") != std::string::npos) return std::nullopt;
  std::int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + dash + 1, end, step);
  if (error != std::errc() || stop != end || step < 0) return std::nullopt;
  return step;
}

ListedCheckpoint listed(const fs::path& file, std::int64_t step) {
  std::error_code ignored;
  ListedCheckpoint out{.name = file.stem().string(), .step = step, .bytes = fs::file_size(file, ignored)};
  try {
    out.epoch = load_checkpoint(file.string()).state.epoch;
  } catch (const Error& error) {
    out.problem = error.what();
  }
  return out;
}

}  // namespace

std::vector<ListedCheckpoint> checkpoints_in(const std::string& directory) {
  std::vector<ListedCheckpoint> out;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".safetensors") continue;
    if (const auto step = step_in(at->path().stem().string())) out.push_back(listed(at->path(), *step));
  }
  std::ranges::sort(out, {}, [](const ListedCheckpoint& c) { return std::tie(c.step, c.name); });
  return out;
}

}  // namespace belfry::tools
