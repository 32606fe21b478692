#include "tools/checkpoint_list.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "belfry/base/error.h"
#include "belfry/session/checkpoint.h"
#include "belfry/session/safetensors.h"

namespace belfry::tools {
namespace {

ListedCheckpoint listed(const belfry::ListedCheckpoint& found) {
  ListedCheckpoint out{.name = std::filesystem::path(found.path).stem().string(),
                       .step = found.step,
                       .bytes = found.bytes,
                       .problem = found.problem};
  std::error_code gone;
  if (out.bytes == 0) out.bytes = std::filesystem::file_size(found.path, gone);  // unknown of a damaged one
  if (gone) out.bytes = 0;
  if (!out.problem.empty()) return out;
  try {
    const auto state = checkpoint_state_in(list_safetensors(found.path).metadata, found.path);
    if (state) out.epoch = state->epoch;
  } catch (const Error& error) {
    out.problem = error.what();
  }
  return out;
}

}  // namespace

std::vector<ListedCheckpoint> checkpoints_in(const std::string& directory) {
  std::vector<ListedCheckpoint> out;
  for (const belfry::ListedCheckpoint& found : list_checkpoints(directory)) out.push_back(listed(found));
  std::ranges::sort(out, {}, [](const ListedCheckpoint& c) { return std::tie(c.step, c.name); });
  return out;
}

}  // namespace belfry::tools
