#include "belfry/dataflow/sources/mnist.h"

#include <cstdlib>

#include "belfry/base/check.h"
#include "belfry/dataflow/indexed_flow.h"
#include "belfry/dataflow/internal/data_file.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/sources/idx.h"

namespace belfry {
namespace {

// images u8 [points, height, width], labels u8 [points]; turned into numbers when a point is read.
class MnistFlow final : public RowFlow {
 public:
  MnistFlow(std::string name, Array images, Array labels)
      : RowFlow({.kind = "mnist", .parameters = {{"of", name}}},
                {{f32, {images.shape()[1], images.shape()[2], 1}}, {i32, {}}}),
        name_(std::move(name)),
        images_(std::move(images)),
        labels_(std::move(labels)),
        pixels_(component(0).shape.elements()) {}

  std::string describe() const override { return name_; }
  std::int64_t count() const override { return labels_.elements(); }

  void read_row(std::int64_t index, std::span<void* const> rows) const override {
    BELFRY_BUG_IF(index < 0 || index >= count(), "index {} of {} points", index, count());
    const auto* from = static_cast<const std::uint8_t*>(images_.raw()) + index * pixels_;
    auto* image = static_cast<float*>(rows[0]);
    for (std::int64_t i = 0; i < pixels_; ++i) image[i] = static_cast<float>(from[i]) / 255.f;
    *static_cast<std::int32_t*>(rows[1]) = static_cast<const std::uint8_t*>(labels_.raw())[index];
  }

 private:
  std::string name_;
  Array images_, labels_;
  std::int64_t pixels_;
};

Array read_part(const std::string& directory, const std::string& file, int rank, const DataCaller& caller) {
  const std::string found = find_data_file(directory, file, caller);
  Array array = read_idx(found);
  BELFRY_CHECK_AS(FileError, array.dtype() == u8 && array.shape().rank() == rank,
                  "[{}] expected bytes in {} dimension(s), got {} {} in '{}'.", caller.name, rank,
                  name_of(array.dtype()), to_string(array.shape()), found);
  return array;
}

Flow open(const std::string& directory, std::string_view split, MnistOptions options, const DataCaller& caller) {
  check_data(directory, split, caller);
  const bool train = split == "train";
  const std::string prefix = train ? "train" : "t10k";
  Array images = read_part(directory, prefix + "-images-idx3-ubyte", 3, caller);
  Array labels = read_part(directory, prefix + "-labels-idx1-ubyte", 1, caller);
  BELFRY_CHECK_AS(FileError, images.shape()[0] == labels.shape()[0],
                  "[{}] expected as many images as labels, got {} and {} of \"{}\" in '{}'.", caller.name,
                  images.shape()[0], labels.shape()[0], split, directory);
  Flow flow =
      std::make_shared<MnistFlow>(fmt::format("{}(\"{}\")", caller.name, split), std::move(images), std::move(labels));
  return options.shuffle.value_or(train) ? flow | shuffle(options.seed) : flow;
}

}  // namespace

Flow mnist(const std::string& directory, std::string_view split, MnistOptions options) {
  return open(directory, split, options,
              {"mnist", "Check the directory's name, and that its files have their usual names."});
}

Flow fashion_mnist(std::string_view split, MnistOptions options) {
  const char* data = std::getenv("BELFRY_DATA_DIR");
  const std::string root = data != nullptr && *data != '\0' ? data : "/usr/share/datasets";
  return open(root + "/fashion-mnist", split, options,
              {"fashion_mnist",
               "Install Debian's package dataset-fashion-mnist, or set BELFRY_DATA_DIR to the directory "
               "that holds 'fashion-mnist'."});
}

}  // namespace belfry
