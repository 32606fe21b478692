#include "examples/char_transformer/text.h"

#include <belfry/base/file.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace bf = belfry;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> files_of(const std::string& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path))
    if (entry.is_regular_file() && !entry.is_symlink()) files.push_back(entry.path());
  if (files.empty()) throw bf::Error(fmt::format("[char_transformer] expected files in '{}', got none.", path));
  std::ranges::sort(files);
  return files;
}

}  // namespace

Text read_text(const std::string& path, double held_out) {
  const std::vector<std::string> files = files_of(path);
  std::string all;
  for (const std::string& file : files) all += bf::read_file(file);
  Text text{.vocabulary = bf::Vocabulary::from_files(files, {.unit = bf::TextUnit::characters, .unknown = "\uFFFD"})};
  text.training = text.vocabulary.encode(all);
  const auto rest = static_cast<std::ptrdiff_t>(static_cast<double>(text.training.size()) * held_out);
  text.held_out.assign(text.training.end() - rest, text.training.end());
  text.training.resize(text.training.size() - text.held_out.size());
  return text;
}

bf::Flow windows(Ids ids, std::int64_t length, std::int64_t stride) {
  const auto characters = static_cast<std::int64_t>(ids.size());
  if (characters <= length)
    throw bf::Error(
        fmt::format("[char_transformer] expected more than {} characters, the window, in the text to train "
                    "on and in the held-out one, got {}. Take a longer text or a smaller --window.",
                    length, characters));
  const auto shared = std::make_shared<Ids>(std::move(ids));
  const auto window = [=](std::int64_t first) { return bf::Array(bf::i32, {length}, shared->data() + first, shared); };
  return bf::from_function([=](std::int64_t i) { return bf::DataPoint{window(i * stride), window(i * stride + 1)}; },
                           {.size = (characters - length - 1) / stride + 1, .name = "windows"});
}
