#include "tools/average_weights.h"

#include <fmt/format.h>

#include <algorithm>

#include "belfry/array/internal/dispatch.h"
#include "belfry/base/check.h"
#include "belfry/base/internal/nearest.h"
#include "belfry/base/parallel.h"
#include "tools/command_line.h"
#include "tools/name_selection.h"
#include "tools/written_weights.h"

namespace belfry::tools {
namespace {

constexpr std::int64_t kGrain = 16384;

void check_same_tensors(const Weights& first, const Weights& other) {
  for (const auto& [name, array] : other.tensors)
    BELFRY_CHECK(first.tensors.contains(name),
                 "[average] expected the same tensors in all files, got '{}' in '{}' but not in '{}'.{}", name,
                 other.path, first.path, did_you_mean(name, names_of(first)));
  for (const auto& [name, array] : first.tensors) {
    const auto at = other.tensors.find(name);
    BELFRY_CHECK(at != other.tensors.end(),
                 "[average] expected the same tensors in all files, got '{}' in '{}' but not in '{}'.{}", name,
                 first.path, other.path, did_you_mean(name, names_of(other)));
    const Array& theirs = at->second;
    BELFRY_CHECK(array.dtype() == theirs.dtype() && array.shape() == theirs.shape(),
                 "[average] '{}': expected the same shape and dtype in all files, got {} {} in '{}' and {} {} in '{}'.",
                 name, belfry::name_of(array.dtype()), to_string(array.shape()), first.path,
                 belfry::name_of(theirs.dtype()), to_string(theirs.shape()), other.path);
  }
}

// mean_i = (sum over files of x_i) / files, added in f64 in the files' order
Array mean_of(const std::vector<const Array*>& arrays) {
  Array out(arrays[0]->dtype(), arrays[0]->shape());
  dispatch_float(out.dtype(), [&]<class T>() {
    const auto mean = out.values<T>();
    parallel_for(out.elements(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        double sum = 0;
        for (const Array* array : arrays) sum += static_cast<double>(static_cast<const T*>(array->raw())[i]);
        mean[i] = static_cast<T>(sum / static_cast<double>(arrays.size()));
      }
    });
  });
  return out;
}

}  // namespace

void average_weights(const AverageOptions& options) {
  if (options.inputs.size() < 2) throw BadArgument("FILE", "expected two files or more, got one");
  check_output(options.output.file, options.output.force);
  std::vector<Weights> inputs;
  for (const std::string& path : options.inputs) {
    inputs.push_back(read_weights(path));
    check_same_tensors(inputs.front(), inputs.back());
  }
  Weights out = inputs.back();  // the state too
  std::vector<std::string> notes;
  const TeamScope team(hardware_threads());
  for (auto& [name, result] : out.tensors) {
    std::vector<const Array*> arrays;
    for (const Weights& input : inputs) arrays.push_back(&input.tensors.at(name));
    if (is_float(result.dtype())) {
      result = mean_of(arrays);
    } else if (!std::ranges::all_of(arrays, [&](const Array* array) { return equal(*array, result); })) {
      notes.push_back(fmt::format("'{}' ({}) differs between the files: it is that of '{}'", name,
                                  belfry::name_of(result.dtype()), out.path));
    }
  }
  if (out.state) notes.push_back(fmt::format("the state of the run is that of '{}' ({})", out.path, state_text(out)));
  Json report;
  report["inputs"] = Json::array();
  for (const Weights& input : inputs) report["inputs"].push_back(input.path);
  write_and_report(out, options.output, std::move(notes), std::move(report));
}

}  // namespace belfry::tools
