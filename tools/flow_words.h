// The sources and stages that can be named on the command line.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "belfry/dataflow/flow.h"
#include "tools/calls.h"

namespace belfry::tools {

struct SourceWord {
  std::string name, usage, meaning;
  std::function<Flow(Call&)> make;
};
struct StageWord {
  std::string name, usage, meaning;
  std::function<FlowStage(Call&)> make;
};

const std::vector<SourceWord>& source_words();
const std::vector<StageWord>& stage_words();

}  // namespace belfry::tools
