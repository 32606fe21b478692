#include "tools/change_weights.h"

#include <fmt/format.h>

#include "tools/command_line.h"
#include "tools/name_selection.h"
#include "tools/text_table.h"
#include "tools/written_weights.h"

namespace belfry::tools {
namespace {

// A dry run needs no output.
void check_output_of(const OutputOptions& output, bool dry_run) {
  if (dry_run) return;
  if (output.file.empty())
    throw BadArgument("-o", "expected a file to write, got none; --dry-run only shows the names");
  check_output(output.file, output.force);
}

}  // namespace

void convert_weights(const ConvertOptions& options) {
  check_output(options.output.file, options.output.force);
  const Weights input = read_weights(options.input);
  const Weights written = options.model_only ? model_of(input) : input;
  write_and_report(written, options.output, {},
                   {{"input", input.path}, {"left_out", input.tensors.size() - written.tensors.size()}});
}

void rename_weights(const RenameOptions& options) {
  std::vector<Renaming> renamings;
  for (const std::string& text : options.expressions) renamings.push_back(parse_renaming(text));
  check_output_of(options.output, options.dry_run);
  Weights weights = read_weights(options.input);
  const auto changed = rename(weights, renamings);
  if (!options.output.json) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& [old, name] : changed) rows.push_back({old, "->", name});
    fmt::print("{}", text_table({Align::left, Align::left, Align::left}, rows));
    if (rows.empty()) fmt::print("no name changes\n");
  }
  const Json report{{"input", weights.path}, {"renamed", changed}};
  if (!options.dry_run) return write_and_report(weights, options.output, {}, report);
  if (options.output.json) print_json(report);
}

void drop_weights(const DropOptions& options) {
  check_output_of(options.output, options.dry_run);
  Weights weights = read_weights(options.input);
  const std::vector<std::string> dropped = drop_matching(weights, options.expressions);
  if (!options.output.json) {
    fmt::print("left out:\n");
    for (const std::string& name : dropped) fmt::print("  {}\n", name);
  }
  const Json report{{"input", weights.path}, {"dropped", dropped}};
  if (!options.dry_run) return write_and_report(weights, options.output, {}, report);
  if (options.output.json) print_json(report);
}

}  // namespace belfry::tools
