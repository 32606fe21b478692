// What an earlier run left in the directory of a new one is kept, not overwritten.
#pragma once

#include <string>
#include <vector>

namespace belfry {

// Moves checkpoints with any prefix, their indexes, stats.json (with its .old) and files that match one of `patterns`
// from `directory` to `directory`/previous-<n>, n one more than the largest there, and returns that path; "" if there
// is nothing to move. Each file is moved by one rename, and the directory gets its final name when all are there: the
// next call completes an interrupted move. Everything else stays. Throws FileError; then each file is in one of the two
// places.
std::string move_previous_run(const std::string& directory, const std::vector<std::string>& patterns = {});

}  // namespace belfry
