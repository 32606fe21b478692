// Which of the values in a file or a dictionary go to which variables of a graph.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "belfry/session/checkpoint.h"
#include "belfry/session/session_init.h"

namespace belfry {

struct StoredValues {
  std::map<std::string, Array> values;
  std::optional<CheckpointState> state{};  // of a checkpoint
};

enum class Take : std::uint8_t { everything, model };

// The values paired with variables by name, and the report; nothing from the state. `caller` begins the texts.
InitPlan restore_plan(const std::string& caller, Session& session, const StoredValues& stored,
                      const RestoreOptions& options, Take take);

}  // namespace belfry
