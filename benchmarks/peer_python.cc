#include "benchmarks/peer_python.h"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>

namespace belfry::bench {

std::optional<std::string> python_with_torch() {
  const char *chosen = std::getenv("PEER_PYTHON"), *home = std::getenv("HOME");
  const std::string candidates[] = {chosen != nullptr ? chosen : "",
                                    fmt::format("{}/.cache/belfry-peers/bin/python3", home != nullptr ? home : ""),
                                    "/usr/bin/python3"};
  for (const std::string& python : candidates)
    if (!python.empty() && std::system(fmt::format("'{}' -c 'import torch' >/dev/null 2>&1", python).c_str()) == 0)
      return python;
  return std::nullopt;
}

std::string last_line_of_python(const std::string& python, const std::string& script, const std::string& arguments) {
  FILE* printed = popen(fmt::format("'{}' '{}' {} 2>/dev/null", python, script, arguments).c_str(), "r");
  if (printed == nullptr) return "";
  std::string text;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, printed) != nullptr) text += buffer;
  if (pclose(printed) != 0) return "";
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace belfry::bench
