#include "tests/torture/checkpoints.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <system_error>

#include "belfry/base/error.h"
#include "belfry/base/log.h"
#include "tests/torture/campaigns.h"

namespace belfry::torture {

std::map<std::string, Array> values_of(std::int64_t step, std::int64_t elements) {
  const auto value = static_cast<double>(step);
  return {{"fc/W", Array::full(f32, {elements}, value)},
          {"fc/b", Array::full(f32, {10}, value)},
          {"global_step", Array::full(i64, {}, value)},
          {"on", Array::full(boolean, {3}, 1)}};
}

std::string mix_in(const Checkpoint& checkpoint) {
  const auto step = static_cast<double>(checkpoint.state.step);
  for (const char* name : {"fc/W", "fc/b", "global_step"}) {
    const auto at = checkpoint.tensors.find(name);
    if (at == checkpoint.tensors.end()) return fmt::format("'{}' has no {}", checkpoint.path, name);
    for (const std::int64_t index : {std::int64_t{0}, at->second.elements() - 1})
      if (at->second.item(index) != step)
        return fmt::format("'{}' has {} of step {} and a state of step {}", checkpoint.path, name,
                           at->second.item(index), step);
  }
  return "";
}

std::string loss_in(const std::string& directory, const std::string& index, std::int64_t acknowledged) try {
  const LogRedirect silent([](LogLevel, std::string_view) {}, LogLevel::error);
  const std::optional<Checkpoint> latest = load_latest_checkpoint(directory, index);
  if (!latest) return acknowledged == 0 ? "" : fmt::format("no checkpoint, after step {} was saved", acknowledged);
  if (latest->state.step < acknowledged)
    return fmt::format("the newest is of step {}, after step {} was saved", latest->state.step, acknowledged);
  return mix_in(*latest);
} catch (const Error& error) {
  return error.what();
}

FastDirectory::FastDirectory() {
  const char* memory = "/dev/shm";
  const std::filesystem::path place =
      ::access(memory, W_OK) == 0 ? std::filesystem::path(memory) : std::filesystem::temp_directory_path();
  path_ = (place / "belfry-torture-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr)
    throw FileError("[torture] expected to make a directory like '" + path_ + "'");
}

FastDirectory::~FastDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void report(const std::string& what) { std::cerr << what << std::endl; }

}  // namespace belfry::torture
