#include "belfry/session/tf_checkpoint.h"

#include <string_view>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/base/internal/quotes.h"
#include "belfry/base/log.h"
#include "belfry/session/internal/tf/bundle_data.h"
#include "belfry/session/internal/tf/bundle_path.h"
#include "belfry/session/internal/tf/tensor_bundle.h"
#include "belfry/session/internal/tf/tf_type.h"

namespace belfry {
namespace {

constexpr std::string_view kObjectSuffix = "/.ATTRIBUTES/VARIABLE_VALUE", kOutputSuffix = ":0";

// In the names of TensorFlow 2's objects ".." is a dot and ".S" a slash; other words with a dot are its own.
std::string without_escapes(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char next = i + 1 < name.size() ? name[i + 1] : '\0';
    const bool escape = name[i] == '.' && (next == '.' || next == 'S');
    out += escape && next == 'S' ? '/' : name[i];
    if (escape) ++i;
  }
  return out;
}

std::string plain_name(std::string_view key) {
  if (key.ends_with(kObjectSuffix)) return without_escapes(key.substr(0, key.size() - kObjectSuffix.size()));
  if (key.ends_with(kOutputSuffix)) key.remove_suffix(kOutputSuffix.size());
  return std::string(key);
}

std::uint64_t stored_bytes(const BundleIndex& index, const std::string& key, const BundleEntry& entry) {
  if (entry.slices.empty()) return entry.size;
  std::uint64_t bytes = 0;
  for (const BundleSlice& slice : entry.slices) {
    const auto at = index.entries.find(slice_key(key, slice));
    if (at != index.entries.end()) bytes += at->second.size;
  }
  return bytes;
}

TfTensor described(const BundleIndex& index, const std::string& key, const BundleEntry& entry) {
  const TfType type = tf_type(entry.type);
  TfTensor out{.name = plain_name(key), .key = key, .type = type.name, .bytes = stored_bytes(index, key, entry)};
  if (entry.dims.size() > kMaxRank) {
    out.reason = fmt::format("{} axes, where Belfry has at most {}", entry.dims.size(), kMaxRank);
    return out;
  }
  out.shape = Shape(entry.dims);
  out.dtype = type.dtype;
  if (!type.dtype) out.reason = "Belfry has no type " + type.name;
  return out;
}

std::vector<TfTensor> tensors_of(const BundleIndex& index) {
  std::vector<TfTensor> out;
  for (const auto& [key, entry] : index.entries)
    if (!is_slice_key(key)) out.push_back(described(index, key, entry));
  return out;
}

void log_left_out(const std::string& prefix, const std::vector<TfTensor>& tensors) {
  constexpr std::size_t kNamed = 5;
  std::size_t count = 0;
  std::string list;
  for (const TfTensor& tensor : tensors) {
    if (tensor.dtype) continue;
    if (++count <= kNamed)
      list += fmt::format("{}{} ({})", count == 1 ? "" : ", ", in_quotes(tensor.name), tensor.reason);
  }
  if (count == 0) return;
  if (count > kNamed) list += fmt::format(" and {} more", count - kNamed);
  log_info(fmt::format("[tf_checkpoint] '{}': left out {} of {} tensors: {}", prefix, count, tensors.size(), list));
}

}  // namespace

std::vector<TfTensor> list_tf_checkpoint(const std::string& path) {
  return tensors_of(read_bundle_index(bundle_index_path(bundle_prefix(path))));
}

std::map<std::string, Array> read_tf_checkpoint(const std::string& path) {
  const std::string prefix = bundle_prefix(path);
  const BundleIndex index = read_bundle_index(bundle_index_path(prefix));
  const std::vector<TfTensor> tensors = tensors_of(index);
  BundleData data(prefix, index);
  std::map<std::string, Array> out;
  for (const TfTensor& tensor : tensors) {
    if (!tensor.dtype) continue;
    const bool is_new = out.emplace(tensor.name, data.read(tensor.key, index.entries.at(tensor.key))).second;
    BELFRY_CHECK_AS(FileError, is_new,
                    "[tf_checkpoint] '{}': expected one tensor for each name, got two for {}. Rename one of them in "
                    "TensorFlow.",
                    prefix, in_quotes(tensor.name));
  }
  log_left_out(prefix, tensors);
  return out;
}

}  // namespace belfry
