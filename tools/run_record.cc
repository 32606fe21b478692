#include "tools/run_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/internal/descriptor.h"
#include "belfry/base/internal/quotes.h"
#include "tools/parse_json.h"

namespace belfry::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using State = RunRecord::State;

constexpr std::array kStates{"running", "finished", "stopped", "interrupted", "failed", "killed", "unknown"};

// The fields of an object; those of another type are errors.
class Fields {
 public:
  Fields(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    BELFRY_CHECK_AS(FileError, object.is_object(), "{}: expected an object, got {}. The file is damaged.", where_,
                    object.type_name());
  }

  const json* find(const char* field) const {
    const auto at = object_.find(field);
    return at == object_.end() || at->is_null() ? nullptr : &*at;
  }
  void required(const char* field) const {
    BELFRY_CHECK_AS(FileError, find(field) != nullptr, "{}: expected a field '{}', got none. The file is damaged.",
                    where_, field);
  }
  std::string text(const char* field) const {
    const json* value = find(field);
    if (value == nullptr) return "";
    if (!value->is_string()) refuse("a text", field, *value);
    return value->get<std::string>();
  }
  std::optional<std::int64_t> number(const char* field) const {
    const json* value = find(field);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number_integer()) refuse("a whole number", field, *value);
    return value->get<std::int64_t>();
  }
  std::vector<std::string> texts(const char* field) const {
    std::vector<std::string> out;
    const json* list = find(field);
    if (list == nullptr) return out;
    if (!list->is_array()) refuse("a list of texts", field, *list);
    for (const json& item : *list) {
      if (!item.is_string()) refuse("a list of texts", field, item);
      out.push_back(item.get<std::string>());
    }
    return out;
  }
  bool flag(const char* field) const {
    const json* value = find(field);
    if (value != nullptr && !value->is_boolean()) refuse("true or false", field, *value);
    return value != nullptr && value->get<bool>();
  }
  std::map<std::string, std::string> named_texts(const char* field) const {
    std::map<std::string, std::string> out;
    const json* object = find(field);
    if (object == nullptr) return out;
    if (!object->is_object()) refuse("an object of texts", field, *object);
    for (const auto& [name, value] : object->items()) {
      if (!value.is_string()) refuse("an object of texts", field, value);
      out[name] = value.get<std::string>();
    }
    return out;
  }

 private:
  [[noreturn]] void refuse(const char* expected, const char* field, const json& got) const {
    fail<FileError>("{}: expected {} for '{}', got {}. The file is damaged.", where_, expected, field, got.type_name());
  }

  const json& object_;
  std::string where_;
};

State state_of(const std::string& text, const std::string& where) {
  for (std::size_t i = 0; i < kStates.size(); ++i)
    if (text == kStates[i]) return static_cast<State>(i);
  fail<FileError>(
      "{}: expected a state like 'running' or 'finished', got {}. The file is damaged, or of a newer Belfry.", where,
      in_quotes(text));
}

RunRecord record_of(const json& entry, const std::string& where) {
  const Fields fields(entry, where);
  fields.required("state");
  fields.required("command");
  RunRecord out{.program = fields.text("program"),
                .command = fields.texts("command"),
                .directory = fields.text("directory"),
                .versions = fields.named_texts("versions"),
                .devices = fields.texts("devices"),
                .host = fields.text("host"),
                .process = fields.number("process").value_or(0),
                .began = fields.text("began"),
                .ended = fields.text("ended"),
                .auto_resume = fields.flag("auto_resume"),
                .state = state_of(fields.text("state"), where),
                .reason = fields.text("reason"),
                .signal = static_cast<int>(fields.number("signal").value_or(0)),
                .epoch = fields.number("epoch"),
                .step = fields.number("step")};
  if (const json* seed = fields.find("seed"); seed != nullptr && seed->is_number_integer())
    out.seed = seed->get<std::uint64_t>();
  if (const json* from = fields.find("from")) {
    const Fields source(*from, where + ": 'from'");
    out.from_checkpoint = source.text("checkpoint");
    out.from_step = source.number("step");
  }
  return out;
}

// Whether the directory's lock, which a run holds until its process ends, was left behind by one.
bool lock_is_free(const std::string& directory) {
  const Descriptor file(::open((directory + "/run.lock").c_str(), O_RDONLY | O_CLOEXEC));
  // A shared lock, so that two of these do not see each other; closing the file frees it.
  return file.is_open() && ::flock(file.get(), LOCK_SH | LOCK_NB) == 0;
}

// Only this host's processes can be seen.
bool is_gone(const RunRecord& run, const std::string& directory) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  if (run.host != host.data() || run.process <= 0) return false;
  if (::kill(static_cast<pid_t>(run.process), 0) != 0 && errno == ESRCH) return true;
  // Another process may have got its number.
  return run.process != ::getpid() && lock_is_free(directory);
}

}  // namespace

std::string name_of(RunRecord::State state) { return kStates[static_cast<std::size_t>(state)]; }

std::vector<RunRecord> read_run_records(const std::string& directory) {
  constexpr std::int64_t kFormat = 1;
  const std::string path = (fs::path(directory) / "run.json").string();
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  const std::string where = fmt::format("[run] '{}'", path);
  const json file = parse_json(read_file(path), where);
  const Fields fields(file, where);
  fields.required("runs");
  const std::int64_t format = fields.number("format").value_or(0);
  BELFRY_CHECK_AS(FileError, format == kFormat,
                  "{}: expected a file of format {}, got format {}. Read it with the version of Belfry that wrote it.",
                  where, kFormat, format);
  const json& runs = *fields.find("runs");
  BELFRY_CHECK_AS(FileError, runs.is_array() && !runs.empty(),
                  "{}: expected a list of runs, got {}. The file is damaged.", where,
                  runs.is_array() ? "an empty one" : runs.type_name());
  std::vector<RunRecord> out;
  for (std::size_t i = 0; i < runs.size(); ++i)
    out.push_back(record_of(runs[i], fmt::format("{}: run {}", where, i + 1)));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].state != State::running) continue;
    // A run that another one followed has ended, whatever it could still write.
    if (i + 1 < out.size() || is_gone(out[i], directory)) out[i].state = State::killed;
  }
  return out;
}

}  // namespace belfry::tools
