#include "belfry/ops/check_numerics.h"

#include <limits>

#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

const bool check_numerics_row =
    gradient_row("CheckNumerics", {"CheckNumerics"}, [](const Tensors& x) { return check_numerics(square(x[0]), "x"); },
                 {{{2, 3}}, {{}}, {{0, 3}}});

class CheckNumericsTest : public OpTest {};

TEST_F(CheckNumericsTest, PassesFiniteValuesThrough) {
  const Tensor x = placeholder(f32, {kAny, 3});
  EXPECT_TRUE(equal(run(check_numerics(x, "x"), {{x, counting({2, 3})}}), counting({2, 3})));
}

TEST_F(CheckNumericsTest, NamesTheMessageTheOpTheLineAndTheFirstBadElement) {
  const Tensor x = placeholder(f32, {kAny, 3});
  const Tensor y = check_numerics(x, "the loss", "check");
  const std::string line = std::to_string(__LINE__ - 1);
  Array bad = counting({2, 3});
  bad.set_item(4, std::numeric_limits<double>::quiet_NaN());
  bad.set_item(5, std::numeric_limits<double>::infinity());
  Session session(graph);
  try {
    session.run(y, {{x, bad}});
    ADD_FAILURE() << "NaN was accepted";
  } catch (const NumericError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("[CheckNumerics 'check'] the loss: expected finite values, got nan at [1, 1] of [2, 3]"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("check_numerics_test.cc:" + line), std::string::npos) << text;
  }
  bad.set_item(4, 0);
  EXPECT_NE(error_of([&] { session.run(y, {{x, bad}}); }).find("got inf at [1, 2]"), std::string::npos);
  EXPECT_TRUE(equal(session.run(y, {{x, counting({2, 3})}}), counting({2, 3})));  // the session is still usable
}

TEST_F(CheckNumericsTest, TheFirstOfManyIsFoundByAnyNumberOfThreads) {
  Array big = Array::zeros(f64, {100000});
  for (std::int64_t i : {99999, 70001, 60000}) big.set_item(i, -std::numeric_limits<double>::infinity());
  const Tensor y = check_numerics(constant(big), "big");
  EXPECT_NE(error_of([&] { run(y); }).find("got -inf at [60000] of [100000]"), std::string::npos);
}

TEST_F(CheckNumericsTest, OnlyFloatsCanBeWrong) {
  EXPECT_NE(error_of([] { check_numerics(placeholder(i32, {2}), "x"); }).find("expected x of a floating type, got i32"),
            std::string::npos);
}

}  // namespace
}  // namespace belfry
