#include "belfry/dataflow/image/codecs/image_folder.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/dataflow/image/codecs/internal/decoding.h"
#include "belfry/dataflow/indexed_flow.h"
#include "belfry/dataflow/internal/origin.h"

namespace belfry {
namespace {

namespace fs = std::filesystem;

Array file_as_array(const std::string& path) {
  const auto file = std::make_shared<std::string>(read_file(path));
  return Array(u8, {static_cast<std::int64_t>(file->size())}, file->data(), file);
}

class ImageFilesFlow final : public IndexedFlow {
 public:
  // Labels: one for each path, or none at all.
  ImageFilesFlow(const char* kind, std::string description, std::vector<std::string> paths,
                 std::vector<std::int32_t> labels, const ImageSourceOptions& options)
      : IndexedFlow(kind),
        kind_(kind),
        description_(std::move(description)),
        paths_(std::make_shared<const std::vector<std::string>>(std::move(paths))),
        labels_(std::move(labels)),
        options_(options) {}

  std::string describe() const override { return description_; }
  std::int64_t count() const override { return static_cast<std::int64_t>(paths_->size()); }
  DataPoint at(std::int64_t index) const override {
    const auto i = static_cast<std::size_t>(index);
    const Origin path(paths_, &paths_->at(i));
    DataPoint point;
    point.reserve(2);
    point.push_back(with_origin(options_.decode
                                    ? read_image_as(kind_, *path, {options_.channels, options_.orient, options_.strict})
                                    : file_as_array(*path),
                                path));
    if (!labels_.empty()) point.emplace_back(labels_[i]);
    return point;
  }

 private:
  const char* kind_;
  std::string description_;
  std::shared_ptr<const std::vector<std::string>> paths_;
  std::vector<std::int32_t> labels_;
  ImageSourceOptions options_;
};

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

// .bmp, too: it is read by nobody, and to be told so is better than to miss it.
bool is_image(const fs::path& path) {
  const std::string extension = extension_of(path.string());
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png" || extension == ".bmp" ||
         extension == ".webp";
}

// function(), with the file system's exceptions as ours.
template <class Function>
auto with_files(const std::string& directory, Function&& function) {
  try {
    return function();
  } catch (const fs::filesystem_error& e) {
    fail<FileError>("[image_folder] cannot list '{}': {}.", directory, e.code().message());
  }
}

std::vector<std::string> images_below(const std::string& directory) {
  std::vector<std::string> paths;
  for (fs::recursive_directory_iterator entry(directory, fs::directory_options::follow_directory_symlink), end;
       entry != end; ++entry) {
    if (is_hidden(entry->path()))
      entry.disable_recursion_pending();
    else if (is_image(entry->path()) && entry->is_regular_file())
      paths.push_back(entry->path().string());
  }
  std::ranges::sort(paths);
  return paths;
}

}  // namespace

std::vector<std::string> image_folder_classes(const std::string& directory) {
  std::error_code ignored;  // what cannot be looked at counts as absent
  BELFRY_CHECK_AS(FileError, fs::is_directory(directory, ignored),
                  "[image_folder] expected a directory with a folder for each class, got '{}', which is not one.",
                  directory);
  std::vector<std::string> classes = with_files(directory, [&] {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory))
      if (entry.is_directory() && !is_hidden(entry.path())) names.push_back(entry.path().filename().string());
    return names;
  });
  BELFRY_CHECK_AS(FileError, !classes.empty(),
                  "[image_folder] expected a folder for each class in '{}', found none. For files without classes use "
                  "image_files().",
                  directory);
  std::ranges::sort(classes);
  return classes;
}

Flow image_folder(const std::string& directory, ImageSourceOptions options) {
  const std::vector<std::string> classes = image_folder_classes(directory);
  std::vector<std::string> paths;
  std::vector<std::int32_t> labels;
  for (std::size_t label = 0; label < classes.size(); ++label) {
    const std::string folder = (fs::path(directory) / classes[label]).string();
    const std::vector<std::string> found = with_files(folder, [&] { return images_below(folder); });
    BELFRY_CHECK_AS(
        FileError, !found.empty(),
        "[image_folder] expected .jpg, .jpeg, .png or .webp files in '{}', found none. Remove the folder if it is "
        "no class.",
        folder);
    paths.insert(paths.end(), found.begin(), found.end());
    labels.resize(paths.size(), static_cast<std::int32_t>(label));
  }
  return std::make_shared<ImageFilesFlow>("image_folder", fmt::format("image_folder(\"{}\")", directory),
                                          std::move(paths), std::move(labels), options);
}

Flow image_files(std::vector<std::string> paths, ImageSourceOptions options) {
  std::string description = paths.size() == 1 ? fmt::format("image_files(\"{}\")", paths[0])
                                              : fmt::format("image_files({} files)", paths.size());
  return std::make_shared<ImageFilesFlow>("image_files", std::move(description), std::move(paths),
                                          std::vector<std::int32_t>{}, options);
}

}  // namespace belfry
