#include "tools/list_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "tools/json_output.h"
#include "tools/name_selection.h"
#include "tools/statistics.h"
#include "tools/text_table.h"
#include "tools/weights.h"

namespace belfry::tools {
namespace {

struct Row {
  const std::string* name = nullptr;
  const Array* array = nullptr;
  std::optional<bool> of_model{};
  std::optional<Statistics> statistics{};
};

std::vector<Row> rows_of(const Weights& weights, const ListOptions& options) {
  std::map<std::string, Statistics> statistics;
  if (!options.no_statistics) statistics = statistics_of(weights.tensors);
  std::vector<Row> rows;
  for (const auto& [name, array] : weights.tensors) {
    Row row{.name = &name, .array = &array};
    if (weights.state && !weights.state->model.empty())
      row.of_model = std::ranges::count(weights.state->model, name) > 0;
    if (!options.no_statistics) row.statistics = statistics.at(name);
    rows.push_back(std::move(row));
  }
  if (options.sort == "bytes")
    std::ranges::sort(rows, {}, [](const Row& row) {  // the largest first
      return std::pair(-static_cast<std::int64_t>(row.array->bytes()), std::string_view(*row.name));
    });
  return rows;
}

std::pair<std::int64_t, std::uint64_t> elements_and_bytes(const std::vector<Row>& rows) {
  std::pair<std::int64_t, std::uint64_t> out;
  for (const Row& row : rows) {
    out.first += row.array->elements();
    out.second += row.array->bytes();
  }
  return out;
}

std::string notes_of(const Row& row) {
  std::string out;
  const auto note = [&](std::int64_t count, const char* what) {
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, what);
  };
  if (row.statistics) {
    note(row.statistics->nans, "NaN");
    note(row.statistics->infinities, "infinite");
    note(row.statistics->zeros, "zero");
  }
  return out;
}

void print_head(const Weights& weights) {
  fmt::print("{}: {}", weights.path, name_of(weights.kind));
  if (!weights.state) return fmt::print("\n");
  fmt::print(", {}\n", state_text(weights));
  for (const auto& [part, version] : weights.state->versions) fmt::print("  {} {}\n", part, version);
}

void print_table(const std::vector<Row>& rows, bool with_statistics) {
  std::vector<std::vector<std::string>> table{{"name", "dtype", "shape", "bytes"}};
  using enum Align;
  std::vector<Align> columns{left, left, left, right, right, right, right, right, left};
  if (with_statistics) table[0].insert(table[0].end(), {"min", "max", "mean", "std", "of them"});
  for (const Row& row : rows) {
    std::vector<std::string> line{*row.name, std::string(belfry::name_of(row.array->dtype())),
                                  to_string(row.array->shape()), std::to_string(row.array->bytes())};
    if (const auto& s = row.statistics)
      line.insert(line.end(), {number_text(s->min), number_text(s->max), number_text(s->mean),
                               number_text(s->standard_deviation()), notes_of(row)});
    table.push_back(std::move(line));
  }
  fmt::print("{}", text_table(columns, table));
}

Json json_of(const Row& row) {
  Json out{{"name", *row.name}, {"dtype", belfry::name_of(row.array->dtype())}};
  out["shape"] = Json::array();
  for (int axis = 0; axis < row.array->shape().rank(); ++axis) out["shape"].push_back(row.array->shape()[axis]);
  out["bytes"] = row.array->bytes();
  if (row.of_model) out["model"] = *row.of_model;
  if (const auto& s = row.statistics)
    out["statistics"] = {{"min", json_number(s->min)},
                         {"max", json_number(s->max)},
                         {"mean", json_number(s->mean)},
                         {"std", json_number(s->standard_deviation())},
                         {"nan", s->nans},
                         {"inf", s->infinities},
                         {"zero", s->zeros}};
  return out;
}

void print_as_json(const Weights& weights, const std::vector<Row>& rows) {
  Json out{{"file", weights.path}, {"kind", name_of(weights.kind)}};
  if (const auto& state = weights.state) {
    out["step"] = state->step;
    out["epoch"] = state->epoch;
    out["versions"] = state->versions;
  }
  out["tensors"] = Json::array();
  for (const Row& row : rows) out["tensors"].push_back(json_of(row));
  const auto [elements, bytes] = elements_and_bytes(rows);
  out["total"] = {{"tensors", rows.size()}, {"elements", elements}, {"bytes", bytes}};
  print_json(out);
}

}  // namespace

void list_weights(const ListOptions& options) {
  Weights weights = read_weights(options.file);
  if (!options.match.empty()) keep_matching(weights, options.match);
  const std::vector<Row> rows = rows_of(weights, options);
  if (options.json) return print_as_json(weights, rows);
  print_head(weights);
  print_table(rows, !options.no_statistics);
  const auto [elements, bytes] = elements_and_bytes(rows);
  fmt::print("{}, {}, {}\n", count_text(std::ssize(rows), "tensor"), count_text(elements, "element"),
             bytes_text(bytes));
}

}  // namespace belfry::tools
