#include "tools/summary.h"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "belfry/base/check.h"
#include "tools/checkpoint_list.h"
#include "tools/json_output.h"
#include "tools/metric_summary.h"
#include "tools/resume.h"
#include "tools/run_record.h"
#include "tools/text_table.h"

namespace belfry::tools {
namespace {

namespace fs = std::filesystem;

struct RunSummary {
  std::string directory{};
  std::vector<RunRecord> runs{};
  std::vector<MetricSummary> metrics{};
  std::optional<StatsPoint> last{};  // epoch and step of the last line of numbers
  std::vector<ListedCheckpoint> checkpoints{};
  std::uint64_t files = 0, bytes = 0;
};

void add_disk_use(RunSummary& out) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(out.directory, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;  // a run may remove files meanwhile
    if (!at->is_regular_file(gone) || gone) continue;
    const std::uint64_t bytes = at->file_size(gone);
    if (gone) continue;
    ++out.files;
    out.bytes += bytes;
  }
}

RunSummary read_summary(const std::string& directory) {
  BELFRY_CHECK_AS(FileError, fs::is_directory(directory), "[summary] expected the directory of a run, got '{}'.",
                  directory);
  RunSummary out{.directory = directory, .runs = read_run_records(directory)};
  if (fs::exists(stats_file_of(directory))) {
    const RunStats stats = read_run_stats(directory);
    out.metrics = summarized(stats);
    for (const MetricSummary& metric : out.metrics)
      if (!out.last || metric.last.step > out.last->step) out.last = metric.last;
  }
  out.checkpoints = checkpoints_in(directory);
  add_disk_use(out);
  BELFRY_CHECK_AS(FileError, !out.runs.empty() || out.last || !out.checkpoints.empty(),
                  "[summary] expected the directory of a run, got '{}', which has no run.json, no stats.json and no "
                  "checkpoints.",
                  directory);
  return out;
}

std::string state_text(const RunRecord& run) {
  std::string out = name_of(run.state);
  if (run.signal != 0) out += fmt::format(" by signal {}", run.signal);
  if (!run.reason.empty()) out += ": " + run.reason;
  if (run.state == RunRecord::State::running) out += fmt::format(", process {} on {}", run.process, run.host);
  return out;
}

struct Position {
  std::optional<std::int64_t> epoch{}, step{};
};

// The furthest that is known: run.json says where a run began until it has ended.
Position position_of(const RunSummary& summary) {
  Position out;
  const auto reach = [&](std::int64_t epoch, std::int64_t step) {
    if (!out.step || step > *out.step) out = {epoch, step};
  };
  if (!summary.runs.empty() && summary.runs.back().step)
    reach(summary.runs.back().epoch.value_or(0), *summary.runs.back().step);
  if (summary.last) reach(summary.last->epoch, summary.last->step);
  for (const ListedCheckpoint& c : summary.checkpoints)
    if (c.problem.empty()) reach(c.epoch, c.step);
  return out;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

void print_run(const RunSummary& summary) {
  std::vector<std::vector<std::string>> rows;
  const auto row = [&](const char* what, const std::string& text) {
    if (!text.empty()) rows.push_back({what, text});
  };
  if (summary.runs.empty()) {
    row("run", "unknown: there is no run.json");
  } else {
    const RunRecord& run = summary.runs.back();
    std::vector<std::string> versions, words;
    for (const auto& [part, version] : run.versions) versions.push_back(part + " " + version);
    for (const std::string& word : run.command) words.push_back(shell_quoted(word));
    row("program", run.program);
    row("state", state_text(run));
    row("command", fmt::format("{}", fmt::join(words, " ")));
    row("directory", run.directory);
    row("began", run.began);
    row("ended", run.ended);
    if (!run.from_checkpoint.empty())
      row("continued",
          run.from_step ? fmt::format("{} (step {})", run.from_checkpoint, *run.from_step) : run.from_checkpoint);
    if (summary.runs.size() > 1) row("runs", std::to_string(summary.runs.size()));
    row("versions", joined(versions));
    row("devices", joined(run.devices));
    if (run.seed) row("seed", std::to_string(*run.seed));
  }
  if (const auto [epoch, step] = position_of(summary); step) {
    row("epoch", std::to_string(*epoch));
    row("step", std::to_string(*step));
  }
  fmt::print("{}\n{}", summary.directory, text_table({Align::left, Align::left}, rows, "  "));
}

void print_metrics(const std::vector<MetricSummary>& metrics) {
  if (metrics.empty()) return;
  std::vector<std::vector<std::string>> rows{{"metric", "last", "best", "in epoch", ""}};
  for (const MetricSummary& m : metrics) {
    std::vector<std::string> line{m.name, number_text(m.last.value)};
    if (m.best)
      line.insert(line.end(), {number_text(m.best->value), std::to_string(m.best->epoch),
                               m.higher_is_better ? "highest" : "lowest"});
    rows.push_back(std::move(line));
  }
  using enum Align;
  fmt::print("\n{}", text_table({left, right, right, right, left}, rows));
}

void print_checkpoints(const std::vector<ListedCheckpoint>& checkpoints) {
  if (checkpoints.empty()) return fmt::print("\nno checkpoints\n");
  std::vector<std::vector<std::string>> rows{{"checkpoint", "step", "epoch", "size", ""}};
  for (const ListedCheckpoint& c : checkpoints)
    rows.push_back({c.name, std::to_string(c.step), c.problem.empty() ? std::to_string(c.epoch) : "?",
                    bytes_text(c.bytes), c.problem.empty() ? "complete" : "damaged: " + c.problem});
  using enum Align;
  fmt::print("\n{}", text_table({left, right, right, right, left}, rows));
}

Json json_of(const RunRecord& run) {
  Json out{{"program", run.program},     {"state", name_of(run.state)}, {"command", run.command},
           {"directory", run.directory}, {"versions", run.versions},    {"devices", run.devices}};
  const auto text = [&](const char* field, const std::string& value) {
    if (!value.empty()) out[field] = value;
  };
  const auto number = [&](const char* field, const auto& value) {
    if (value) out[field] = *value;
  };
  text("reason", run.reason);
  if (run.signal != 0) out["signal"] = run.signal;
  text("began", run.began);
  text("ended", run.ended);
  number("seed", run.seed);
  number("epoch", run.epoch);
  number("step", run.step);
  if (!run.from_checkpoint.empty()) {
    out["from"] = {{"checkpoint", run.from_checkpoint}};
    if (run.from_step) out["from"]["step"] = *run.from_step;
  }
  return out;
}

Json json_of(const StatsPoint& point) {
  return {{"value", json_number(point.value)}, {"epoch", point.epoch}, {"step", point.step}};
}

void print_as_json(const RunSummary& summary) {
  Json out{{"directory", summary.directory}};
  if (const auto [epoch, step] = position_of(summary); step) {
    out["epoch"] = *epoch;
    out["step"] = *step;
  }
  for (const char* list : {"runs", "metrics", "checkpoints"}) out[list] = Json::array();
  for (const RunRecord& run : summary.runs) out["runs"].push_back(json_of(run));
  for (const MetricSummary& metric : summary.metrics) {
    Json entry{{"name", metric.name},
               {"better", metric.higher_is_better ? "higher" : "lower"},
               {"last", json_of(metric.last)}};
    if (metric.best) entry["best"] = json_of(*metric.best);
    out["metrics"].push_back(std::move(entry));
  }
  for (const ListedCheckpoint& c : summary.checkpoints) {
    Json entry{{"name", c.name}, {"step", c.step}, {"bytes", c.bytes}, {"complete", c.problem.empty()}};
    c.problem.empty() ? entry["epoch"] = c.epoch : entry["problem"] = c.problem;
    out["checkpoints"].push_back(std::move(entry));
  }
  out["disk"] = {{"files", summary.files}, {"bytes", summary.bytes}};
  print_json(out);
}

}  // namespace

void summarize(const SummaryOptions& options) {
  const RunSummary summary = read_summary(options.run);
  if (options.json) return print_as_json(summary);
  print_run(summary);
  print_metrics(summary.metrics);
  print_checkpoints(summary.checkpoints);
  fmt::print("\n{}, {}\n", count_text(static_cast<std::int64_t>(summary.files), "file"), bytes_text(summary.bytes));
}

}  // namespace belfry::tools
