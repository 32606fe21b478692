#include "belfry/engine/cpu/compile/algorithm_table.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/internal/file_lock.h"
#include "belfry/base/internal/small_json.h"
#include "belfry/base/log.h"
#include "belfry/engine/cpu/kernel/machine.h"

namespace belfry {
namespace {

namespace fs = std::filesystem;
using Choices = AlgorithmTable::Choices;
constexpr std::uint64_t kFormat = 1;

std::string where_of(const std::string& path) { return fmt::format("[autotune] '{}'", path); }

// Empty if there is no such file. Throws FileError.
Choices read_choices(const std::string& path, const std::map<std::string, std::string>& machine) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  const std::string where = where_of(path);
  const nlohmann::json in = small_json::parse(read_file(path), where);
  const std::uint64_t format = small_json::number(in, "format", where);
  BELFRY_CHECK_AS(FileError, format == kFormat, "{}: expected choices of format {}, got format {}.", where, kFormat,
                  format);
  const std::map<std::string, std::string> written_by = small_json::texts(in, "machine", where);
  BELFRY_CHECK_AS(FileError, written_by == machine,
                  "{}: expected the choices of this machine ({}), got those of another one ({}).", where,
                  to_text(machine), to_text(written_by));
  return small_json::texts(in, "algorithms", where);
}

}  // namespace

AlgorithmTable::AlgorithmTable(std::string path)
    : machine_(this_machine()), path_(path.empty() ? autotune_cache_file(machine_) : std::move(path)) {
  try {
    for (auto& [problem, algorithm] : read_choices(path_, machine_))
      entries_[problem] = {.algorithm = algorithm, .source = Source::file};
  } catch (const FileError& e) {
    log_warning(fmt::format("{} Its choices are not used, and the file will be replaced.", e.what()));
  }
}

const AlgorithmTable::Entry* AlgorithmTable::use(const std::string& problem, std::span<const std::string> known) {
  const auto at = entries_.find(problem);
  if (at == entries_.end()) return nullptr;
  Entry& entry = at->second;
  if (std::ranges::find(known, entry.algorithm) == known.end()) {
    if (entry.source == Source::checkpoint)
      log_warning(
          fmt::format("[autotune] expected an available algorithm for '{}', got the checkpoint's '{}'. It is timed "
                      "again: the run may not continue with the same bits.",
                      problem, entry.algorithm));
    return nullptr;
  }
  entry.used = true;
  return &entry;
}

const AlgorithmTable::Entry& AlgorithmTable::add(const std::string& problem, std::string algorithm) {
  const auto before = entries_.find(problem);  // one that use() has refused
  std::string refused = before == entries_.end() ? "" : before->second.algorithm;
  return entries_[problem] = {
             .algorithm = std::move(algorithm), .source = Source::timed, .used = true, .refused = std::move(refused)};
}

void AlgorithmTable::write() const {
  try {
    const fs::path directory = fs::path(path_).parent_path();
    if (!directory.empty()) fs::create_directories(directory);
    const FileLock lock(path_ + ".lock");
    Choices all;
    try {
      all = read_choices(path_, machine_);  // what other processes have added since
    } catch (const FileError&) {
      all.clear();  // reported when the table was made, or damaged since then: replaced
    }
    for (const auto& [problem, entry] : entries_) {
      if (entry.source != Source::timed) continue;
      const auto [at, added] = all.try_emplace(problem, entry.algorithm);
      if (!added && at->second == entry.refused) at->second = entry.algorithm;
    }
    write_file_atomically(path_,
                          small_json::format({{"format", kFormat}, {"machine", machine_}, {"algorithms", all}}, path_));
  } catch (const std::exception& e) {
    std::string reason = e.what();
    if (!reason.ends_with('.')) reason += '.';
    log_warning(
        fmt::format("{}: expected to save the choices there, got: {} The next program will time them again, and may "
                    "choose differently.",
                    where_of(path_), reason));
  }
}

AlgorithmTable::Choices AlgorithmTable::used() const {
  Choices out;
  for (const auto& [problem, entry] : entries_)
    if (entry.used) out[problem] = entry.algorithm;
  return out;
}

void AlgorithmTable::restore(const Choices& choices) {
  for (const auto& [problem, algorithm] : choices)
    entries_[problem] = {.algorithm = algorithm, .source = Source::checkpoint, .used = true};
}

std::string_view name_of(AlgorithmTable::Source source) {
  switch (source) {
    case AlgorithmTable::Source::file: return "file";
    case AlgorithmTable::Source::timed: return "timed";
    case AlgorithmTable::Source::checkpoint: return "checkpoint";
  }
  return "?";
}

}  // namespace belfry
