#include "belfry/callbacks/monitors/json_writer.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/loop/trainer.h"

namespace belfry {

void JSONWriter::put_scalar(const std::string& name, double value, std::int64_t) { values_[name] = value; }

void JSONWriter::trigger() { write(); }

// What was put in an unfinished epoch.
void JSONWriter::after_train() {
  if (!values_.empty()) write();
}

void JSONWriter::restore(const std::string& state) {
  const nlohmann::json list = nlohmann::json::parse(state, nullptr, false);
  BELFRY_CHECK(list.is_array(), "[JSONWriter] expected the state that a checkpoint keeps, got something else.");
  written_ = state;
}

void JSONWriter::write() {
  nlohmann::ordered_json list = nlohmann::ordered_json::parse(written_);
  nlohmann::ordered_json entry{{"epoch_num", trainer().epoch_num()}, {"global_step", trainer().global_step()}};
  for (const auto& [name, value] : values_) {
    if (std::isfinite(value))
      entry[name] = value;
    else
      entry[name] = fmt::format("{}", value);
  }
  list.push_back(std::move(entry));
  written_ = list.dump(1);
  values_.clear();
  std::error_code failed;
  std::filesystem::create_directories(trainer().run_dir(), failed);
  BELFRY_CHECK_AS(FileError, !failed, "[JSONWriter] expected to make the directory '{}', got: {}.", trainer().run_dir(),
                  failed.message());
  write_file_atomically(trainer().run_dir() + "/" + file_, written_ + "\n");
}

}  // namespace belfry
