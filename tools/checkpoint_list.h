// The checkpoints in a directory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace belfry::tools {

struct ListedCheckpoint {
  std::string name{};  // "model-1200"
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::uint64_t bytes = 0;
  std::string problem{};  // why it cannot be loaded; "": it is complete
};

// By step, then by name. Other safetensors files, such as exported models, are not checkpoints.
std::vector<ListedCheckpoint> checkpoints_in(const std::string& directory);

}  // namespace belfry::tools
