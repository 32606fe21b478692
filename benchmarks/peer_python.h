// Python programs that measure PyTorch for comparison.
#pragma once

#include <optional>
#include <string>

namespace belfry::bench {

// A Python that has torch: $PEER_PYTHON, the one of the environment belfry-peers, or the system's.
std::optional<std::string> python_with_torch();

// The last line that the program prints on stdout; empty if it fails. `arguments` are for a shell.
std::string last_line_of_python(const std::string& python, const std::string& script, const std::string& arguments);

}  // namespace belfry::bench
