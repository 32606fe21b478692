#include "belfry/ops/ctc.h"

#include <cmath>
#include <limits>

#include "belfry/ops/array_ops.h"
#include "belfry/ops/softmax.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using Labels = std::vector<std::int32_t>;
using X = const Tensors&;

Tensor ints32(const Shape& shape, const Labels& values) { return constant(Array::of<std::int32_t>(shape, values)); }

// Two sequences of up to four steps over three classes: "1 1" needs a blank between, "0" is short.
Tensor two_sequences(const Tensor& logits, int blank = -1, bool time_major = true) {
  return ctc_loss({logits, ints32({2, 2}, {1, 1, 0, 99}), ints32({2}, {4, 3}), ints32({2}, {2, 1})},
                  {.blank = blank, .time_major = time_major});
}

const bool ctc_rows[] = {
    gradient_row("CtcLoss", {"CtcLoss"}, [](X x) { return two_sequences(x[0]); }, {{{4, 2, 3}}},
                 {.second_order = false}),
    gradient_row("CtcLossBatchMajor", {"CtcLoss"}, [](X x) { return two_sequences(x[0], 2, false); }, {{{2, 4, 3}}},
                 {.second_order = false}),
};

class CtcTest : public OpTest {
 protected:
  // The sum over all paths of `steps` classes that become the labels when repeats and then blanks are taken out.
  static double by_enumeration(const Array& logits, std::int64_t sequence, std::int64_t steps, const Labels& labels,
                               int blank) {
    const std::int64_t batch = logits.shape()[1], classes = logits.shape()[2];
    const auto log_probability = [&](std::int64_t t, std::int64_t k) {
      const std::int64_t row = (t * batch + sequence) * classes;
      double sum = 0;
      for (std::int64_t i = 0; i < classes; ++i) sum += std::exp(logits.item(row + i));
      return logits.item(row + k) - std::log(sum);
    };
    std::int64_t paths = 1;
    for (std::int64_t t = 0; t < steps; ++t) paths *= classes;
    double total = 0;
    for (std::int64_t path = 0; path < paths; ++path) {
      Labels read;
      double log_path = 0;
      std::int64_t rest = path, before = -1;
      for (std::int64_t t = 0; t < steps; ++t, rest /= classes) {
        const std::int64_t k = rest % classes;
        log_path += log_probability(t, k);
        if (k != before && k != blank) read.push_back(static_cast<std::int32_t>(k));
        before = k;
      }
      if (read == labels) total += std::exp(log_path);
    }
    return -std::log(total);
  }

  static Array wave(const Shape& shape) {
    Array x(f64, shape);
    for (std::int64_t i = 0; i < x.elements(); ++i) x.set_item(i, 2 * std::sin(static_cast<double>(i * i) + 1));
    return x;
  }
};

TEST_F(CtcTest, TheLossIsThatOfAllPathsAddedUp) {
  const Array x = wave({5, 4, 4});
  const std::vector<Labels> labels{{1, 1}, {2, 0, 2}, {}, {1}};
  const Labels steps{5, 4, 3, 1}, padded{1, 1, -7, 2, 0, 2, -7, -7, -7, 1, -7, -7}, counts{2, 3, 0, 1};
  for (const DType dtype : {f32, f64})
    for (const DType index : {i32, i64}) {
      const Tensor loss = ctc_loss({input(x.cast(dtype)), cast(ints32({4, 3}, padded), index),
                                    cast(ints32({4}, steps), index), cast(ints32({4}, counts), index)},
                                   {.blank = 3});
      const Array got = run(loss);
      for (std::int64_t i = 0; i < 4; ++i)
        EXPECT_NEAR(got.item(i),
                    by_enumeration(x, i, steps[static_cast<std::size_t>(i)], labels[static_cast<std::size_t>(i)], 3),
                    dtype == f64 ? 1e-12 : 1e-5)
            << i;
    }
}

TEST_F(CtcTest, TheBlankMayBeAnyClass) {
  const Array x = wave({4, 1, 3});
  const Tensor loss = ctc_loss({input(x), ints32({1, 2}, {2, 1}), ints32({1}, {4}), ints32({1}, {2})}, {.blank = 0});
  EXPECT_NEAR(run(loss).item(0), by_enumeration(x, 0, 4, {2, 1}, 0), 1e-12);
}

// /usr/bin/python3 -c "import torch; x = torch.sin(torch.arange(24.).double() ** 2 + 1).mul(2).reshape(4, 2, 3)
// .requires_grad_(); loss = torch.nn.functional.ctc_loss(x.log_softmax(-1), torch.tensor([[1, 1], [0, 0]]),
// torch.tensor([4, 3]), torch.tensor([2, 1]), blank=2, reduction='none'); loss.sum().backward();
// print(loss.tolist(), x.grad.flatten().tolist())"
TEST_F(CtcTest, LossAndGradientAreThoseOfPyTorch) {
  const Tensor x = input(wave({4, 2, 3})), loss = two_sequences(x);
  const Array got = run(loss), slope = run(gradients({loss}, {x})[0]);
  const double wanted[] = {1.6323508695592102, 1.191017533506232};
  const double wanted_slope[] = {0.4602808872262184,
                                 -0.47132504140249815,
                                 0.011044154176279783,
                                 -0.05909301377248225,
                                 0.02878614958853021,
                                 0.030306864183952037,
                                 0.045304247802664545,
                                 0.03170971885115051,
                                 -0.07701396665381506,
                                 -0.5392744431785206,
                                 0.3502041366110648,
                                 0.1890703065674558,
                                 0.26938142577596325,
                                 -0.15908930952743325,
                                 -0.11029211624852998,
                                 -0.10833398755952936,
                                 0.05104847419181978,
                                 0.05728551336770958,
                                 0.2423027598553785,
                                 -0.3894284053837728,
                                 0.14712564552839433,
                                 0.0,
                                 0.0,
                                 0.0};
  for (std::int64_t i = 0; i < 2; ++i) EXPECT_NEAR(got.item(i), wanted[i], 1e-12);
  for (std::int64_t i = 0; i < 24; ++i) EXPECT_NEAR(slope.item(i), wanted_slope[i], 1e-12) << i;
}

TEST_F(CtcTest, ImpossibleSequencesHaveAnInfiniteLossAndNoGradient) {
  const Tensor x = input(wave({2, 3, 3}));
  const Tensor loss = ctc_loss({x, ints32({3, 2}, {1, 1, 0, 1, 0, 0}), ints32({3}, {2, 2, 0}), ints32({3}, {2, 2, 0})});
  const Array y = run(loss), g = run(gradients({loss}, {x})[0]);
  EXPECT_EQ(y.item(0), std::numeric_limits<double>::infinity()) << "a repeated label needs three steps";
  EXPECT_TRUE(std::isfinite(y.item(1)));
  EXPECT_EQ(y.item(2), 0) << "nothing in no time is certain";
  for (std::int64_t t = 0; t < 2; ++t)
    for (std::int64_t k = 0; k < 3; ++k) {
      EXPECT_EQ(g.item((t * 3 + 0) * 3 + k), 0);
      EXPECT_NE(g.item((t * 3 + 1) * 3 + k), 0);
      EXPECT_EQ(g.item((t * 3 + 2) * 3 + k), 0);
    }
  const Tensor none = placeholder(f32, {4, kAny, 3}), no_lengths = input(Array(i32, {0}));
  const Tensor of_none = ctc_loss({none, input(Array(i32, {0, 2})), no_lengths, no_lengths});
  EXPECT_EQ(run(of_none, {{none, Array(f32, {4, 0, 3})}}).shape(), Shape({0}));
}

TEST_F(CtcTest, WrongLabelsAndLengthsEndTheRun) {
  const Tensor x = input(wave({4, 2, 3})), labels = placeholder(i32, {2, 2}), steps = placeholder(i32, {2}),
               counts = placeholder(i32, {2});
  const Tensor loss = ctc_loss({x, labels, steps, counts}, {}, "ctc");
  const auto fails = [&](const Labels& l, const Labels& s, const Labels& c, const char* wanted) {
    const std::string text = error_of([&] {
      run(loss, {{labels, Array::of<std::int32_t>({2, 2}, l)},
                 {steps, Array::of<std::int32_t>({2}, s)},
                 {counts, Array::of<std::int32_t>({2}, c)}});
    });
    EXPECT_NE(text.find(wanted), std::string::npos) << text;
    EXPECT_NE(text.find("(made at ctc_test.cc:"), std::string::npos) << text;
  };
  fails({0, 1, 0, 2}, {4, 4}, {2, 2},
        "[CtcLoss 'ctc'] expected labels in [0, 3) other than the blank 2, got 2 as label 1 of sequence 1");
  fails({0, 1, -1, 0}, {4, 4}, {2, 2}, "got -1 as label 0 of sequence 1");
  fails({0, 1, 0, 1}, {4, 5}, {2, 2}, "expected logit_lengths in [0, 4], got 5 for sequence 1");
  fails({0, 1, 0, 1}, {4, 4}, {3, 2}, "expected label_lengths in [0, 2], got 3 for sequence 0");
}

TEST_F(CtcTest, MistakesAreFoundWhenDefined) {
  const Tensor x = placeholder(f32, {4, 2, 3}), labels = placeholder(i32, {2, 2}), lengths = placeholder(i32, {2});
  const auto expect_error = [](const auto& f, const char* wanted) {
    const std::string text = error_of(f);
    EXPECT_NE(text.find(wanted), std::string::npos) << text;
  };
  expect_error([&] { ctc_loss({x, labels, lengths, lengths}, {.blank = 3}); },
               "expected a blank among 3 classes, got 3");
  expect_error([&] { ctc_loss({x, labels, placeholder(i32, {3}), lengths}); },
               "expected logit_lengths of shape [2], got [3]");
  expect_error([&] { ctc_loss({x, labels, placeholder(i64, {2}), lengths}); },
               "expected labels and lengths of one type, got i32, i64 and i32. Use cast()");
  expect_error([&] { ctc_loss({placeholder(f32, {4, 3}), labels, lengths, lengths}, {.time_major = false}); },
               "expected logits of shape [time, batch, classes], got [4, 3]");
  const Tensor slope = gradients({two_sequences(x)}, {x})[0];
  expect_error([&] { gradients({slope}, {x}); }, "expected first derivatives only");
}

}  // namespace
}  // namespace belfry
