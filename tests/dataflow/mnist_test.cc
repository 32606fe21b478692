#include "belfry/dataflow/sources/mnist.h"

#include <algorithm>
#include <set>

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/map.h"
#include "tests/dataflow/idx_files.h"

namespace belfry {
namespace {

// Sets an environment variable for the time of a test.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) before_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// Images of 2 x 3 pixels: image i has the pixels 6 i ... 6 i + 5 and the label i.
void write_split(const TemporaryFiles& files, const std::string& prefix, unsigned count, bool packed) {
  std::string pixels, labels;
  for (unsigned i = 0; i < count; ++i) labels += static_cast<char>(i);
  for (unsigned i = 0; i < count * 6; ++i) pixels += static_cast<char>(i);
  const std::string images = idx_bytes(0x08, {count, 2, 3}, pixels), truth = idx_bytes(0x08, {count}, labels);
  files.write(prefix + "-images-idx3-ubyte" + (packed ? ".gz" : ""), packed ? gzip(images) : images);
  files.write(prefix + "-labels-idx1-ubyte" + (packed ? ".gz" : ""), packed ? gzip(truth) : truth);
}

std::vector<int> labels_of(Flow flow) {
  std::vector<int> labels;
  for (const DataPoint& point : flow) labels.push_back(static_cast<int>(point[1].item()));
  return labels;
}

TEST(Mnist, GivesImagesInZeroToOneAndIntegerLabels) {
  TemporaryFiles files;
  write_split(files, "t10k", 5, false);
  Flow flow = mnist(files.directory(), "test");
  EXPECT_EQ(flow.known_size(), 5);
  EXPECT_EQ(flow.describe(), "mnist(\"test\")");
  flow.next();
  const DataPoint point = *flow.next();
  EXPECT_TRUE(equal(point[0],
                    Array::of<float>({2, 3, 1}, {6 / 255.f, 7 / 255.f, 8 / 255.f, 9 / 255.f, 10 / 255.f, 11 / 255.f})));
  EXPECT_TRUE(equal(point[1], Array(1)));
}

TEST(Mnist, TrainIsShuffledUnlessToldOtherwiseAndTestIsInOrder) {
  TemporaryFiles files;
  write_split(files, "train", 30, true);
  write_split(files, "t10k", 30, true);
  EXPECT_EQ(labels_of(mnist(files.directory(), "test")), upto(30));
  EXPECT_EQ(labels_of(mnist(files.directory(), "train", {.shuffle = false})), upto(30));
  const std::vector<int> train = labels_of(mnist(files.directory(), "train"));
  EXPECT_NE(train, upto(30));
  EXPECT_TRUE(std::ranges::is_permutation(train, upto(30)));
  EXPECT_NE(labels_of(mnist(files.directory(), "train", {.seed = 1})), train);
  EXPECT_EQ(labels_of(mnist(files.directory(), "test", {.shuffle = true})), train);
}

TEST(Mnist, BatchesAreThePointsStacked) {
  TemporaryFiles files;
  write_split(files, "train", 10, true);
  Flow rows = mnist(files.directory(), "train") | batch(4, Remainder::keep);
  Flow points = mnist(files.directory(), "train") | map([](DataPoint p) { return p; }) | batch(4, Remainder::keep);
  int seen = 0;
  for (const DataPoint& point : rows) {
    EXPECT_TRUE(same(point, *points.next()));
    seen += static_cast<int>(point[1].elements());
  }
  EXPECT_EQ(seen, 10);
}

TEST(Mnist, MissingAndWrongFilesAreErrors) {
  TemporaryFiles files;
  const std::string& directory = files.directory();
  EXPECT_EQ(error_of([&] { mnist(directory, "valid"); }), "[mnist] expected \"train\" or \"test\", got \"valid\".");
  const std::string images = directory + "/t10k-images-idx3-ubyte";
  EXPECT_EQ(error_of<FileError>([&] { mnist(directory, "test"); }),
            "[mnist] expected the file '" + images + "' or '" + images +
                ".gz', found neither. Check the directory's name, and that its files have their usual names.");
  write_split(files, "t10k", 5, false);
  files.write("t10k-labels-idx1-ubyte", idx_bytes(0x08, {4}, "abcd"));
  EXPECT_EQ(error_of<FileError>([&] { mnist(directory, "test"); }),
            "[mnist] expected as many images as labels, got 5 and 4 of \"test\" in '" + directory + "'.");
  files.write("t10k-images-idx3-ubyte", idx_bytes(0x08, {4}, "abcd"));
  EXPECT_EQ(error_of<FileError>([&] { mnist(directory, "test"); }),
            "[mnist] expected bytes in 3 dimension(s), got u8 [4] in '" + images + "'.");
}

TEST(FashionMnist, IsFoundInTheDirectoryOfTheEnvironment) {
  TemporaryFiles files;
  const Environment data("BELFRY_DATA_DIR", files.directory());
  EXPECT_EQ(error_of<FileError>([] { fashion_mnist("train"); }),
            "[fashion_mnist] expected a directory with the data, got '" + files.directory() +
                "/fashion-mnist', which is not one. Install Debian's package dataset-fashion-mnist, or set "
                "BELFRY_DATA_DIR to "
                "the directory that holds 'fashion-mnist'.");
  write_split(files, "fashion-mnist/t10k", 3, true);
  EXPECT_EQ(labels_of(fashion_mnist("test")), upto(3));
}

TEST(FashionMnist, HasThePublishedPoints) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist"))
    GTEST_SKIP() << "Debian's package dataset-fashion-mnist is not installed";
  const Environment data("BELFRY_DATA_DIR", "");
  for (const auto& [split, points] : {std::pair{"train", 60000}, std::pair{"test", 10000}}) {
    Flow flow = fashion_mnist(split) | batch(1000);
    EXPECT_EQ(flow.known_size(), points / 1000);
    std::vector<int> of_label(10);
    float low = 1, high = 0;
    for (const DataPoint& point : flow) {
      ASSERT_EQ(point[0].shape(), Shape({1000, 28, 28, 1}));
      for (std::int32_t label : point[1].values<std::int32_t>()) ++of_label.at(static_cast<std::size_t>(label));
      const auto [least, most] = std::ranges::minmax(point[0].values<float>());
      low = std::min(low, least), high = std::max(high, most);
    }
    for (int count : of_label) EXPECT_EQ(count, points / 10);
    EXPECT_EQ(low, 0.f);
    EXPECT_EQ(high, 1.f);
  }
}

}  // namespace
}  // namespace belfry
