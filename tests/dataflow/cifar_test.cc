#include "belfry/dataflow/sources/cifar.h"

#include <algorithm>

#include "belfry/dataflow/batch.h"
#include "tests/dataflow/idx_files.h"
#include "tests/dataflow/restore_checks.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::file_error_of;

// A red plane of `seed`, green that counts, blue 255.
std::string image(int seed) {
  std::string bytes(1024, static_cast<char>(seed));
  for (int i = 0; i < 1024; ++i) bytes += static_cast<char>(i % 200);
  return bytes + std::string(1024, '\xff');
}

std::string record10(int label) { return static_cast<char>(label) + image(label); }
std::string record100(int coarse, int fine) {
  return std::string{static_cast<char>(coarse), static_cast<char>(fine)} + image(fine);
}

// Two images in each batch: labels 0 1 2 3 4 5 6 7 8 9.
std::string write_cifar10(const TemporaryFiles& files) {
  for (int i = 0; i < 5; ++i) {
    const std::string bytes = record10(2 * i) + record10(2 * i + 1),
                      name = "data_batch_" + std::to_string(i + 1) + ".bin";
    i == 3 ? files.write(name + ".gz", gzip(bytes)) : files.write(name, bytes);
  }
  files.write("test_batch.bin", record10(3));
  return files.directory();
}

std::vector<int> labels_of(Flow flow) {
  std::vector<int> labels;
  while (const auto point = flow.next()) labels.push_back(static_cast<int>((*point)[1].item()));
  return labels;
}

TEST(Cifar, ImagesAreRowsOfColoursBetween0And1) {
  const TemporaryFiles files;
  Flow flow = cifar10(write_cifar10(files), "test");
  EXPECT_EQ(flow.known_size(), 1);
  EXPECT_EQ(flow.describe(), "cifar10(\"test\")");
  const DataPoint point = *flow.next();
  ASSERT_EQ(point[0].shape(), (Shape{32, 32, 3}));
  EXPECT_EQ(point[1].dtype(), i32);
  EXPECT_EQ(point[1].item(), 3);
  for (int pixel : {0, 1, 33, 1023}) {
    EXPECT_EQ(point[0].values<float>()[static_cast<std::size_t>(3 * pixel)], 3.f / 255.f);
    EXPECT_EQ(point[0].values<float>()[static_cast<std::size_t>(3 * pixel + 1)],
              static_cast<float>(pixel % 200) / 255.f);
    EXPECT_EQ(point[0].values<float>()[static_cast<std::size_t>(3 * pixel + 2)], 1.f);
  }
}

TEST(Cifar, TrainingImagesComeFromFiveFilesAndAreShuffledUnlessToldOtherwise) {
  const TemporaryFiles files;
  const std::string directory = write_cifar10(files);
  EXPECT_EQ(labels_of(cifar10(directory, "train", {.shuffle = false})), upto(10));
  Flow shuffled = cifar10(directory, "train", {.seed = 4});
  std::vector<int> labels = labels_of(shuffled);
  EXPECT_NE(labels, upto(10));
  std::ranges::sort(labels);
  EXPECT_EQ(labels, upto(10));
  const DataPoint batched = *(cifar10(directory, "train", {.shuffle = false}) | batch(3)).next();
  EXPECT_EQ(batched[0].shape(), (Shape{3, 32, 32, 3}));
  EXPECT_EQ(batched[0].item(2 * 3072), 2.f / 255.f);
}

TEST(Cifar, TheLabelsOf100ClassesAreFineOrCoarse) {
  const TemporaryFiles files;
  files.write("train.bin", record100(19, 99) + record100(0, 7));
  files.write("test.bin.gz", gzip(record100(4, 50)));
  EXPECT_EQ(labels_of(cifar100(files.directory(), "train", {.shuffle = false})), (std::vector{99, 7}));
  EXPECT_EQ(labels_of(cifar100(files.directory(), "train", {.labels = Cifar100Labels::coarse, .shuffle = false})),
            (std::vector{19, 0}));
  EXPECT_EQ(labels_of(cifar100(files.directory(), "test")), std::vector{50});
}

TEST(Cifar, SavedPositionsContinueExactly) {
  const TemporaryFiles files;
  write_cifar10(files);
  expect_exact_restore([&] { return cifar10(files.directory(), "train", {.seed = 1}); });
}

TEST(Cifar, FilesThatAreNoneAreRefused) {
  const TemporaryFiles files;
  const std::string directory = write_cifar10(files), test = files.path("test_batch.bin");
  const auto refusal = [&](const std::string& bytes) {
    files.write("test_batch.bin", bytes);
    return file_error_of([&] { cifar10(directory, "test"); });
  };
  EXPECT_EQ(refusal(record10(1) + record10(2).substr(1)),
            "[cifar10] expected images of 3073 bytes each, got 6145 bytes in '" + test +
                "', which is not a whole number of images. The file is truncated or not of the binary version: fetch "
                "it again.");
  EXPECT_TRUE(contains(refusal(""), "got 0 bytes"));
  EXPECT_EQ(refusal(record10(1) + record10(10)), "[cifar10] expected a label below 10, got 10 for image 1 in '" + test +
                                                     "'. The file is damaged, or of another dataset.");
  EXPECT_TRUE(contains(refusal(gzip(record10(1)).substr(0, 30)), "truncated"));
  files.write("test.bin", record100(20, 1));
  EXPECT_TRUE(
      contains(file_error_of([&] { cifar100(directory, "test"); }), "expected a label below 20, got 20 for image 0"));
}

TEST(Cifar, WhatIsMissingIsNamed) {
  const TemporaryFiles files;
  EXPECT_EQ(file_error_of([&] { cifar10(files.directory(), "train"); }),
            "[cifar10] expected the file '" + files.path("data_batch_1.bin") + "' or '" +
                files.path("data_batch_1.bin.gz") +
                "', found neither. Check the directory's name, and that it holds the files of the binary version.");
  EXPECT_TRUE(contains(file_error_of([&] { cifar100(files.path("none"), "test"); }),
                       "[cifar100] expected a directory with the data"));
  EXPECT_EQ(error_of([&] { cifar10(files.directory(), "valid"); }),
            "[cifar10] expected \"train\" or \"test\", got \"valid\".");
}

TEST(Cifar, AGzippedFileHasNoMoreImagesThanTheDataset) {
  const TemporaryFiles files;
  const std::string path = files.write("test_batch.bin.gz", gzip(std::string(10'001 * 3073, '\0')));
  EXPECT_EQ(file_error_of([&] { cifar10(files.directory(), "test"); }),
            "[cifar10] expected at most 30730000 bytes in '" + path +
                "' when it is unpacked, got more. The file is damaged, or of another dataset.");
}

}  // namespace
}  // namespace belfry
