// The end of every subcommand that writes a file of tensors.
#pragma once

#include <string>
#include <vector>

#include "tools/change_weights.h"
#include "tools/json_output.h"
#include "tools/weights.h"

namespace belfry::tools {

// Writes the file and reports it on stdout: a line, or `report` with what was written added to it. `notes` tell what
// may surprise: lines on stderr, or a list in the report.
void write_and_report(const Weights& weights, const OutputOptions& output, std::vector<std::string> notes, Json report);

}  // namespace belfry::tools
