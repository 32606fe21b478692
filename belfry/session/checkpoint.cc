#include "belfry/session/checkpoint.h"

#include "belfry/base/check.h"
#include "belfry/base/internal/small_json.h"
#include "belfry/session/internal/checkpoint_files.h"

namespace belfry {
namespace {

constexpr std::uint64_t kFormat = 2;  // 1: without checksums, which the files of 2 must have
constexpr std::string_view kExtension = ".safetensors";

}  // namespace

std::string to_json(const CheckpointState& state, const std::string& where) {
  BELFRY_CHECK_AS(FileError, state.step >= 0 && state.epoch >= 0,
                  "{}: expected a step and an epoch of 0 or more, got {} and {}.", where, state.step, state.epoch);
  nlohmann::json out{{"format", kFormat},
                     {"step", static_cast<std::uint64_t>(state.step)},
                     {"epoch", static_cast<std::uint64_t>(state.epoch)},
                     {"seeds", state.seeds},
                     {"random_counter", state.random_counter},
                     {"versions", state.versions},
                     {"user", state.user}};
  if (!state.algorithms.empty()) out["algorithms"] = state.algorithms;
  if (!state.model.empty()) out["model"] = state.model;
  return small_json::format(out, where);
}

std::uint64_t checkpoint_format(std::string_view text, const std::string& where) {
  return small_json::number(small_json::parse(text, where), "format", where);
}

CheckpointState checkpoint_state_from_json(std::string_view text, const std::string& where) {
  const nlohmann::json in = small_json::parse(text, where);
  const std::uint64_t format = small_json::number(in, "format", where);
  BELFRY_CHECK_AS(NewerCheckpoint, format <= kFormat,
                  "{}: expected a state of format {} or below, got format {}. Read it with the version of Belfry that "
                  "wrote it.",
                  where, kFormat, format);
  return {.step = small_json::signed_number(in, "step", where),
          .epoch = small_json::signed_number(in, "epoch", where),
          .seeds = small_json::numbers(in, "seeds", where),
          .random_counter = small_json::number(in, "random_counter", where),
          .versions = small_json::texts(in, "versions", where),
          // Only autotune makes any, and states written before it existed do not have them.
          .algorithms = in.contains("algorithms") ? small_json::texts(in, "algorithms", where)
                                                  : std::map<std::string, std::string>(),
          // States written before the model was told apart do not have it.
          .model = in.contains("model") ? small_json::strings(in, "model", where) : std::vector<std::string>(),
          .user = small_json::texts(in, "user", where)};
}

std::string checkpoint_file(const std::string& path) {
  return path.ends_with(kExtension) ? path : path + std::string(kExtension);
}

std::optional<CheckpointState> checkpoint_state_in(const std::map<std::string, std::string>& metadata,
                                                   const std::string& path) {
  const auto at = metadata.find(std::string(kCheckpointMetadata));
  if (at == metadata.end()) return std::nullopt;
  return checkpoint_state_from_json(at->second, where_of_checkpoint(path) + ", its state");
}

}  // namespace belfry
