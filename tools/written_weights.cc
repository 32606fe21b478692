#include "tools/written_weights.h"

#include <fmt/format.h>

#include <filesystem>

#include "tools/text_table.h"

namespace belfry::tools {

void write_and_report(const Weights& weights, const OutputOptions& output, std::vector<std::string> notes,
                      Json report) {
  write_weights(output.file, weights, output.compress);
  if (weights.state && output.file.ends_with(".npz"))
    notes.push_back("an .npz holds the tensors only: step, epoch and the rest of the run's state are left out");
  const std::uint64_t bytes = std::filesystem::file_size(output.file);
  if (output.json) {
    report["output"] = output.file;
    report["tensors"] = weights.tensors.size();
    report["bytes"] = bytes;
    report["notes"] = notes;
    return print_json(report);
  }
  for (const std::string& note : notes) fmt::print(stderr, "note: {}\n", note);
  fmt::print("{}: {}, {}\n", output.file, count_text(std::ssize(weights.tensors), "tensor"), bytes_text(bytes));
}

}  // namespace belfry::tools
