// The code of docs/dataflow.md: ./dev docs checks that every block there stands here word for word. What needs OpenCV
// or ZeroMQ is in tests/dataflow/image/opencv and tests/dataflow/remote.
#include <belfry/base/file.h>
#include <belfry/belfry.h>
#include <belfry/dataflow/indexed_flow.h>
#include <belfry/dataflow/stage_flow.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/files.h"

namespace bf = belfry;

namespace {

class Ramp final : public bf::IndexedFlow {
 public:
  explicit Ramp(std::int64_t count) : IndexedFlow("ramp"), count_(count) {}
  std::int64_t count() const override { return count_; }
  bf::DataPoint at(std::int64_t index) const override { return {bf::Array(index)}; }

 private:
  std::int64_t count_;
};

class EveryOther final : public bf::StageFlow {
 public:
  explicit EveryOther(bf::Flow source) : StageFlow(std::move(source), "every_other", "every_other") {}
  std::optional<bf::DataPoint> next() override {
    std::optional<bf::DataPoint> point = source().next();
    source().next();
    return point;
  }
  std::optional<std::int64_t> size() const override {
    const std::optional<std::int64_t> all = source().size();
    return all ? std::optional((*all + 1) / 2) : std::nullopt;
  }
};

bf::FlowStage every_other() {
  return bf::FlowStage([](bf::Flow source) -> bf::Flow { return std::make_shared<EveryOther>(std::move(source)); });
}

std::vector<bf::DataPoint> ten_points() {
  std::vector<bf::DataPoint> points;
  for (int i = 0; i < 10; ++i) points.push_back({bf::Array(static_cast<float>(i)), bf::Array(i % 2)});
  return points;
}

std::vector<double> first_components(bf::Flow flow) {
  std::vector<double> out;
  for (bf::DataPoint& point : flow)
    for (std::int64_t i = 0; i < point[0].elements(); ++i) out.push_back(point[0].item(i));
  return out;
}

using Values = std::vector<double>;

TEST(DataflowPage, AValidationSetIsCutOff) {
  const bf::Flow examples = bf::from_list(ten_points());
  auto [train, validation] = bf::split(examples | bf::shuffle(7), 0.9);  // dealt once, by chance
  train = train | bf::shuffle() | bf::batch(32);                         // and in another order each epoch
  validation = validation | bf::batch(32, bf::Remainder::keep);
  EXPECT_EQ(train.known_size(), 0);
  EXPECT_EQ(validation.known_size(), 1);
}

}  // namespace

TEST(DataflowPage, PassesAndComposition) {
  const std::vector<bf::DataPoint> points = ten_points();
  std::vector<bf::Shape> shapes;
  const auto use = [&](const bf::DataPoint& point) { shapes.push_back(point[0].shape()); };

  bf::Flow flow = bf::from_list(points) | bf::shuffle(7) | bf::batch(4, bf::Remainder::keep) | bf::prefetch(2);
  for (int epoch = 0; epoch < 2; ++epoch)
    for (bf::DataPoint& point : flow) use(point);  // f32 [4] and i32 [4], twice; then [2] and [2]

  EXPECT_EQ(shapes, (std::vector<bf::Shape>{{4}, {4}, {2}, {4}, {4}, {2}}));
  EXPECT_EQ(flow.epoch(), 1u);

  const bf::FlowStage finish = bf::batch(4) | bf::prefetch(2);
  bf::Flow train = bf::from_list(points) | bf::shuffle(7) | finish;
  bf::Flow test = bf::from_list(points) | finish;

  EXPECT_EQ(train.describe(), "list | shuffle | batch(4) | prefetch(2)");
  EXPECT_EQ(first_components(test), (Values{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(DataflowPage, Sources) {
  const bf::testing_support::TempDir directory;
  const std::string path = directory / "numbers.txt";
  bf::testing_support::put_bytes(path, "0.5\n-2\n");

  bf::Flow squares = bf::from_function([](std::int64_t i) { return bf::DataPoint{bf::Array(i * i)}; }, {.size = 100});
  bf::Flow numbers = bf::from_generator([path](std::uint64_t) {
    return [file = std::make_shared<std::ifstream>(path)]() -> std::optional<bf::DataPoint> {
      float value = 0;
      if (!(*file >> value)) return std::nullopt;
      return bf::DataPoint{bf::Array(value)};
    };
  });
  bf::Flow halves = bf::from_range(std::vector<float>{0.5f, 1.5f});
  bf::Flow images = bf::fake_data({{.shape = {28, 28, 1}}, {.dtype = bf::i32, .high = 10}}, {.size = 1000});

  EXPECT_EQ(squares.size(), 100);
  EXPECT_EQ(first_components(numbers), (Values{0.5, -2}));
  EXPECT_EQ(first_components(numbers), (Values{0.5, -2})) << "in every pass";
  EXPECT_EQ(first_components(halves), (Values{0.5, 1.5}));
  EXPECT_EQ((*images.next())[0].shape(), (bf::Shape{28, 28, 1}));
}

TEST(DataflowPage, Texts) {
  const bf::testing_support::TempDir directory;
  const std::string path = directory / "train.txt";
  bf::testing_support::put_bytes(path, "the cat sat on the mat\nthe dog sat\n");

  const bf::Vocabulary words = bf::Vocabulary::from_files({path}, {.max_size = 10'000, .end_of_line = "<eos>"});
  words.save(directory / "words.txt");
  bf::Flow text = bf::from_text(path, {.vocabulary = words, .sequence_length = 4, .targets = true}) | bf::batch(2);

  const bf::DataPoint point = *text.next();
  EXPECT_EQ(point[0].shape(), (bf::Shape{2, 4}));
  EXPECT_EQ(point[0].item(1), point[1].item(0)) << "targets are one token later";
  EXPECT_TRUE(bf::Vocabulary::load(directory / "words.txt") == words);
}

TEST(DataflowPage, Map) {
  const std::vector<bf::DataPoint> points = ten_points();
  const auto noisy = [](bf::DataPoint point, bf::RandomStream& random) {
    point[0] = bf::Array(static_cast<float>(point[0].item() + random.normal()));
    return point;
  };
  const auto only_odd = [](bf::DataPoint point) -> std::optional<bf::DataPoint> {
    if (point[1].item() == 0) return std::nullopt;
    return point;
  };
  bf::Flow flow = bf::from_list(points) | bf::shuffle(7) | bf::map(noisy, {.seed = 1, .threads = 4}) |
                  bf::map(only_odd) | bf::map_component([](bf::Array label) { return label.cast(bf::f32); }, 1);

  EXPECT_FALSE(flow.size());
  const bf::DataPoint first = *flow.next();
  EXPECT_EQ(first[1].dtype(), bf::f32);
  EXPECT_EQ(first[1].item(), 1);
  flow.reset_state();

  // What the page promises: the same points whatever the number of threads, ordered or not.
  const auto read = [&](bf::MapOptions options) {
    options.seed = 1;
    return first_components(bf::from_list(points) | bf::map(noisy, options));
  };
  Values unordered = read({.threads = 3, .ordered = false});
  Values expected = read({});
  EXPECT_EQ(read({.threads = 3}), expected);
  std::ranges::sort(unordered);
  std::ranges::sort(expected);
  EXPECT_EQ(unordered, expected);
}

TEST(DataflowPage, Position) {
  const std::vector<bf::DataPoint> points = ten_points();
  const auto make = [&] { return bf::from_list(points) | bf::shuffle(7) | bf::batch(4) | bf::prefetch(2); };

  bf::Flow flow = make();
  flow.next();
  const std::string saved = to_string(flow.state());
  // {"flow":"prefetch","from":[{"flow":"batch","points":4,"keep":0,"from":[{"flow":"shuffle", ...

  bf::Flow later = make();  // built alike: perhaps by another process
  later.restore(bf::flow_state_from_string(saved));
  const auto second = later.next();  // the second batch of epoch 0

  EXPECT_TRUE(bf::equal((*second)[0], (*flow.next())[0]));
  EXPECT_TRUE(
      saved.starts_with(R"({"flow":"prefetch","from":[{"flow":"batch","points":4,"keep":0,"from":[{"flow":"shuffle",)"))
      << saved;

  bf::Flow other = bf::from_list({points[0]}) | bf::shuffle(7) | bf::batch(4) | bf::prefetch(2);
  EXPECT_NE(bf::error_of([&] { other.restore(flow.state()); }), "no error");
}

TEST(DataflowPage, Caches) {
  const bf::testing_support::TempDir temp;
  const std::string& directory = temp.path();
  const std::vector<bf::DataPoint> points = ten_points();
  int calls = 0;
  const auto costly = [&](bf::DataPoint point) {
    ++calls;
    return point;
  };
  bf::Flow flow = bf::from_list(points) | bf::map(costly) | bf::cache_in_memory() | bf::shuffle(7) | bf::batch(4);
  bf::Flow kept = bf::from_list(points) | bf::map(costly) |
                  bf::cache_on_disk(directory + "/points.cache", {.key = "v1"}) | bf::shuffle(7) | bf::batch(4);

  EXPECT_EQ(calls, 20) << "shuffle() has asked both caches for the number of points";
  for (int epoch = 0; epoch < 2; ++epoch) {
    EXPECT_EQ(first_components(flow).size(), 8u);
    EXPECT_EQ(first_components(kept).size(), 8u);
  }
  EXPECT_EQ(calls, 20);
  const bf::Flow other_process = bf::from_list(points) | bf::map(costly) |
                                 bf::cache_on_disk(directory + "/points.cache", {.key = "v1"}) | bf::shuffle(7);
  EXPECT_EQ(calls, 20);
}

TEST(DataflowPage, Errors) {
  const std::vector<bf::DataPoint> points = ten_points();
  const auto refuse_three = [](bf::DataPoint point) {
    if (point[0].item() == 3) throw bf::Error("[mine] expected anything but 3.");
    return point;
  };
  bf::Flow flow = bf::from_list(points) | bf::map(refuse_three, {.threads = 2}) | bf::prefetch(4);
  std::string text;
  std::size_t read = 0;
  try {
    for (bf::DataPoint& point : flow) read += point.size() / 2;
  } catch (const bf::Error& error) {
    text = error.what();  // [map] the function of 'list | map(2 threads)' failed at point 3 of epoch 0: ...
  }

  EXPECT_EQ(read, 3u);
  EXPECT_EQ(
      text,
      "[map] the function of 'list | map(2 threads)' failed at point 3 of epoch 0: [mine] expected anything but 3.");
  EXPECT_EQ(bf::error_of([&] { flow.next(); }),
            "[prefetch] expected a pass that goes on, got one that ended with an error. Call start_epoch() or "
            "restore() first.");
  flow.restore(flow.state());
  EXPECT_EQ(bf::error_of([&] { flow.next(); }), text) << "the failed point is tried again";
  flow.start_epoch(1);
  EXPECT_TRUE(flow.next());
}

TEST(DataflowPage, PicturesToLookAt) {
  const bf::testing_support::TempDir dir;
  const std::string path = dir / "sheet.png";
  bf::Flow flow = bf::fake_data({{.shape = {28, 28, 1}}}) | bf::batch(2);
  const std::optional<bf::DataPoint> batch = flow.next();
  bf::write_png(path, bf::image_sheet(bf::rows_of((*batch)[0]), {.columns = 4, .labels = {"ankle boot", "pullover"}}));

  EXPECT_EQ(bf::read_file(path).substr(1, 3), "PNG");
}

TEST(DataflowPage, AFlowFeedsOneOther) {
  bf::Flow flow = bf::from_list(ten_points());
  const bf::Flow batches = flow | bf::batch(2);
  EXPECT_NE(bf::error_of([&] { flow | bf::batch(3); }), "no error");
}

TEST(DataflowPage, FanOut) {
  const std::vector<bf::DataPoint> points = ten_points();
  std::vector<bf::Flow> parts = bf::fan_out(bf::from_list(points), {.consumers = 2});
  std::vector<std::thread> threads;
  std::vector<Values> seen(2);
  for (int k = 0; k < 2; ++k) threads.emplace_back([&, k] { seen[k] = first_components(parts[k]); });
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(seen[0], (Values{0, 2, 4, 6, 8}));
  EXPECT_EQ(seen[1], (Values{1, 3, 5, 7, 9}));
}

TEST(DataflowPage, FlowsOfOnesOwn) {
  bf::Flow flow = Ramp(10) | bf::shuffle(7) | every_other() | bf::batch(5);

  EXPECT_EQ(flow.describe(), "ramp | shuffle | every_other | batch(5)");
  EXPECT_EQ(flow.size(), 1);
  EXPECT_EQ((*flow.next())[0].shape(), (bf::Shape{5}));
  bf::Flow odd = Ramp(3) | every_other();
  EXPECT_EQ(first_components(odd), (Values{0, 2}));
}

TEST(DataflowPage, Speed) {
  bf::Flow flow = bf::fake_data({{.shape = {8}}}, {.size = 100}) | bf::batch(10);
  const bf::FlowSpeed speed = bf::speed_test(flow, {.points = 20, .warmup = 5});
  EXPECT_EQ(speed.points, 20);
  EXPECT_GT(speed.points_per_second, 0);
}
