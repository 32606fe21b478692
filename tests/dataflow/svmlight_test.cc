#include "belfry/dataflow/sources/svmlight.h"

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/shuffle.h"
#include "tests/dataflow/idx_files.h"
#include "tests/dataflow/restore_checks.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::file_error_of;

class Svmlight : public testing::Test {
 protected:
  Flow read(const std::string& text, SvmlightOptions options = {}) const {
    return from_svmlight(files.write("data.svm", text), options);
  }
  // The refusal of a text, without the part that names the file.
  std::string refusal(const std::string& text, SvmlightOptions options = {}) const {
    std::string error = file_error_of([&] { read(text, options); });
    const std::string name = " of '" + files.path("data.svm") + "'";
    EXPECT_TRUE(contains(error, name)) << error;
    return error.erase(std::min(error.find(name), error.size()), name.size());
  }
  TemporaryFiles files;
};

constexpr const char* kText =
    "# made by hand\n"
    "+1 1:0.5 3:-2e-1 # the first\n"
    "\n"
    "-1 qid:7 2:4\r\n"
    "0.5";

TEST_F(Svmlight, ReadsLabelsAndSparseFeatures) {
  Flow flow = read(kText);
  EXPECT_EQ(flow.known_size(), 3);
  EXPECT_TRUE(same(*flow.next(), {Array::of<float>({3}, {0.5f, 0, -0.2f}), Array(1.f)}));
  EXPECT_TRUE(same(*flow.next(), {Array::of<float>({3}, {0, 4, 0}), Array(-1.f)}));
  EXPECT_TRUE(same(*flow.next(), {Array::of<float>({3}, {0, 0, 0}), Array(0.5f)}));
  EXPECT_EQ(flow.next(), std::nullopt);
}

TEST_F(Svmlight, TakesFeaturesIndicesAndLabelsAsAsked) {
  const DataPoint point = *read("2 0:1 3:2\n", {.features = 5, .zero_based = true, .label = i32}).next();
  EXPECT_TRUE(same(point, {Array::of<float>({5}, {1, 0, 0, 2, 0}), Array(2)}));
  const DataPoint batched = *(read("2 1:1\n3 2:2\n", {.label = i32}) | batch(2)).next();
  EXPECT_TRUE(same(batched, {Array::of<float>({2, 2}, {1, 0, 0, 2}), Array::of<std::int32_t>({2}, {2, 3})}));
}

TEST_F(Svmlight, ListsOfClassesBecomeOnesAndZeros) {
  Flow flow = read("0,2 1:1\n 1:2\n1\n", {.multilabel = true});
  EXPECT_TRUE(same(*flow.next(), {Array::of<float>({1}, {1}), Array::of<float>({3}, {1, 0, 1})}));
  EXPECT_TRUE(same(*flow.next(), {Array::of<float>({1}, {2}), Array::of<float>({3}, {0, 0, 0})}));
  EXPECT_TRUE(same(*flow.next(), {Array::of<float>({1}, {0}), Array::of<float>({3}, {0, 1, 0})}));
  EXPECT_EQ((*read("0 1:1\n", {.multilabel = true, .classes = 4}).next())[1].shape(), Shape{4});
}

TEST_F(Svmlight, ReadsGzippedFilesAndNumbersNextToZero) {
  Flow flow = from_svmlight(files.write("data.svm.gz", gzip("1 1:1e-400 2:+3\n")));
  EXPECT_TRUE(same(*flow.next(), {Array::of<float>({2}, {0, 3}), Array(1.f)}));
}

TEST_F(Svmlight, SavedPositionsContinueExactly) {
  files.write("data.svm", kText);
  expect_exact_restore([&] { return from_svmlight(files.path("data.svm")) | shuffle(2); });
}

TEST_F(Svmlight, LinesThatSaySomethingElseAreNamed) {
  EXPECT_EQ(refusal("1 1:1\ncat 1:1\n"), "[from_svmlight] expected a number as label, got 'cat' in line 2.");
  EXPECT_EQ(refusal("nan 1:1\n"), "[from_svmlight] expected a number as label, got 'nan' in line 1.");
  EXPECT_EQ(refusal("1 1:1 2\n"), "[from_svmlight] expected a feature as index:value, got '2' in line 1.");
  EXPECT_EQ(refusal("1 1:\n"), "[from_svmlight] expected a feature as index:value, got '1:' in line 1.");
  EXPECT_EQ(refusal("1 1:1e39\n"), "[from_svmlight] expected a value that fits f32, got '1:1e39' in line 1.");
  EXPECT_EQ(refusal("1 0:1\n"),
            "[from_svmlight] expected indices from 1 on, got '0:1' in line 1. If 0 is the first, set .zero_based.");
  EXPECT_EQ(refusal("1 2:1 2:1\n"), "[from_svmlight] expected ascending indices, got '2:1' in line 1.");
  EXPECT_EQ(refusal("1 -2:1\n"),
            "[from_svmlight] expected an index of one of 2147483647 features, got '-2:1' in line 1.");
  EXPECT_EQ(refusal("1 -9223372036854775808:1\n"),
            "[from_svmlight] expected an index of one of 2147483647 features, got '-9223372036854775808:1' in line 1.");
  EXPECT_EQ(refusal("1 4:1\n", {.features = 3}),
            "[from_svmlight] expected an index of one of 3 features, got '4:1' in line 1.");
  EXPECT_EQ(refusal("1.5 1:1\n", {.label = i32}),
            "[from_svmlight] expected a whole number that fits i32 as label, got '1.5' in line 1.");
  EXPECT_EQ(refusal("1,x 1:1\n", {.multilabel = true}),
            "[from_svmlight] expected classes from 0 on, below .classes, got 'x' in line 1.");
}

TEST_F(Svmlight, AnIndexAloneMakesNoHugeRows) {
  EXPECT_EQ(file_error_of([&] { read("1 2000000000:1\n"); }),
            "[from_svmlight] expected at most 16777216 features unless they are asked for, got 2000000000 in '" +
                files.path("data.svm") + "'. If that is right, set .features.");
  EXPECT_TRUE(contains(file_error_of([&] { read("2000000000 1:1\n", {.multilabel = true}); }), "set .classes."));
}

TEST(FromSvmlight, AGzippedFileIsUnpackedUpToALimit) {
  const TemporaryFiles files;
  const std::string path = files.write("bomb.gz", gzip("1 1:2 #" + std::string(100'000, 'x')));
  EXPECT_EQ(from_svmlight(path, {.max_unpacked_bytes = 100'007}).known_size(), 1);
  EXPECT_EQ(error_of<FileError>([&] { from_svmlight(path, {.max_unpacked_bytes = 100'006}); }),
            "[from_svmlight] expected at most 100006 bytes in '" + path +
                "' when it is unpacked, got more. If that is right, set .max_unpacked_bytes.");
}

}  // namespace
}  // namespace belfry
