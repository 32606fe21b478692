// Which checkpoints of a saver a directory holds, also where its index is missing, damaged or behind.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace belfry {

// Names without extension, oldest first. Only `listed` and `removing` may lack a file.
struct CheckpointsFound {
  bool has_index = false;              // one that can be read
  std::vector<std::string> listed;     // the index keeps them
  std::vector<std::string> unlisted;   // the index does not know them: saved since it was written, or there is none
  std::vector<std::string> strangers;  // it does not know them, and they are older than it: not its saver's
  std::vector<std::string> removing;   // the index gives them up
};

// A damaged index is a warning, as if there were none. `prefix`: of the saver; if "", what the index's names or its own
// name say.
CheckpointsFound find_checkpoints(const std::string& directory, const std::string& index, std::string_view prefix = "");

}  // namespace belfry
