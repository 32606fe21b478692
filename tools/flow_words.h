// The sources and stages that can be named on the command line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "belfry/dataflow/flow.h"
#include "tools/calls.h"

namespace belfry::tools {

template <class Made>
struct Word {
  std::vector<std::string> names;  // the word and, if different, the name of the library's function
  std::string usage, meaning;
  std::function<Made(Call&)> make;
};
using SourceWord = Word<Flow>;
using StageWord = Word<FlowStage>;

const std::vector<SourceWord>& source_words();
const std::vector<StageWord>& stage_words();
// The stage_words() that change images, and those of them that need the part images: none in a build without it.
std::vector<StageWord> image_stage_words();
std::vector<StageWord> opencv_stage_words();

inline std::uint64_t seed_of(Call& call) { return static_cast<std::uint64_t>(call.whole_or("seed", 0)); }

}  // namespace belfry::tools
