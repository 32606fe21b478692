#include "belfry/session/smart_init.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "belfry/session/tf_restore.h"

namespace belfry {
namespace {

// A saver that keeps the best has a file PREFIX.index too, but none like PREFIX.data-00000-of-00001.
bool is_of_tensorflow(const std::string& prefix) {
  const std::filesystem::path path(prefix);
  const std::string first = path.filename().string() + ".data-00000-of-";
  std::error_code error;
  for (std::filesystem::directory_iterator at(path.has_parent_path() ? path.parent_path() : ".", error), end;
       !error && at != end; at.increment(error))
    if (at->path().filename().string().starts_with(first)) return true;
  return false;
}

SessionInit chosen(const std::string& path, const RestoreOptions& options) {
  if (path.empty()) return {};
  if (path.ends_with(".npz")) return NpzRestore(path, options);
  constexpr std::string_view kIndex = ".index";
  const std::string prefix = path.ends_with(kIndex) ? path.substr(0, path.size() - kIndex.size()) : path;
  if (is_of_tensorflow(prefix)) return TfRestore(prefix, options);
  return SaverRestore(path, options);
}

}  // namespace

SmartInit::SmartInit(const std::string& path, const RestoreOptions& options) : SessionInit(chosen(path, options)) {}
SmartInit::SmartInit(std::map<std::string, Array> values, const RestoreOptions& options)
    : SessionInit(DictRestore(std::move(values), options)) {}

}  // namespace belfry
