#include "belfry/ops/einsum.h"

#include <map>

#include "belfry/ops/broadcast.h"
#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

Maker einsum_of(const char* equation) {
  return [equation](X x) { return einsum(equation, x); };
}

const bool einsum_rows[] = {
    gradient_row("MatchSizes", {"MatchSizes"}, [](X x) { return match_sizes(x[0] * x[0], {1}, x[1], {0}); },
                 {{{2, 3}, {3, 2}}, {{0, 3}, {3}}}),
    gradient_row("EinsumProduct", {"MatMul"}, einsum_of("ij,jk->ki"), {{{2, 3}, {3, 2}}, {{2, 0}, {0, 2}}}),
    gradient_row("EinsumBatches", {"MatMul"}, einsum_of("bqhd,bkhd->bhqk"), {{{2, 2, 1, 3}, {2, 2, 1, 3}}}),
    gradient_row("EinsumMergedAxes", {"MatMul"}, einsum_of("bijk,bjkl->blik"), {{{1, 2, 2, 2}, {1, 2, 2, 2}}}),
    gradient_row("EinsumThree", {"Mul"}, einsum_of("ij,j,jk->ik"), {{{2, 2}, {2}, {2, 3}}}),
    gradient_row("EinsumDiagonal", {"BandPart"}, einsum_of("iji->j"), {{{2, 3, 2}}}),
};

// By its definition: over all values of all letters. No "...".
Array naive(const std::string& equation, const std::vector<Array>& operands) {
  const std::size_t arrow = equation.find("->");
  std::vector<std::string> terms(1);
  for (char c : equation.substr(0, arrow)) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  const std::string output = equation.substr(arrow + 2);
  std::map<char, std::int64_t> size, at;
  for (std::size_t i = 0; i < terms.size(); ++i)
    for (std::size_t axis = 0; axis < terms[i].size(); ++axis)
      size[terms[i][axis]] = operands[i].shape()[static_cast<int>(axis)];
  std::int64_t all = 1;
  for (const auto& [letter, n] : size) all *= n;
  const auto offset = [&](const std::string& term) {
    std::int64_t out = 0;
    for (char letter : term) out = out * size[letter] + at[letter];
    return out;
  };
  Shape shape;
  for (char letter : output) shape.push_back(size[letter]);
  Array out = Array::zeros(f64, shape);
  for (std::int64_t n = 0; n < all; ++n) {
    std::int64_t rest = n;
    for (const auto& [letter, count] : size) {
      at[letter] = rest % count;
      rest /= count;
    }
    double product = 1;
    for (std::size_t i = 0; i < terms.size(); ++i) product *= operands[i].item(offset(terms[i]));
    out.set_item(offset(output), out.item(offset(output)) + product);
  }
  return out;
}

class EinsumTest : public OpTest {
 protected:
  // Numbers without a pattern, exact in f32.
  static Array numbers(const Shape& shape, std::int64_t seed) {
    Array out(f32, shape);
    for (std::int64_t i = 0; i < out.elements(); ++i)
      out.set_item(i, static_cast<double>((i * 7 + seed * 5 + i * i % 11) % 13 - 6) / 4);
    return out;
  }
  static Shape unknown(const Shape& shape) {
    Shape out;
    for (int i = 0; i < shape.rank(); ++i) out.push_back(kAny);
    return out;
  }

  // einsum(equation) of operands of these shapes, known or not before a run, against naive(expanded).
  void expect_sum_of_products(const std::string& equation, const std::string& expanded,
                              const std::vector<Shape>& shapes) {
    std::vector<Array> values;
    for (const Shape& shape : shapes) values.push_back(numbers(shape, static_cast<std::int64_t>(values.size())));
    const Array wanted = naive(expanded, values);
    for (const bool known : {true, false}) {
      Tensors operands;
      Feeds feeds;
      for (const Array& value : values) {
        operands.push_back(placeholder(f32, known ? value.shape() : unknown(value.shape())));
        feeds.emplace_back(operands.back(), value);
      }
      const Tensor y = einsum(equation, operands);
      EXPECT_TRUE(compatible(y.shape(), wanted.shape())) << equation << ": " << to_string(y.shape());
      if (known) {
        EXPECT_TRUE(y.shape().is_concrete()) << equation << ": " << to_string(y.shape());
      }
      const Array got = run(y, feeds);
      ASSERT_EQ(got.shape(), wanted.shape()) << equation;
      for (std::int64_t i = 0; i < got.elements(); ++i)
        ASSERT_NEAR(got.item(i), wanted.item(i), 1e-4) << equation << (known ? "" : ", sizes unknown") << " at " << i;
    }
  }
  void expect_sum_of_products(const std::string& equation, const std::vector<Shape>& shapes) {
    expect_sum_of_products(equation, equation, shapes);
  }

  template <class F>
  void expect_error(F&& f, const std::string& wanted) {
    const std::string text = error_of(f);
    EXPECT_EQ(text.substr(0, wanted.size()), wanted);
    EXPECT_NE(text.find("(made at einsum_test.cc:"), std::string::npos) << text;
  }
};

TEST_F(EinsumTest, OneOperandIsTransposedSummedOrItsDiagonalTaken) {
  expect_sum_of_products("ijk->kij", {{2, 3, 4}});
  expect_sum_of_products("ijk->j", {{2, 3, 4}});
  expect_sum_of_products("ij->", {{2, 3}});
  expect_sum_of_products("ij->ij", {{2, 3}});
  expect_sum_of_products("ii->i", {{3, 3}});
  expect_sum_of_products("iji->ij", {{3, 2, 3}});
  expect_sum_of_products("iijj->ij", {{3, 3, 2, 2}});
  expect_sum_of_products("iii->i", {{3, 3, 3}});
  expect_sum_of_products("->", {{}});
}

TEST_F(EinsumTest, TwoOperandsInEveryOrder) {
  for (const char* out : {"ik", "ki"}) {
    const std::string to = std::string("->") + out;
    expect_sum_of_products("ij,jk" + to, {{2, 3}, {3, 4}});
    expect_sum_of_products("ji,jk" + to, {{3, 2}, {3, 4}});
    expect_sum_of_products("ij,kj" + to, {{2, 3}, {4, 3}});
    expect_sum_of_products("ji,kj" + to, {{3, 2}, {4, 3}});
  }
  expect_sum_of_products("i,i->", {{5}, {5}});
  expect_sum_of_products("i,j->ji", {{5}, {3}});
  expect_sum_of_products("ij,j->i", {{2, 3}, {3}});
  expect_sum_of_products("j,ij->i", {{3}, {2, 3}});
  expect_sum_of_products("ij,ij->ij", {{2, 3}, {2, 3}});
  expect_sum_of_products("ij,ji->", {{2, 3}, {3, 2}});
  expect_sum_of_products(",ij->ij", {{}, {2, 3}});
  expect_sum_of_products("ijx,jky->ik", {{2, 3, 2}, {3, 4, 5}});  // x and y are summed before
  expect_sum_of_products("iij,jkk->ik", {{2, 2, 3}, {3, 4, 4}});
  expect_sum_of_products("ij,jk->ik", {{2, 0}, {0, 4}});
  expect_sum_of_products("ij,jk->ik", {{0, 3}, {3, 4}});
}

TEST_F(EinsumTest, BatchesAndSeveralAxesAtOnce) {
  expect_sum_of_products("bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}});
  expect_sum_of_products("bij,bkj->ikb", {{2, 3, 4}, {2, 5, 4}});
  expect_sum_of_products("ibj,jkb->bik", {{3, 2, 4}, {4, 5, 2}});
  expect_sum_of_products("bi,bi->b", {{2, 3}, {2, 3}});
  expect_sum_of_products("bij,bj->bi", {{2, 3, 4}, {2, 4}});
  expect_sum_of_products("btf,fhd->bhtd", {{2, 3, 4}, {4, 2, 3}});          // heads from features
  expect_sum_of_products("bqhd,bkhd->bhqk", {{2, 3, 2, 4}, {2, 5, 2, 4}});  // scores of attention
  expect_sum_of_products("bhqk,bkhd->bqhd", {{2, 2, 3, 5}, {2, 5, 2, 4}});
  expect_sum_of_products("bthd,hdo->bto", {{2, 3, 2, 4}, {2, 4, 5}});  // and back to features
  expect_sum_of_products("hdo,bthd->bto", {{2, 4, 5}, {2, 3, 2, 4}});
  expect_sum_of_products("abij,abkl->abijkl", {{2, 1, 2, 3}, {2, 1, 2, 2}});
  expect_sum_of_products("aijkl,aklmn->amijn", {{2, 2, 3, 2, 2}, {2, 2, 2, 3, 2}});
  expect_sum_of_products("ijkl,klmn->mijn", {{2, 3, 2, 2}, {2, 2, 3, 2}});
}

TEST_F(EinsumTest, MoreOperandsAreCombinedFromLeftToRight) {
  expect_sum_of_products("ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 2}});
  expect_sum_of_products("i,ij,j->", {{2}, {2, 3}, {3}});
  expect_sum_of_products("ij,jk,kl,lm->mi", {{2, 3}, {3, 4}, {4, 2}, {2, 3}});
  expect_sum_of_products("bi,bj,bk->bijk", {{2, 3}, {2, 2}, {2, 4}});
}

TEST_F(EinsumTest, WithoutAnArrowLettersThatOccurOnceAreKeptInOrder) {
  expect_sum_of_products("ij,jk", "ij,jk->ik", {{2, 3}, {3, 4}});
  expect_sum_of_products("ba", "ba->ab", {{2, 3}});
  expect_sum_of_products("ii", "ii->", {{3, 3}});
  expect_sum_of_products("aB,Cb", "aB,Cb->BCab", {{2, 3}, {1, 2}});
  expect_sum_of_products(" i j , j k -> i k ", "ij,jk->ik", {{2, 3}, {3, 4}});
  expect_sum_of_products("j...i", "jxyi->xyij", {{2, 3, 4, 5}});
}

TEST_F(EinsumTest, DotsAreAnyAxesThatBroadcast) {
  expect_sum_of_products("...ij,...jk->...ik", "abij,abjk->abik", {{2, 3, 2, 3}, {2, 3, 3, 4}});
  expect_sum_of_products("...ij,...jk->...ik", "ij,jk->ik", {{2, 3}, {3, 4}});
  expect_sum_of_products("...ij,jk", "abij,jk->abik", {{2, 3, 2, 3}, {3, 4}});
  expect_sum_of_products("...ij,...jk->ik...", "abij,bjk->ikab", {{2, 3, 2, 3}, {3, 3, 4}});  // as many as each has
  expect_sum_of_products("...i,...i->...", "abi,abi->ab", {{2, 3, 4}, {2, 3, 4}});
  expect_sum_of_products("i...->...i", "iab->abi", {{2, 3, 4}});
  expect_sum_of_products("...,...", "ab,ab->ab", {{2, 3}, {2, 3}});
  // An axis of size 1 repeats.
  const Tensor a = input(numbers({1, 2, 3}, 0)), b = input(numbers({4, 3, 2}, 1));
  const Array y = run(einsum("...ij,...jk->...ik", {a, b}));
  ASSERT_EQ(y.shape(), Shape({4, 2, 2}));
  const Array wanted = naive("ij,bjk->bik", {numbers({2, 3}, 0), numbers({4, 3, 2}, 1)});
  for (std::int64_t i = 0; i < y.elements(); ++i) EXPECT_NEAR(y.item(i), wanted.item(i), 1e-5);
}

TEST_F(EinsumTest, KnownSizesStayKnown) {
  const Tensor x = placeholder(f32, {kAny, kAny, 12}), w = placeholder(f32, {12, 3, 4});
  EXPECT_EQ(einsum("btf,fhd->bhtd", {x, w}).shape(), Shape({kAny, 3, kAny, 4}));
  const Tensor q = placeholder(f32, {kAny, 3, kAny, 4});
  EXPECT_EQ(einsum("bhqd,bhkd->bhqk", {q, q}, "scores").shape(), Shape({kAny, 3, kAny, kAny}));
  EXPECT_TRUE(static_cast<bool>(graph.find_tensor("scores")));
}

TEST_F(EinsumTest, AProductOfMatricesIsOneMatMul) {
  const Tensor a = placeholder(f32, {2, 3}), b = placeholder(f32, {4, 3});
  const Tensor y = einsum("ij,kj->ki", {a, b});
  EXPECT_EQ(y.node()->def->name, "MatMul");
  EXPECT_EQ(y.node()->inputs[0], b);
  EXPECT_EQ(y.node()->inputs[1], a);
}

// Axes that were merged for the product come back from the operands' shapes, without computing anything of them.
TEST_F(EinsumTest, UnknownSizesCostNoArithmetic) {
  const Tensor x = placeholder(f32, {kAny, kAny, 6}), w = placeholder(f32, {6, 2, kAny});
  const std::string plan = Session(graph).explain({einsum("btf,fhd->bthd", {x, w})},
                                                  {{x, Array(f32, {2, 3, 6})}, {w, Array(f32, {6, 2, 4})}});
  EXPECT_NE(plan.find("MatMul"), std::string::npos) << plan;
  for (const char* op : {"Add", "ReduceSum", "Transpose", "MatchSizes"})
    EXPECT_EQ(plan.find(op), std::string::npos) << plan;
}

TEST_F(EinsumTest, MistakesInTheEquationAreNamed) {
  const Tensor a = placeholder(f32, {2, 3}, "a"), b = placeholder(f32, {3, 4}, "b");
  expect_error([&] { einsum("i1,jk", {a, b}); },
               "[einsum \"i1,jk\"] expected letters, and '...' at most once, in a term, got '1' in 'i1' (made at");
  for (const char* bad : {"..i,jk", "...i...j,jk", "ij,jk->ik->ki", "ij,jk>ik", "ij;jk"})
    EXPECT_NE(error_of([&] { einsum(bad, {a, b}); }), "no error") << bad;
  expect_error([&] { einsum("ij->ji", {a, b}); },
               "[einsum \"ij->ji\"] expected 1 operands, one for each term, got 2 (made at");
  expect_error(
      [&] { einsum("ij,jk->ii", {a, b}); },
      "[einsum \"ij,jk->ii\"] expected every letter at most once in the result, got 'i' twice in 'ii' (made at");
  expect_error([&] { einsum("ij,jk->il", {a, b}); },
               "[einsum \"ij,jk->il\"] expected letters of the operands in the result, got 'l', which none of them has "
               "(made at");
  expect_error(
      [&] { einsum("...j,jk->k", {a, b}); },
      "[einsum \"...j,jk->k\"] expected '...' in the result, since an operand has axes under it, got 'k' (made "
      "at");
  EXPECT_EQ(error_of([] { einsum("ij", Tensors{}); }), "[einsum \"ij\"] expected one operand for each term, got none");
  expect_error([&] { einsum("ij", {Tensor()}); }, "[einsum \"ij\"] expected tensors, got an empty handle (made at");
}

TEST_F(EinsumTest, OperandsThatDoNotFitAreNamed) {
  const Tensor a = placeholder(f32, {2, 3}, "a"), b = placeholder(f32, {4, 5}, "b");
  expect_error([&] { einsum("ijk,jk", {a, b}); },
               "[einsum \"ijk,jk\"] expected an operand of rank 3 for 'ijk', got 'a' [2, 3] (made at");
  expect_error([&] { einsum("...ijk,jk", {a, b}); },
               "[einsum \"...ijk,jk\"] expected an operand of rank 3 or more for '...ijk', got 'a' [2, 3] (made at");
  expect_error([&] { einsum("ij,jk", {a, b}); },
               "[einsum \"ij,jk\"] expected one size for 'j', got 3 in 'a' [2, 3] and 4 in 'b' [4, 5] (made at");
  expect_error([&] { einsum("ii", {a}); },
               "[einsum \"ii\"] expected one size for 'i', got 2 in 'a' [2, 3] and 3 in 'a' [2, 3] (made at");
  expect_error(
      [&] { einsum("...,...", {a, b}); },
      "[einsum \"...,...\"] expected one size for an axis under '...', got 2 in 'a' [2, 3] and 4 in 'b' [4, 5]");
  expect_error([&] { einsum("ij,kl", {a, placeholder(f64, {2, 2})}); },
               "[einsum \"ij,kl\"] expected operands of one floating type, got f32 and f64 (made at");
}

TEST_F(EinsumTest, SizesThatWereUnknownAreCheckedInTheRun) {
  const Tensor a = placeholder(f32, {kAny, kAny}), b = placeholder(f32, {kAny, kAny});
  const auto fed = [&](const char* equation, const Tensors& operands, const Shape& x, const Shape& y) {
    const Tensor out = einsum(equation, operands);
    return error_of([&] { run(out, {{a, Array(f32, x)}, {b, Array(f32, y)}}); });
  };
  // 1 does not repeat under a letter.
  const std::string text = fed("ij,ij->ij", {a, b}, {1, 3}, {2, 3});
  EXPECT_NE(text.find("expected axis 0 of [1, 3] as large as axis 0 of [2, 3], got 1 and 2"), std::string::npos)
      << text;
  EXPECT_NE(text.find("einsum_test.cc:"), std::string::npos) << text;
  EXPECT_NE(fed("ij,ji->", {a, b}, {2, 3}, {2, 3}), "no error");
  EXPECT_NE(fed("ij,ij->", {a, b}, {2, 3}, {3, 2}), "no error");
  EXPECT_NE(fed("ii->i", {a}, {2, 3}, {1, 1}), "no error");
  EXPECT_EQ(fed("ii->i", {a}, {3, 3}, {1, 1}), "no error");
}

}  // namespace
}  // namespace belfry
