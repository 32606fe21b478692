#include "belfry/dataflow/sources/cifar.h"

#include <vector>

#include "belfry/base/check.h"
#include "belfry/dataflow/indexed_flow.h"
#include "belfry/dataflow/internal/data_file.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/sources/byte_source.h"

namespace belfry {
namespace {

constexpr std::size_t kSide = 32, kColors = 3, kPlane = kSide * kSide;

// A record is its labels, a byte each, then a plane of bytes for each of red, green and blue.
struct Format {
  std::vector<int> classes;    // one number for each label of a record
  std::size_t label_used = 0;  // the one that points have
  std::int64_t images = 0;     // that a file of the dataset has
  std::size_t record_bytes() const { return classes.size() + kColors * kPlane; }
};

class CifarFlow final : public RowFlow {
 public:
  CifarFlow(std::string name, Format format, std::string records)
      : RowFlow({.kind = "cifar", .parameters = {{"of", name}, {"label", format.label_used}}},
                {{f32, {kSide, kSide, kColors}}, {i32, {}}}),
        name_(std::move(name)),
        format_(std::move(format)),
        records_(std::move(records)) {}

  std::string describe() const override { return name_; }
  std::int64_t count() const override { return static_cast<std::int64_t>(records_.size() / format_.record_bytes()); }

  void read_row(std::int64_t index, std::span<void* const> rows) const override {
    BELFRY_BUG_IF(index < 0 || index >= count(), "index {} of {} points", index, count());
    const auto* record = reinterpret_cast<const std::uint8_t*>(records_.data()) +
                         static_cast<std::size_t>(index) * format_.record_bytes();
    *static_cast<std::int32_t*>(rows[1]) = record[format_.label_used];
    const std::uint8_t* planes = record + format_.classes.size();
    auto* image = static_cast<float*>(rows[0]);
    for (std::size_t i = 0; i < kPlane; ++i)
      for (std::size_t color = 0; color < kColors; ++color)
        image[i * kColors + color] = static_cast<float>(planes[color * kPlane + i]) / 255.f;
  }

 private:
  std::string name_;
  Format format_;
  std::string records_;
};

void check_records(std::string_view records, const Format& format, const std::string& path, const DataCaller& caller) {
  const std::size_t bytes = format.record_bytes();
  BELFRY_CHECK_AS(FileError, !records.empty() && records.size() % bytes == 0,
                  "[{}] expected images of {} bytes each, got {} bytes in '{}', which is not a whole number of images. "
                  "The file is truncated or not of the binary version: fetch it again.",
                  caller.name, bytes, records.size(), path);
  for (std::size_t at = 0; at < records.size(); at += bytes)
    for (std::size_t k = 0; k < format.classes.size(); ++k) {
      const int label = static_cast<std::uint8_t>(records[at + k]);
      BELFRY_CHECK_AS(FileError, label < format.classes[k],
                      "[{}] expected a label below {}, got {} for image {} in '{}'. The file is damaged, or of another "
                      "dataset.",
                      caller.name, format.classes[k], label, at / bytes, path);
    }
}

struct Request {
  const std::string& directory;
  std::string_view split;
  std::optional<bool> shuffle;
  std::uint64_t seed;
};

Flow open(const Request& request, const std::vector<std::string>& files, const Format& format,
          const DataCaller& caller) {
  std::string records;
  const UnpackLimit limit{format.images * static_cast<std::int64_t>(format.record_bytes()),
                          "The file is damaged, or of another dataset."};
  for (const std::string& file : files) {
    const std::string path = find_data_file(request.directory, file, caller);
    const std::size_t before = records.size();
    append_contents(records, path, caller.name, limit);
    check_records(std::string_view(records).substr(before), format, path, caller);
  }
  Flow flow =
      std::make_shared<CifarFlow>(fmt::format("{}(\"{}\")", caller.name, request.split), format, std::move(records));
  return request.shuffle.value_or(request.split == "train") ? flow | shuffle(request.seed) : flow;
}

constexpr const char* kRemedy = "Check the directory's name, and that it holds the files of the binary version.";

}  // namespace

Flow cifar10(const std::string& directory, std::string_view split, Cifar10Options options) {
  const DataCaller caller{"cifar10", kRemedy};
  check_data(directory, split, caller);
  std::vector<std::string> files{"test_batch.bin"};
  if (split == "train") {
    files.clear();
    for (int i = 1; i <= 5; ++i) files.push_back(fmt::format("data_batch_{}.bin", i));
  }
  return open({directory, split, options.shuffle, options.seed}, files, {.classes = {10}, .images = 10'000}, caller);
}

Flow cifar100(const std::string& directory, std::string_view split, Cifar100Options options) {
  const DataCaller caller{"cifar100", kRemedy};
  check_data(directory, split, caller);
  const bool fine = options.labels == Cifar100Labels::fine;
  return open({directory, split, options.shuffle, options.seed}, {std::string(split) + ".bin"},
              {.classes = {20, 100}, .label_used = fine ? 1u : 0u, .images = split == "train" ? 50'000 : 10'000},
              caller);
}

}  // namespace belfry
