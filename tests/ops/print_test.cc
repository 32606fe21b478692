#include "belfry/ops/print.h"

#include "belfry/base/log.h"
#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

const bool print_row = gradient_row(
    "Print", {"Print"}, [](const Tensors& x) { return print(square(x[0]), "x", {.first_n = 0}); }, {{{2, 3}}, {{0}}});

class PrintTest : public OpTest {
 protected:
  std::vector<std::string> lines;
  LogRedirect redirect{[this](LogLevel, std::string_view text) { lines.emplace_back(text); }, LogLevel::info};
};

TEST_F(PrintTest, ValuesAreLoggedAndPassedOn) {
  const Tensor x = input(counting({2, 5}));
  EXPECT_EQ(floats(print(x, "x") * 2.f)[9], 18.f);
  EXPECT_EQ(floats(print(x, {cast(x, i32), equal(x, 1.f)}, "both", {.summarize = 1}))[9], 9.f);
  run(print(input(Array(f32, {0})), "nothing"));
  run(print(input(0.5f), "all", {.summarize = -1}));
  run(print(input(counting({2})), "none", {.summarize = 0}));
  EXPECT_EQ(lines, (std::vector<std::string>{"x: [0, 1, 2, ..., 7, 8, 9] f32 [2, 5]",
                                             "both: [0, ..., 9] i32 [2, 5] [false, ..., false] bool [2, 5]",
                                             "nothing: [] f32 [0]", "all: [0.5] f32 []", "none: [...] f32 [2]"}));
}

TEST_F(PrintTest, RunsAreSkippedAsAsked) {
  const Tensor x = placeholder(f32, {});
  const Tensor y = print(print(x, "third", {.every = 3}), "first two", {.first_n = 2});
  Session session(graph);
  for (int i = 0; i < 5; ++i) session.run(y, {{x, Array(static_cast<float>(i))}});
  EXPECT_EQ(lines, (std::vector<std::string>{"third: [0] f32 []", "first two: [0] f32 []", "first two: [1] f32 []",
                                             "third: [3] f32 []"}));
}

TEST_F(PrintTest, APeriodIsOneOrMore) {
  const std::string text = error_of([&] { print(input(1.f), "x", {.every = 0}, "log"); });
  EXPECT_NE(text.find("[Print 'log'] expected .every of 1 or more, got 0"), std::string::npos) << text;
}

}  // namespace
}  // namespace belfry
