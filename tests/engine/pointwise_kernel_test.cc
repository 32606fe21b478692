#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <string>

#include "belfry/base/error.h"
#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/pointwise/pointwise_team.h"
#include "belfry/ops/activation_constants.h"
#include "tests/engine/kernel_testing.h"
#include "tests/engine/ulp.h"

namespace belfry {
namespace {

using place::operand, place::output, place::reg;
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Case {
  PointwiseOp op;
  double bound;  // in units of the last place
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
  using enum PointwiseOp;
  const double v = kValue;
  return {
      {fill, 0.5, [=](double, double, double) { return v; }},
      {copy, 0, [](double a, double, double) { return a; }},
      {add, 0.5, [](double a, double b, double) { return a + b; }},
      {subtract, 0.5, [](double a, double b, double) { return a - b; }},
      {multiply, 0.5, [](double a, double b, double) { return a * b; }},
      {divide, 0.51, [](double a, double b, double) { return a / b; }},
      {maximum, 0, [](double a, double b, double) { return nan_or(a, b, std::max(a, b)); }},
      {minimum, 0, [](double a, double b, double) { return nan_or(a, b, std::min(a, b)); }},
      {power, 1.1, [](double a, double b, double) { return std::pow(a, b); }},
      {fma, 0.51, [](double a, double b, double c) { return std::fma(a, b, c); }},
      {select, 0, [](double a, double b, double c) { return c != 0 ? a : b; }},
      {equal, 0, [](double a, double b, double) { return a == b; }},
      {not_equal, 0, [](double a, double b, double) { return a != b; }},
      {less, 0, [](double a, double b, double) { return a < b; }},
      {less_equal, 0, [](double a, double b, double) { return a <= b; }},
      {greater, 0, [](double a, double b, double) { return a > b; }},
      {greater_equal, 0, [](double a, double b, double) { return a >= b; }},
      {add_value, 0.5, [=](double a, double, double) { return a + v; }},
      {multiply_value, 0.5, [=](double a, double, double) { return a * v; }},
      {subtract_from_value, 0.5, [=](double a, double, double) { return v - a; }},
      {divide_value, 0.51, [=](double a, double, double) { return v / a; }},
      {maximum_value, 0, [=](double a, double, double) { return nan_or(a, a, std::max(a, v)); }},
      {minimum_value, 0, [=](double a, double, double) { return nan_or(a, a, std::min(a, v)); }},
      {power_value, 1.1, [=](double a, double, double) { return std::pow(a, v); }},
      {negate, 0, [](double a, double, double) { return -a; }},
      {abs, 0, [](double a, double, double) { return std::abs(a); }},
      {square, 0.5, [](double a, double, double) { return a * a; }},
      {sqrt, 0.51, [](double a, double, double) { return std::sqrt(a); }},
      {rsqrt, 1.6, [](double a, double, double) { return 1 / std::sqrt(a); }},
      {reciprocal, 0.51, [](double a, double, double) { return 1 / a; }},
      {exp, 1.0, [](double a, double, double) { return std::exp(a); }},
      {expm1, 1.5, [](double a, double, double) { return std::expm1(a); }},
      {log, 1.0, [](double a, double, double) { return std::log(a); }},
      {log1p, 1.5, [](double a, double, double) { return std::log1p(a); }},
      {tanh, 2.5, [](double a, double, double) { return std::tanh(a); }},
      {sigmoid, 2.5, [](double a, double, double) { return exact_sigmoid(a); }},
      {softplus, 2.0,
       [](double a, double, double) { return nan_or(a, a, std::max(a, 0.0) + std::log1p(std::exp(-std::abs(a)))); }},
      {erf, 2.0, [](double a, double, double) { return std::erf(a); }},
      {gelu, 9.0, [](double a, double, double) { return a * exact_share(a); }},
      // Near the slope's zero only the absolute error is small, see vmath_test.cc.
      {gelu_slope, 1e5, [](double a, double, double) { return exact_gelu_slope(a); }},
      {gelu_grad, 1e5, [](double a, double b, double) { return a * exact_gelu_slope(b); }},
      {sin, 1.6, [](double a, double, double) { return std::sin(a); }},
      {cos, 1.6, [](double a, double, double) { return std::cos(a); }},
      {sign, 0, [](double a, double, double) { return exact_sign(a); }},
      {floor, 0, [](double a, double, double) { return std::floor(a); }},
      {ceil, 0, [](double a, double, double) { return std::ceil(a); }},
      {round, 0, [](double a, double, double) { return std::nearbyint(a); }},
      {relu, 0, [](double a, double, double) { return nan_or(a, a, std::max(a, 0.0)); }},
      {relu_grad, 0, [](double a, double b, double) { return b > 0 ? a : 0; }},
      {leaky_relu, 0.5, [=](double a, double, double) { return a > 0 ? a : v * a; }},
      {leaky_relu_grad, 0.5, [=](double a, double b, double) { return b > 0 ? a : v * a; }},
      {elu, 1.5, [](double a, double, double) { return a > 0 ? a : std::expm1(a); }},
      {selu, 2.5, [](double a, double, double) { return kSeluScale * (a > 0 ? a : kSeluAlpha * std::expm1(a)); }},
      {swish, 4.0, [](double a, double, double) { return a * exact_sigmoid(a); }},
      {prelu, 0.5, [](double a, double b, double) { return a > 0 ? a : a * b; }},
      {clip, 0, [](double a, double b, double c) { return nan_or(a, nan_or(b, b, c), std::min(std::max(a, b), c)); }},
      {floor_divide, 0, [](double a, double b, double) { return std::floor(float_quotient(a, b)); }},
      {mod, 0.5, [](double a, double b, double) { return exact_mod(a, b); }},
      {logical_not, 0, [](double a, double, double) { return a == 0; }},
      {is_nan, 0, [](double a, double, double) { return std::isnan(a); }},
      {is_inf, 0, [](double a, double, double) { return std::isinf(a); }},
      {is_finite, 0, [](double a, double, double) { return std::isfinite(a); }},
  };
}

TEST(PointwiseKernels, EveryOperationIsWithinItsErrorBound) {
  ASSERT_EQ(cases().size(), static_cast<std::size_t>(PointwiseOp::count));
  const auto a = probes(-kInf, kInf, 200003);
  const auto n = static_cast<std::int64_t>(a.size());
  auto b = random_values(n, 1, -3, 3), c = random_values(n, 2, -3, 3);
  for (std::size_t i = 0; i < a.size(); i += 5) b[i] = a[i], c[i] = 0;
  for (const Case& test : cases()) {
    std::vector<std::vector<float>> results;
    for (Isa isa : available_isas()) {
      std::vector<float> y(a.size());
      const PointwiseInstruction code[] = {{test.op, output(0), operand(0), operand(1), operand(2), kValue}};
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
      EXPECT_LE(worst, test.bound) << "op " << static_cast<int>(test.op) << " of " << a[at] << ", " << b[at] << ", "
                                   << c[at] << " gave " << y[at];
      for (float& value : y) value = std::isnan(value) ? NAN : value;
      results.push_back(y);
    }
    EXPECT_TRUE(same_bits(results.front(), results.back())) << "op " << static_cast<int>(test.op) << " on two ISAs";
  }
}

// d = (x - mean[row]) * scale[column] + s;  y0 = relu(d);  y1 = d * d
const PointwiseInstruction kChain[] = {{PointwiseOp::subtract, reg(3), operand(0), operand(1)},
                                       {PointwiseOp::fma, reg(3), reg(3), operand(2), operand(3)},
                                       {PointwiseOp::relu, output(0), reg(3)},
                                       {PointwiseOp::square, output(1), reg(3)}};
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
  const PointwiseInstruction code[] = {{PointwiseOp::exp, reg(0), operand(0)},
                                       {PointwiseOp::add, output(0), reg(0), operand(0)}};
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
          const PointwiseInstruction choose[] = {{PointwiseOp::negate, reg(0), operand(0)},
                                                 {PointwiseOp::select, output(0), operand(0), reg(0), operand(1)}};
          const PointwiseOperand operands[] = {{x.data()}, {nullptr, access, given.get()}};
          std::vector<float> y(x.size());
          float* const outputs[] = {y.data()};
          run_pointwise({choose, 2, 1}, {rows, inner, operands, outputs}, isa);
          const PointwiseInstruction compare[] = {{PointwiseOp::greater, output(0), operand(0), operand(1)}};
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
  rejects({PointwiseOp::exp, output(0), reg(0)}, 1, "instruction 0: source 0 is read before anything is written there");
  rejects({PointwiseOp::exp, output(0), operand(1)}, 1, "source 0 is read before");
  rejects({PointwiseOp::exp, operand(0), operand(0)}, 1, "place 16 cannot be written");
  rejects({PointwiseOp::exp, output(1), operand(0)}, 1, "place 33 cannot be written");
  rejects({PointwiseOp::exp, reg(0), operand(0)}, 1, "output 0 is never written");
  rejects({PointwiseOp::exp, output(0), operand(0)}, 99, "a pointwise program with 99 operands");
}

// x + 1 everywhere, in blocks of channels whose last one is not full: the lanes that are no channels become 0.
TEST(PointwiseKernels, ClearThePaddingOfBlocks) {
  const PointwiseInstruction code[] = {
      {PointwiseOp::add_value, place::reg(0), place::operand(0), 0, 0, 1.f},
      {PointwiseOp::multiply, place::output(0), place::reg(0), place::operand(1)}};  // times infinity
  const PointwiseProgram program{code, 2, 1};
  for (const Isa isa : available_isas())
    for (const std::int64_t inner : {4, 8, 16})
      for (const std::int64_t channels : {3, 20, 33})
        for (const std::int64_t rows : {1, 7, 200}) {
          const std::int64_t groups = (channels + inner - 1) / inner, images = 3, n = images * groups * rows * inner;
          const std::vector<float> x = random_values(n, 1);
          std::vector<float> y(static_cast<std::size_t>(n) + 1, -7.f);
          float* const out[] = {y.data()};
          const PointwiseOperand operands[] = {{x.data(), PointwiseAccess::full}, {&kInf, PointwiseAccess::scalar}};
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
