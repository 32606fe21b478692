// belfry resume: the command that continues a run.
#pragma once

#include <string>
#include <vector>

#include "tools/run_record.h"

namespace belfry::tools {

struct ResumeOptions {
  std::string run{};
  bool execute = false;
  bool json = false;
};

// Prints the command, or becomes it. Throws Error, which says why, if the run cannot be continued this way; with
// `json`, the document says so and the result is 1. Otherwise 0.
int resume(const ResumeOptions& options);

// Why the command of this run, started again, would not continue it; "": it would.
std::string why_not_resumed(const RunRecord& run);

// As a POSIX shell reads it: quoted where that is necessary.
std::string shell_quoted(const std::string& word);
std::string shell_command(const RunRecord& run);  // with `cd`

}  // namespace belfry::tools
