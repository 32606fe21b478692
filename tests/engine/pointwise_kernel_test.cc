#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <string>

#include "belfry/base/error.h"
#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/pointwise/pointwise_ops.h"
#include "belfry/engine/cpu/pointwise/pointwise_team.h"
#include "belfry/ops/internal/activation_constants.h"
#include "tests/engine/kernel_testing.h"
#include "tests/engine/ulp.h"

namespace belfry {
namespace {

using place::operand, place::output, place::reg;
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Case {
  const char* op;  // its name in the graph
  double bound;    // in units of the last place
  std::function<double(double a, double b, double c)> exact;
};

double exact_sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double exact_share(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double exact_gelu_slope(double x) {
  const double bell = std::exp(-0.5 * x * x) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return exact_share(x) + (bell == 0 ? 0 : x * bell);
}
double exact_sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
double nan_or(double a, double b, double value) { return std::isnan(a) || std::isnan(b) ? NAN : value; }

double float_quotient(double a, double b) { return static_cast<float>(a) / static_cast<float>(b); }
double exact_mod(double a, double b) {
  const double r = std::fmod(a, b);
  return (r < 0 && b > 0) || (r > 0 && b < 0) ? r + b : r;
}

constexpr float kValue = 0.3f;

std::vector<Case> cases() {
  const double v = kValue;
  return {
      {"Cast", 0, [](double a, double, double) { return a; }},
      {"Add", 0.5, [](double a, double b, double) { return a + b; }},
      {"Sub", 0.5, [](double a, double b, double) { return a - b; }},
      {"Mul", 0.5, [](double a, double b, double) { return a * b; }},
      {"Div", 0.51, [](double a, double b, double) { return a / b; }},
      {"Maximum", 0, [](double a, double b, double) { return nan_or(a, b, std::max(a, b)); }},
      {"Minimum", 0, [](double a, double b, double) { return nan_or(a, b, std::min(a, b)); }},
      {"Pow", 1.1, [](double a, double b, double) { return std::pow(a, b); }},
      {"Select", 0, [](double a, double b, double c) { return a != 0 ? b : c; }},
      {"Equal", 0, [](double a, double b, double) { return a == b; }},
      {"NotEqual", 0, [](double a, double b, double) { return a != b; }},
      {"Less", 0, [](double a, double b, double) { return a < b; }},
      {"LessEqual", 0, [](double a, double b, double) { return a <= b; }},
      {"Greater", 0, [](double a, double b, double) { return a > b; }},
      {"GreaterEqual", 0, [](double a, double b, double) { return a >= b; }},
      {"Neg", 0, [](double a, double, double) { return -a; }},
      {"Abs", 0, [](double a, double, double) { return std::abs(a); }},
      {"Square", 0.5, [](double a, double, double) { return a * a; }},
      {"Sqrt", 0.51, [](double a, double, double) { return std::sqrt(a); }},
      {"Rsqrt", 1.6, [](double a, double, double) { return 1 / std::sqrt(a); }},
      {"Reciprocal", 0.51, [](double a, double, double) { return 1 / a; }},
      {"Exp", 1.0, [](double a, double, double) { return std::exp(a); }},
      {"Expm1", 1.5, [](double a, double, double) { return std::expm1(a); }},
      {"Log", 1.0, [](double a, double, double) { return std::log(a); }},
      {"Log1p", 1.5, [](double a, double, double) { return std::log1p(a); }},
      {"Tanh", 2.5, [](double a, double, double) { return std::tanh(a); }},
      {"Sigmoid", 2.5, [](double a, double, double) { return exact_sigmoid(a); }},
      {"Softplus", 2.0,
       [](double a, double, double) { return nan_or(a, a, std::max(a, 0.0) + std::log1p(std::exp(-std::abs(a)))); }},
      {"Erf", 2.0, [](double a, double, double) { return std::erf(a); }},
      {"Gelu", 9.0, [](double a, double, double) { return a * exact_share(a); }},
      // Near the slope's zero only the absolute error is small, see vmath_test.cc.
      {"GeluGrad", 1e5, [](double a, double b, double) { return a * exact_gelu_slope(b); }},
      {"Sin", 1.6, [](double a, double, double) { return std::sin(a); }},
      {"Cos", 1.6, [](double a, double, double) { return std::cos(a); }},
      {"Sign", 0, [](double a, double, double) { return exact_sign(a); }},
      {"Floor", 0, [](double a, double, double) { return std::floor(a); }},
      {"Ceil", 0, [](double a, double, double) { return std::ceil(a); }},
      {"Round", 0, [](double a, double, double) { return std::nearbyint(a); }},
      {"Relu", 0, [](double a, double, double) { return nan_or(a, a, std::max(a, 0.0)); }},
      {"ReluGrad", 0, [](double a, double b, double) { return b > 0 ? a : 0; }},
      {"LeakyRelu", 0.5, [=](double a, double, double) { return a > 0 ? a : v * a; }},
      {"LeakyReluGrad", 0.5, [=](double a, double b, double) { return b > 0 ? a : v * a; }},
      {"Elu", 1.5, [](double a, double, double) { return a > 0 ? a : std::expm1(a); }},
      {"Selu", 2.5, [](double a, double, double) { return kSeluScale * (a > 0 ? a : kSeluAlpha * std::expm1(a)); }},
      {"Swish", 4.0, [](double a, double, double) { return a * exact_sigmoid(a); }},
      {"Prelu", 0.5, [](double a, double b, double) { return a > 0 ? a : a * b; }},
      {"ClipByValue", 0,
       [](double a, double b, double c) { return nan_or(a, nan_or(b, b, c), std::min(std::max(a, b), c)); }},
      {"FloorDiv", 0, [](double a, double b, double) { return std::floor(float_quotient(a, b)); }},
      {"Mod", 0.5, [](double a, double b, double) { return exact_mod(a, b); }},
      {"LogicalNot", 0, [](double a, double, double) { return a == 0; }},
      // Of two bools, 0 and 1, as what they are on other numbers.
      {"LogicalAnd", 0.5, [](double a, double b, double) { return a * b; }},
      {"LogicalOr", 0, [](double a, double b, double) { return nan_or(a, b, std::max(a, b)); }},
      {"LogicalXor", 0, [](double a, double b, double) { return a != b; }},
      {"IsNan", 0, [](double a, double, double) { return std::isnan(a); }},
      {"IsInf", 0, [](double a, double, double) { return std::isinf(a); }},
      {"IsFinite", 0, [](double a, double, double) { return std::isfinite(a); }},
  };
}

TEST(PointwiseKernels, EveryOperationIsWithinItsErrorBound) {
  ASSERT_EQ(cases().size(), static_cast<std::size_t>(pointwise_op_count()));
  const auto a = probes(-kInf, kInf, 200003);
  const auto n = static_cast<std::int64_t>(a.size());
  auto b = random_values(n, 1, -3, 3), c = random_values(n, 2, -3, 3);
  for (std::size_t i = 0; i < a.size(); i += 5) b[i] = a[i], c[i] = 0;
  for (const Case& test : cases()) {
    std::vector<std::vector<float>> results;
    for (Isa isa : available_isas()) {
      std::vector<float> y(a.size());
      const PointwiseInstruction code[] = {
          {pointwise_op(test.op), output(0), operand(0), operand(1), operand(2), kValue}};
      const PointwiseOperand operands[] = {{a.data()}, {b.data()}, {c.data()}};
      float* const outputs[] = {y.data()};
      check_pointwise({code, 3, 1});
      run_pointwise({code, 3, 1}, {1, n, operands, outputs}, isa);
      double worst = 0;
      std::size_t at = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const double error = ulp_error(y[i], test.exact(a[i], b[i], c[i]));
        if (error > worst) worst = error, at = i;
      }
      EXPECT_LE(worst, test.bound) << test.op << " of " << a[at] << ", " << b[at] << ", " << c[at] << " gave " << y[at];
      for (float& value : y) value = std::isnan(value) ? NAN : value;
      results.push_back(y);
    }
    EXPECT_TRUE(same_bits(results.front(), results.back())) << test.op << " on two ISAs";
  }
}

TEST(PointwiseKernels, AreFoundByTheNameOfTheOp) {
  EXPECT_EQ(find_pointwise(op_kind("Mul")), pointwise_op("Mul"));
  EXPECT_NE(pointwise_op("Mul"), pointwise_op("Add"));
  EXPECT_FALSE(find_pointwise(op_kind("MatMul")));
  EXPECT_EQ(source_count(pointwise_op("Exp")), 1);
  EXPECT_EQ(source_count(pointwise_op("ReluGrad")), 2);
  EXPECT_EQ(source_count(pointwise_op("Select")), 3);
}

// What the rows say of zeros, tried on each of them: the other operands are numbers.
TEST(PointwiseKernels, ZerosGiveZeroWhereTheRowSaysSo) {
  for (const Case& test : cases()) {
    const auto needed = static_cast<unsigned>(zero_if(pointwise_op(test.op)));
    float values[3];
    for (unsigned i = 0; i < 3; ++i) values[i] = (needed & 1u << i) != 0 ? 0.f : 1.5f;
    float y = -7;
    const PointwiseInstruction code[] = {
        {pointwise_op(test.op), output(0), operand(0), operand(1), operand(2), kValue}};
    const PointwiseOperand operands[] = {{&values[0]}, {&values[1]}, {&values[2]}};
    float* const outputs[] = {&y};
    run_pointwise({code, 3, 1}, {1, 1, operands, outputs});
    EXPECT_TRUE(needed == 0 || y == 0.f) << test.op;
  }
}

// d = (x - mean[row]) * scale[column] + s;  y0 = relu(d);  y1 = d * d
const PointwiseInstruction kChain[] = {{pointwise_op("Sub"), reg(3), operand(0), operand(1)},
                                       {pointwise_op("Mul"), reg(3), reg(3), operand(2)},
                                       {pointwise_op("Add"), reg(3), reg(3), operand(3)},
                                       {pointwise_op("Relu"), output(0), reg(3)},
                                       {pointwise_op("Square"), output(1), reg(3)}};
const PointwiseProgram kChainProgram{kChain, 4, 2};

void expect_chain(Isa isa, std::int64_t rows, std::int64_t inner) {
  const auto x = random_values(rows * inner, 3), mean = random_values(rows, 4), scale = random_values(inner, 5);
  const float shift = 0.125f;
  std::vector<float> y0(x.size() + 1, -7.f), y1 = y0;  // one more, which must stay
  const PointwiseOperand operands[] = {{x.data(), PointwiseAccess::full},
                                       {mean.data(), PointwiseAccess::column},
                                       {scale.data(), PointwiseAccess::row},
                                       {&shift, PointwiseAccess::scalar}};
  float* const outputs[] = {y0.data(), y1.data()};
  run_pointwise(kChainProgram, {rows, inner, operands, outputs}, isa);
  for (std::int64_t i = 0; i < rows * inner; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto row = static_cast<std::size_t>(i / inner), column = static_cast<std::size_t>(i % inner);
    const double d = (x[at] - mean[row]) * scale[column] + shift;
    ASSERT_NEAR(y0[at], std::max(d, 0.0), 2e-6) << rows << " x " << inner << " at " << i;
    ASSERT_NEAR(y1[at], d * d, 1e-5) << rows << " x " << inner << " at " << i;
  }
  EXPECT_EQ(y0.back(), -7.f);
  EXPECT_EQ(y1.back(), -7.f);
}

TEST(PointwiseKernels, ChainsWithEveryBroadcastMatchAtEveryShape) {
  check_pointwise(kChainProgram);
  for (Isa isa : available_isas()) {
    for (std::int64_t inner = 0; inner <= 70; ++inner) {
      for (std::int64_t rows : {0, 1, 2, 7, 65}) expect_chain(isa, rows, inner);
    }
    for (std::int64_t inner : {511, 512, 513, 520, 1024, 3000}) {
      for (std::int64_t rows : {1, 3, 20}) expect_chain(isa, rows, inner);
    }
  }
}

TEST(PointwiseKernels, OneAndTwoThreadsGiveTheSameBits) {
  const std::int64_t rows = 211, inner = 777;
  const auto x = random_values(rows * inner, 6), mean = random_values(rows, 7), scale = random_values(inner, 8);
  const PointwiseOperand operands[] = {{x.data(), PointwiseAccess::full},
                                       {mean.data(), PointwiseAccess::column},
                                       {scale.data(), PointwiseAccess::row},
                                       {mean.data(), PointwiseAccess::scalar}};
  for (Isa isa : available_isas()) {
    std::vector<float> results[2][2];
    for (int threads : {1, 2}) {
      TeamScope team(threads);
      auto& result = results[threads - 1];
      for (auto& values : result) values.resize(x.size());
      float* const outputs[] = {result[0].data(), result[1].data()};
      run_pointwise(kChainProgram, {rows, inner, operands, outputs}, isa);
    }
    EXPECT_TRUE(same_bits(results[0][0], results[1][0]) && same_bits(results[0][1], results[1][1]));
  }
}

TEST(PointwiseKernels, AnOutputMayOverwriteItsOperand) {
  auto x = random_values(5000, 9);
  const auto before = x;
  const PointwiseInstruction code[] = {{pointwise_op("Exp"), reg(0), operand(0)},
                                       {pointwise_op("Add"), output(0), reg(0), operand(0)}};
  const PointwiseOperand operands[] = {{x.data()}};
  float* const outputs[] = {x.data()};
  run_pointwise({code, 1, 1}, {50, 100, operands, outputs});
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], std::exp(before[i]) + before[i], 1e-5);
}

// y = given ? x : -x, and whether x > limit, with the bools of every access: full, a row, a column and one.
TEST(PointwiseKernels, BoolsAreReadAndWritten) {
  for (const Isa isa : available_isas())
    for (const std::int64_t rows : {1, 3, 40})
      for (const std::int64_t inner : {1, 5, 64, 700}) {
        const std::vector<float> x = random_values(rows * inner, 1);
        for (const PointwiseAccess access :
             {PointwiseAccess::full, PointwiseAccess::row, PointwiseAccess::column, PointwiseAccess::scalar}) {
          const auto given = std::make_unique<bool[]>(x.size());
          for (std::size_t i = 0; i < x.size(); ++i) given[i] = i % 3 != 1;
          const auto at = [&](std::int64_t i) {
            if (access == PointwiseAccess::full) return given[static_cast<std::size_t>(i)];
            if (access == PointwiseAccess::row) return given[static_cast<std::size_t>(i % inner)];
            return given[access == PointwiseAccess::column ? static_cast<std::size_t>(i / inner) : 0];
          };
          const PointwiseInstruction choose[] = {{pointwise_op("Neg"), reg(0), operand(0)},
                                                 {pointwise_op("Select"), output(0), operand(1), operand(0), reg(0)}};
          const PointwiseOperand operands[] = {{x.data()}, {nullptr, access, given.get()}};
          std::vector<float> y(x.size());
          float* const outputs[] = {y.data()};
          run_pointwise({choose, 2, 1}, {rows, inner, operands, outputs}, isa);
          const PointwiseInstruction compare[] = {{pointwise_op("Greater"), output(0), operand(0), operand(1)}};
          const auto above = std::make_unique<bool[]>(x.size() + 1);
          above[x.size()] = true;
          float* const none[] = {nullptr};
          run_pointwise({compare, 2, 1}, {rows, inner, operands, none, above.get()}, isa);
          for (std::int64_t i = 0; i < rows * inner; ++i) {
            const auto k = static_cast<std::size_t>(i);
            ASSERT_EQ(y[k], at(i) ? x[k] : -x[k]) << rows << " x " << inner << " at " << i;
            ASSERT_EQ(above[k], x[k] > (at(i) ? 1.f : 0.f)) << rows << " x " << inner << " at " << i;
          }
          EXPECT_TRUE(above[x.size()]) << "nothing behind the end is touched";
        }
      }
}

TEST(PointwiseKernels, MalformedProgramsAreFound) {
  const auto rejects = [](PointwiseInstruction code, int operands, const std::string& text) {
    try {
      check_pointwise({{&code, 1}, operands, 1});
      ADD_FAILURE() << text;
    } catch (const InternalError& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  rejects({pointwise_op("Exp"), output(0), reg(0)}, 1,
          "instruction 0: source 0 is read before anything is written there");
  rejects({pointwise_op("Exp"), output(0), operand(1)}, 1, "source 0 is read before");
  rejects({pointwise_op("Exp"), operand(0), operand(0)}, 1, "place 16 cannot be written");
  rejects({pointwise_op("Exp"), output(1), operand(0)}, 1, "place 33 cannot be written");
  rejects({pointwise_op("Exp"), reg(0), operand(0)}, 1, "output 0 is never written");
  rejects({pointwise_op("Exp"), output(0), operand(0)}, 99, "a pointwise program with 99 operands");
}

// x + 1 everywhere, in blocks of channels whose last one is not full: the lanes that are no channels become 0.
TEST(PointwiseKernels, ClearThePaddingOfBlocks) {
  const PointwiseInstruction code[] = {
      {pointwise_op("Add"), place::reg(0), place::operand(0), place::operand(2)},
      {pointwise_op("Mul"), place::output(0), place::reg(0), place::operand(1)}};  // times infinity
  const PointwiseProgram program{code, 3, 1};
  const float one = 1;
  for (const Isa isa : available_isas())
    for (const std::int64_t inner : {4, 8, 16})
      for (const std::int64_t channels : {3, 20, 33})
        for (const std::int64_t rows : {1, 7, 200}) {
          const std::int64_t groups = (channels + inner - 1) / inner, images = 3, n = images * groups * rows * inner;
          const std::vector<float> x = random_values(n, 1);
          std::vector<float> y(static_cast<std::size_t>(n) + 1, -7.f);
          float* const out[] = {y.data()};
          const PointwiseOperand operands[] = {
              {x.data(), PointwiseAccess::full}, {&kInf, PointwiseAccess::scalar}, {&one, PointwiseAccess::scalar}};
          for (const int threads : {1, 2}) {
            const TeamScope team(threads);
            run_pointwise(program,
                          {.rows = 1,
                           .inner = n,
                           .operands = operands,
                           .outputs = out,
                           .padding = {.slab = rows * inner,
                                       .groups = groups,
                                       .inner = inner,
                                       .first = channels - (groups - 1) * inner}},
                          isa);
            for (std::int64_t i = 0; i < n; ++i) {
              const std::int64_t channel = i / (rows * inner) % groups * inner + i % inner;
              const float value = x[static_cast<std::size_t>(i)] + 1 > 0 ? kInf : -kInf;
              ASSERT_EQ(y[static_cast<std::size_t>(i)], channel < channels ? value : 0.f)
                  << channels << " channels by " << inner << ", " << rows << " rows, element " << i;
            }
            EXPECT_EQ(y.back(), -7.f) << "nothing behind the end is touched";
          }
        }
}

}  // namespace
}  // namespace belfry
