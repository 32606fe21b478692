#include "belfry/callbacks/monitors/json_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/internal/crc32c.h"
#include "belfry/base/internal/exact_number.h"
#include "belfry/base/log.h"
#include "belfry/callbacks/internal/named_values.h"
#include "belfry/callbacks/internal/restore_state.h"
#include "belfry/loop/trainer.h"

namespace belfry {
namespace {

// The lines of a file as write() makes them; none if it is another one.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  std::string line;
  if (!std::getline(in, line) || line != "[") return out;
  while (std::getline(in, line) && line != "]") {
    if (line.ends_with(',')) line.pop_back();
    if (!line.empty()) out.push_back(line);
  }
  return out;
}

std::uint32_t crc_of(const std::vector<std::string>& lines) {
  std::uint32_t crc = 0;
  for (const std::string& line : lines) crc = crc32c(std::as_bytes(std::span(line.data(), line.size())), crc);
  return crc;
}

}  // namespace

std::string JSONWriter::path() const { return trainer().run_dir() + "/" + file_; }

std::vector<Written> JSONWriter::writes() const { return {{trainer().run_dir(), {file_, file_ + ".old*"}}}; }

void JSONWriter::put_scalar(const std::string& name, double value, std::int64_t) { values_[name] = value; }

void JSONWriter::before_train() {
  trainer().before_first_step([this] { begin(); });
}

void JSONWriter::begin() {
  began_ = true;
  if (restored_ || !std::filesystem::exists(path())) return;
  std::string old = path() + ".old";
  for (int i = 2; std::filesystem::exists(old); ++i) old = fmt::format("{}.old-{}", path(), i);
  std::error_code failed;
  std::filesystem::rename(path(), old, failed);
  BELFRY_CHECK_AS(FileError, !failed, "[JSONWriter] expected to rename '{}', which another run left, got: {}.", path(),
                  failed.message());
  log_info(fmt::format("[JSONWriter] '{}' is from an earlier run: it is now '{}'", path(), old));
}

void JSONWriter::trigger() {
  add_line();
  write_or_report();
}

void JSONWriter::write_or_report() {
  try {
    write();
    in_a_row_ = 0;
  } catch (const FileError& error) {
    ++in_a_row_;
    log_error(
        fmt::format("[{}] {} (failure {} in a row; {} end training)", name(), error.what(), in_a_row_, max_failures_));
    trainer().monitors().put_scalar("failed_saves/" + file_, ++failures_);
    BELFRY_CHECK_AS(FileError, in_a_row_ < max_failures_,
                    "[{}] expected to write '{}', got {} failures in a row, the last one: {}", name(), path(),
                    in_a_row_, error.what());
  }
}

// Writes what was put in an unfinished epoch, or could not be written before; but not if training never began, because
// the file is then still that of another run.
void JSONWriter::after_train() {
  if (!began_ || (values_.empty() && in_a_row_ == 0)) return;
  if (!values_.empty()) add_line();
  write();
}

std::string JSONWriter::state() const {
  return nlohmann::json{{"lines", written_.size()}, {"crc", crc_of(written_)}, {"values", to_text(values_)}}.dump();
}

void JSONWriter::restore(const std::string& state) {
  restore_state(name(), [&] {
    const nlohmann::json in = nlohmann::json::parse(state);
    values_ = named_values_from(in.at("values").get<std::string>());
    find_lines(in.at("lines").get<std::size_t>(), in.at("crc").get<std::uint32_t>());
    restored_ = true;
  });
}

// Those of the run that is continued, from the file beside its checkpoint or in this run's directory. What it has
// beyond them was written after the checkpoint.
void JSONWriter::find_lines(std::size_t count, std::uint32_t crc) {
  const std::filesystem::path checkpoint = trainer().continued_checkpoint();
  for (const std::string& file : {(checkpoint.parent_path() / file_).string(), path()}) {
    if (!std::filesystem::exists(file)) continue;
    written_ = lines_of(read_file(file));
    if (written_.size() < count) continue;
    written_.resize(count);
    if (crc_of(written_) == crc) return;
  }
  written_.clear();
  if (count > 0)
    log_warning(
        fmt::format("[JSONWriter] expected the {} lines of the continued run in '{}', got others, or no such file. The "
                    "file begins anew.",
                    count, path()));
}

void JSONWriter::add_line() {
  nlohmann::ordered_json entry{{"epoch_num", trainer().epoch_num()}, {"global_step", trainer().global_step()}};
  for (const auto& [name, value] : values_) {
    if (std::isfinite(value))
      entry[name] = value;
    else
      entry[name] = fmt::format("{}", without_sign_of_nan(value));
  }
  written_.push_back(entry.dump());
  values_.clear();
}

void JSONWriter::write() {
  std::error_code failed;
  std::filesystem::create_directories(trainer().run_dir(), failed);
  BELFRY_CHECK_AS(FileError, !failed, "[JSONWriter] expected to make the directory '{}', got: {}.", trainer().run_dir(),
                  failed.message());
  write_file_atomically(path(), fmt::format("[\n{}\n]\n", fmt::join(written_, ",\n")));
}

}  // namespace belfry
