#include "belfry/loop/monitors.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "belfry/base/check.h"
#include "belfry/base/internal/exact_number.h"
#include "belfry/base/internal/nearest.h"
#include "belfry/base/log.h"
#include "belfry/loop/internal/history_file.h"
#include "belfry/loop/trainer.h"

namespace belfry {
namespace {

// As after a typing error: in a quarter of the name at most.
bool differs_little(std::string_view a, std::string_view b) {
  return edit_distance(a, b) * 4 <= std::max(a.size(), b.size());
}

constexpr const char* kHistoryFile = "history.bin";

using History = HistoryFile::History;

// A JSON number cannot be NaN or infinite: values are stored as text that reads back to the same bits.
std::string text_of(const History& history) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [name, entries] : history) {
    nlohmann::json& list = out[name] = nlohmann::json::array();
    for (const Monitors::Entry& e : entries) list.push_back({e.step, exact_text(e.value)});
  }
  return out.dump();
}

History history_from(const nlohmann::json& all) {
  History out;
  for (const auto& [name, list] : all.items())
    for (const nlohmann::json& e : list)
      out[name].push_back({e.at(0).get<std::int64_t>(), exact_number(e.at(1).get<std::string>())});
  return out;
}

}  // namespace

Monitors::Monitors(Trainer& trainer) : trainer_(trainer), file_(std::make_unique<HistoryFile>()) {}
Monitors::~Monitors() = default;

void Monitors::put_scalar(std::string_view name, double value) {
  const std::int64_t step = trainer_.global_step();
  auto at = history_.find(name);
  if (at == history_.end()) at = history_.emplace(std::string(name), std::vector<Entry>{}).first;
  at->second.push_back({step, value});
  for (const Handle<Monitor>& monitor : all_) monitor->put_scalar(at->first, value, step);
}

void Monitors::declare(const Callback& by, const std::string& metric, std::string_view remedy) {
  const Callback* const owner = declared_.try_emplace(metric, &by).first->second;
  BELFRY_CHECK(owner == &by, "[{}] expected metrics that no other callback puts, got '{}', which {}{} puts too. {}",
               by.name(), metric, owner->name() == by.name() ? "another " : "", owner->name(), remedy);
}

void Monitors::expect(const Callback& by, const std::string& metric) const {
  if (is_declared(metric) || history_.contains(metric)) return;  // or the continued run has put it
  std::vector<std::string> known;
  for (const auto& [name, owner] : declared_) known.push_back(name);
  const std::string silent = silent_callbacks();
  const bool is_slip =
      std::ranges::any_of(known, [&](const std::string& name) { return differs_little(metric, name); });
  BELFRY_CHECK(
      !silent.empty() && !is_slip,
      "[{}] expected a metric that some callback puts, got '{}'.{} This training puts {}. Add the callback that "
      "puts it{}.",
      by.name(), metric, did_you_mean(metric, known),
      known.empty() ? "none" : fmt::format("'{}'", fmt::join(known, "', '")),
      silent.empty() ? ""
                     : fmt::format(", or, if it is {}, make it declare the metric in setup_graph(): "
                                   "trainer().monitors().declare(*this, \"{}\")",
                                   silent, metric));
  log_info(fmt::format(
      "[{}] no callback has declared the metric '{}'; {} may put it. The callback that puts it should declare it in "
      "setup_graph(): trainer().monitors().declare(*this, \"{}\"). One that puts none, or declares all, should "
      "override declares_metrics() to return true: then a metric that no callback puts is an error at the start.",
      by.name(), metric, silent, metric));
}

std::string Monitors::silent_callbacks() const {
  std::vector<std::string> names;
  if (!trainer_.declares_metrics()) names.emplace_back("run_step()");
  for (const Handle<Callback>& callback : trainer_.callbacks())
    if (!callback->declares_metrics()) names.push_back(callback->name());
  return fmt::format("{}", fmt::join(names, " or "));
}

std::optional<double> Monitors::latest(std::string_view name) const {
  const std::vector<Entry>& all = history(name);
  return all.empty() ? std::nullopt : std::optional(all.back().value);
}

const std::vector<Monitors::Entry>& Monitors::history(std::string_view name) const {
  static const std::vector<Entry> none;
  const auto at = history_.find(name);
  return at == history_.end() ? none : at->second;
}

std::vector<std::string> Monitors::names() const {
  std::vector<std::string> out;
  for (const auto& [name, entries] : history_) out.push_back(name);
  return out;
}

std::string Monitors::history_file() const {
  const std::string& directory = trainer_.files_dir();
  return directory.empty() ? "" : directory + "/" + kHistoryFile;
}

std::string Monitors::state() {
  const std::string path = history_file();
  if (path.empty()) return text_of(history_);
  const HistoryFile::Mark mark = file_->write(path, history_);
  return nlohmann::json{{"file", path}, {"bytes", mark.bytes}, {"crc", mark.crc}}.dump();
}

void Monitors::restore(const std::string& state) {
  try {
    const nlohmann::json in = nlohmann::json::parse(state);
    if (!in.contains("bytes") || !in["bytes"].is_number_unsigned()) {
      history_ = history_from(in);
      return;
    }
    read_history(in.at("bytes").get<std::uint64_t>(), in.at("crc").get<std::uint32_t>(), in.at("file"));
  } catch (const FileError&) {
    throw;
  } catch (const std::exception& error) {
    fail("[monitors] expected the history that a checkpoint keeps, got something else ({}).", error.what());
  }
}

// It lies beside the checkpoint, or in this run's directory, or still where it was written.
void Monitors::read_history(std::uint64_t bytes, std::uint32_t crc, const std::string& written_to) {
  const std::string beside =
      (std::filesystem::path(trainer_.continued_checkpoint()).parent_path() / kHistoryFile).string();
  std::string problems;
  for (const std::string& path : {beside, history_file(), written_to}) {
    if (path.empty() || !std::filesystem::exists(path)) continue;
    try {
      history_ = HistoryFile::read(path, {bytes, crc});
      *file_ = HistoryFile(path, {bytes, crc});
      file_->set_written(history_);
      return;
    } catch (const FileError& error) {
      problems += fmt::format(" {}", error.what());
    }
  }
  log_warning(
      fmt::format("[monitors] expected the history of the continued run in '{}', got none that fits the checkpoint."
                  "{} The weights are not affected; the metrics begin anew.",
                  beside, problems));
}

}  // namespace belfry
