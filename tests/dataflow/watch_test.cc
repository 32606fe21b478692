// print_points() and speed_test(): looking at a flow.
#include <cmath>
#include <limits>

#include "belfry/base/log.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/print_points.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/sources/fake.h"
#include "belfry/dataflow/speed_test.h"
#include "tests/dataflow/restore_checks.h"

namespace belfry {
namespace {

// The lines that are logged while it lives.
class Lines {
 public:
  const std::vector<std::string>& get() const { return lines_; }

 private:
  std::vector<std::string> lines_;
  LogRedirect redirect_{[this](LogLevel, std::string_view text) { lines_.emplace_back(text); }};
};

TEST(DescribePoint, SaysShapesDtypesRangesAndValues) {
  EXPECT_EQ(describe_point({Array::of<float>({2, 2}, {0.5f, -1, 3, 2}), Array(7)}),
            "f32 [2, 2] from -1 to 3; i32 [] from 7 to 7");
  EXPECT_EQ(describe_point({Array::of<std::uint8_t>({3}, {4, 255, 0}), Array(true)}, 2),
            "u8 [3] from 0 to 255 {4, 255, ...}; bool [] from true to true {true}");
  const float nan = std::nanf("");
  EXPECT_EQ(describe_point({Array::of<float>({3}, {nan, 1, nan}), Array(nan), Array(f64, {0, 2})}),
            "f32 [3] from 1 to 1 with 2 NaN; f32 [] with 1 NaN; f64 [0, 2]");
  EXPECT_EQ(describe_point({}), "no components");
}

TEST(PrintPoints, LogsALineAPointAndPassesThemOn) {
  const Lines lines;
  Flow flow = Flow(Sequential(5)) | print_points({.every = 2, .name = "train"});
  EXPECT_EQ(pass(flow, 3), upto(5));
  EXPECT_EQ(lines.get(), (std::vector<std::string>{"[train] point 0 of epoch 3: i32 [] from 0 to 0",
                                                   "[train] point 2 of epoch 3: i32 [] from 2 to 2",
                                                   "[train] point 4 of epoch 3: i32 [] from 4 to 4"}));
}

TEST(PrintPoints, KeepsRandomAccessAndPrintsWhatIsRead) {
  const Lines lines;
  Flow flow = numbered(4) | print_points() | shuffle(1);
  EXPECT_EQ(flow.known_size(), 4);
  const int first = static_cast<int>((*flow.next())[0].item());
  ASSERT_EQ(lines.get().size(), 1u);
  EXPECT_TRUE(lines.get()[0].starts_with("point " + std::to_string(first) + " of epoch 0: i32 []")) << lines.get()[0];
}

TEST(PrintPoints, RestoresEverywhere) {
  const Lines lines;
  expect_exact_restore([] { return Flow(Sequential(5)) | print_points({.every = 2}); });
  expect_exact_restore([] { return numbered(5) | print_points() | shuffle(2); });
  Flow flow = Flow(Sequential(5)) | print_points({.every = 3});
  flow.restore({"print_points", {{"index", 2}}, {{"sequential", {{"epoch", 0}, {"position", 2}}, {}}}});
  const std::size_t before = lines.get().size();
  drain(flow);
  ASSERT_EQ(lines.get().size(), before + 1);
  EXPECT_EQ(lines.get().back(), "point 3 of epoch 0: i32 [] from 3 to 3");
}

TEST(PrintPoints, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] { print_points({.every = 0}); }), "[print_points] expected .every to be 1 or more, got 0.");
  EXPECT_EQ(error_of([] { print_points({.values = -1}); }),
            "[print_points] expected 0 or more values of each component, got -1.");
}

TEST(SpeedTest, ReadsAsManyPointsAsAskedAcrossEpochs) {
  int reads = 0;
  Flow flow = Sequential(7, &reads);
  const FlowSpeed speed = speed_test(flow, {.points = 20, .warmup = 5, .progress = false});
  EXPECT_EQ(reads, 25);
  EXPECT_EQ(flow.epoch(), 3u);
  EXPECT_EQ(speed.points, 20);
  EXPECT_GT(speed.seconds, 0);
  EXPECT_NEAR(speed.points_per_second, 20 / speed.seconds, 1e-6 * speed.points_per_second);
  EXPECT_NEAR(speed.megabytes_per_second, 20 * 4 / 1e6 / speed.seconds, 1e-6 * speed.megabytes_per_second);
}

TEST(SpeedTest, DrawsNoBarWhereThereIsNoTerminal) {
  std::FILE* file = std::tmpfile();
  speed_test(fake_data({{f32, {4}}}), {.points = 10, .stream = file});
  EXPECT_EQ(std::ftell(file), 0);
  std::fclose(file);
}

TEST(SpeedTest, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] { speed_test(Sequential(0)); }),
            "[speed_test] expected a flow with points, got an empty pass of 'sequential'.");
  EXPECT_EQ(error_of([] { speed_test(Sequential(1), {.points = 0}); }),
            "[speed_test] expected 1 or more points after 0 or more to warm up, got 0 after 0.");
}

}  // namespace
}  // namespace belfry
