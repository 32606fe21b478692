#include "belfry/session/internal/tf/bundle_path.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/session/internal/name_lists.h"
#include "belfry/session/internal/tf/sorted_table.h"

namespace belfry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndex = ".index", kMeta = ".meta", kListFile = "checkpoint";

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Where the end of a name begins that numbers one file of several: "-00000-of-00001" behind `front`, with any number of
// digits. npos if there is none.
std::size_t begin_of_part(std::string_view name, std::string_view front) {
  const std::size_t of = name.rfind("-of-");
  if (of == std::string_view::npos || !all_digits(name.substr(of + 4))) return std::string_view::npos;
  const std::size_t begin = name.substr(0, of).rfind(front);
  if (begin == std::string_view::npos) return begin;
  const std::size_t digits = begin + front.size();
  return all_digits(name.substr(digits, of - digits)) ? begin : std::string_view::npos;
}

std::string without_extension(const std::string& path) {
  for (const std::string_view extension : {kIndex, kMeta})
    if (path.ends_with(extension)) return path.substr(0, path.size() - extension.size());
  return path.substr(0, begin_of_part(path, ".data-"));
}

// A text of protobuf's text format, from behind its opening quote: plain, or with a backslash and a letter, or three
// octal digits, as bytes beyond ASCII are written.
std::optional<std::string> quoted(std::string_view text, char quote) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == quote) return out;
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    int digits = 0, value = 0;
    for (; digits < 3 && i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '7'; ++digits, ++i)
      value = value * 8 + (text[i + 1] - '0');
    if (digits > 0) {
      out += static_cast<char>(value);
    } else {
      ++i;
      out += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i] == 'r' ? '\r' : text[i];
    }
  }
  return std::nullopt;
}

// What `model_checkpoint_path: "model-100"` in the list file says.
std::optional<std::string> latest_in(std::string_view list) {
  constexpr std::string_view kField = "model_checkpoint_path:";
  for (std::size_t begin = 0; begin < list.size();) {
    std::string_view line = list.substr(begin, list.find('\n', begin) - begin);
    begin += line.size() + 1;
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.starts_with(kField)) continue;
    line.remove_prefix(kField.size());
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with('"') || line.starts_with('\'')) return quoted(line.substr(1), line[0]);
  }
  return std::nullopt;
}

std::vector<std::string> checkpoints_in(const fs::path& directory) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kIndex)) out.push_back(name.substr(0, name.size() - kIndex.size()));
  }
  std::ranges::sort(out);
  return out;
}

std::string latest_of(const fs::path& directory) {
  const std::string list = (directory / kListFile).string();
  if (!is_file(list)) {
    const std::vector<std::string> there = checkpoints_in(directory);
    fail<FileError>(
        "[tf_checkpoint] '{}': expected a file 'checkpoint' in the directory, which names the latest one, got none. {}",
        directory.string(),
        there.empty() ? "There are no checkpoints of TensorFlow in it." : "Name one of " + some_of(there) + ".");
  }
  const std::optional<std::string> named = latest_in(read_file(list));
  BELFRY_CHECK_AS(
      FileError, named && !named->empty(),
      "[tf_checkpoint] '{}': expected a line 'model_checkpoint_path: \"...\"', got none. Name the checkpoint "
      "itself.",
      list);
  // A directory that was moved since: the name may still begin with where it was.
  const std::string prefix = (directory / *named).string(), moved = (directory / fs::path(*named).filename()).string();
  return !is_file(bundle_index_path(prefix)) && is_file(bundle_index_path(moved)) ? moved : prefix;
}

// The format before: a table that has the data too, one file or PREFIX-00000-of-00002 and so on.
bool is_older_format(const std::string& prefix) {
  const auto is_table = [](const std::string& path) {
    return is_file(path) && is_sorted_table(MappedFile(path).bytes());
  };
  if (is_table(prefix)) return true;
  const fs::path front(prefix);
  std::error_code ignored;
  const fs::path directory = front.parent_path().empty() ? fs::path(".") : front.parent_path();
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.substr(0, begin_of_part(name, "-")) == front.filename() && is_table(entry.path().string())) return true;
  }
  return false;
}

}  // namespace

std::string bundle_index_path(const std::string& prefix) { return prefix + std::string(kIndex); }

std::string bundle_data_path(const std::string& prefix, std::uint64_t file, std::uint64_t files) {
  return fmt::format("{}.data-{:05}-of-{:05}", prefix, file, files);
}

std::string bundle_prefix(const std::string& path) {
  std::error_code ignored;
  const fs::path given(path);
  const bool is_list = given.filename() == kListFile && is_file(path) && !is_file(bundle_index_path(path));
  const std::string prefix = fs::is_directory(given, ignored) && !is_file(bundle_index_path(path)) ? latest_of(given)
                             : is_list ? latest_of(given.parent_path())
                                       : without_extension(path);
  if (is_file(bundle_index_path(prefix))) return prefix;
  BELFRY_CHECK_AS(
      FileError, !is_older_format(prefix),
      "[tf_checkpoint] '{}': expected a checkpoint of version 2 (.index and .data files), got one of version "
      "1. Load it with TensorFlow and save it with tf.compat.v1.train.Saver, which writes version 2.",
      prefix);
  const std::vector<std::string> there =
      checkpoints_in(fs::path(prefix).parent_path().empty() ? fs::path(".") : fs::path(prefix).parent_path());
  fail<FileError>("[tf_checkpoint] '{}': expected a file '{}', got none.{}", path, bundle_index_path(prefix),
                  there.empty() ? std::string(" Name a checkpoint of TensorFlow by the part before '.index'.")
                                : " There are " + some_of(there) + " beside it.");
}

}  // namespace belfry
