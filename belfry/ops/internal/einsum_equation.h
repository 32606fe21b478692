// The equation of einsum(), read for given operands. Internal to ops.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "belfry/graph/tensor.h"

namespace belfry {

// One character per axis: a letter, or a digit for an axis under "...", the same one for axes that broadcast together.
struct EinsumEquation {
  std::vector<std::string> terms;
  std::string output;
};

// Checks the text, the operands' ranks and, as far as they are known, sizes. `line`: "(made at train.cc:42)".
EinsumEquation read_einsum(std::string_view equation, const Tensors& operands, const std::string& line);

inline bool is_einsum_letter(char label) { return label < '0' || label > '9'; }

}  // namespace belfry
